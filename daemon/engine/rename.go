package engine

import (
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// Renames returns the jobs of tables whose IDs were others in version 0.7, when an
// ID did not contain the owner of the crontab. What the roster knows of them
// Engine finds by itself; see formerHash.
func Renames(tables []*crontab.Table) *job.Renames {
	now, before := identities(tables, false), identities(tables, true)
	var all []job.Rename
	for slot := range now.len() {
		if id, old := now.id(slot), before.id(slot); id != old {
			all = append(all, job.Rename{Old: old, New: id, User: now.entry(slot).User()})
		}
	}
	return job.NewRenames(all)
}

// identities settles what the jobs of tables are called, without owners as in
// version 0.7 or as today.
func identities(tables []*crontab.Table, ownerless bool) *jobs {
	s := &jobs{tables: tables, ownerless: ownerless}
	stays := s.number(&jobs{})
	s.settle(stays)
	return s
}

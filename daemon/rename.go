package daemon

import (
	"context"
	"os"
	"slices"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/store"
)

// giveOwners renames jobs in the data of version 0.7 or before, whose IDs did not contain the owner
// of the crontab. Only the crontabs determine which IDs become USER/NAME.
func (l *loop) giveOwners(ctx context.Context, memory *store.Restored, in *inheritance) {
	renames := catalog.Renames(l.allCrontabs())
	if err := l.history.Rename(ctx, renames, memory); err != nil {
		l.log.Error("the jobs in the history cannot be renamed yet; it is tried again with each commit", "error", err)
	}
	for i := range in.starts {
		s := &in.starts[i]
		s.Job.ID = renames.Of(s.Job.ID, s.Job.User)
		renames.Run(&s.Run)
	}
	for i := range in.unwritten.Records {
		renames.Record(&in.unwritten.Records[i])
	}
	for i := range in.unwritten.Ledgers {
		l := &in.unwritten.Ledgers[i]
		l.Job = renames.Of(l.Job, l.User)
	}
}

// allCrontabs is the crontabs that were read, and those whose users are not known
// because a directory service is out of reach.
func (l *loop) allCrontabs() []*crontab.File {
	s := l.crontabs.current()
	all := slices.Clone(s.Crontabs)
	for path, unsure := range awaited(s) {
		user, ok := l.crontabs.places.IsUserCrontab(path)
		info, err := os.Lstat(path)
		if !unsure || !ok || err != nil || !info.Mode().IsRegular() {
			continue // its jobs keep their former IDs in the history
		}
		if text, err := spool.Read(path); err == nil {
			file, _ := crontab.Parse(path, text, crontab.Config{Owner: user, Zone: spool.LoadZone, Sidecar: l.options.Config.Sidecar})
			all = append(all, file)
		}
	}
	return all
}

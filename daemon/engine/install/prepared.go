// Package install owns the changes that a load of crontabs makes to the installed jobs: which jobs
// stay, come and go, from which instant each of them counts its occurrences, and which have to be
// checked again.
package install

import (
	"slices"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/engine/agenda"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/join"
)

// Prepared is the slow part of a load, which depends only on what is installed. It is
// computed outside the engine's steps, and used once.
type Prepared struct {
	Before *catalog.Catalog // what was installed
	At     time.Time        // the agenda is planned from this wall time
	Jobs   *catalog.Catalog // what is installed next
	Agenda agenda.Agenda

	catalog.Diff // of Jobs and Before

	Watched []int // jobs with expect=, or with notifications about holds
	Watch   []int // the watched jobs that are new, or whose Held or Degraded changed

	saved   map[string]time.Time
	rosters []effect.RosterCrontab // of crontabs with fresh slots, without Known.Since
	first   []int                  // for each of rosters: its first slot
}

// Prepare prepares the load of crontabs at now. saved contains when each of
// them was saved, by name. unfit returns why this host cannot run an entry, or "".
func Prepare(crontabs []*crontab.File, saved map[string]time.Time, unfit func(*crontab.Entry) string, before *catalog.Catalog, now time.Time) *Prepared {
	next := catalog.New(crontabs, before, unfit)
	p := &Prepared{Before: before, At: now, saved: saved, Jobs: next, Diff: next.Compare(before)}
	for name := range saved {
		if since := p.Since(name, now); since.Before(p.At) {
			p.At = since
		}
	}
	p.Agenda = agenda.New(next.Groups(), p.At)
	p.findWatched()
	p.listRosters()
	return p
}

// longestReading limits how far back the time of saving a crontab counts. If the daemon
// reads it later, it applies from this long ago.
const longestReading = time.Minute

// Since returns from when on a crontab that is loaded now applies.
func (p *Prepared) Since(name string, now time.Time) time.Time {
	saved, known := p.saved[name]
	switch oldest := now.Add(-longestReading); {
	case !known || saved.After(now):
		return now
	case saved.Before(oldest):
		return oldest
	}
	return saved
}

// findWatched finds the watched jobs, and those of them that the load affects.
func (p *Prepared) findWatched() {
	for slot := range p.Jobs.Len() {
		o := p.Jobs.Entry(slot).Options()
		if o.Expect == 0 && !o.Notifies(option.NoticeHeld) {
			continue
		}
		p.Watched = append(p.Watched, slot)
		old := p.From[slot]
		if old < 0 || isHeldOtherwise(p.Before.Options(old), p.Jobs.Options(slot)) {
			p.Watch = append(p.Watch, slot)
		}
	}
}

func isHeldOtherwise(a, b *option.Options) bool { return a.Held != b.Held || a.Degraded != b.Degraded }

// listRosters lists the jobs of crontabs with fresh slots, and the crontabs
// that are gone.
func (p *Prepared) listRosters() {
	specs, names := catalog.Specs{}, make(map[string]bool, len(p.Jobs.Crontabs()))
	for i, t := range p.Jobs.Crontabs() {
		names[t.Name] = true
		first, past := p.Jobs.Of(i)
		if !slices.Contains(p.From[first:past], -1) {
			continue
		}
		known := make([]effect.Known, past-first)
		for k := range known {
			slot := first + k
			known[k].Key, known[k].Spec = p.Jobs.Key(slot), specs.Of(p.Jobs.Entry(slot).Schedule)
		}
		p.rosters, p.first = append(p.rosters, effect.RosterCrontab{Name: t.Name, Known: known}), append(p.first, first)
	}
	for _, t := range p.Before.Crontabs() {
		if !names[t.Name] {
			p.rosters, p.first = append(p.rosters, effect.RosterCrontab{Name: t.Name}), append(p.first, 0)
		}
	}
}

// Roster returns the jobs of the crontabs that changed.
func (p *Prepared) Roster(marks []int64) effect.Roster {
	for i, t := range p.rosters {
		for k := range t.Known {
			t.Known[k].Since = time.Unix(0, marks[p.first[i]+k]).UTC()
		}
	}
	return effect.Roster{Crontabs: p.rosters}
}

// MoveParents updates the parents that a run of a job waits for to their new slots. It
// reports false if they are not the same jobs.
func (p *Prepared) MoveParents(slot int, of *join.Parents) bool {
	parents := p.Jobs.Parents(slot)
	if len(parents) != len(of.Edges) {
		return false
	}
	for i, was := range of.Edges {
		if p.From[parents[i].Job] != was.Job || parents[i].Outcomes != was.Outcomes {
			return false
		}
	}
	of.Edges = parents
	return true
}

// Stay reports, for each job of before, whether its occurrences until now can be decided
// after the load as well: the job stays as it was, or with the same times.
func (p *Prepared) Stay() []bool {
	stays := make([]bool, len(p.To))
	for old, slot := range p.To {
		stays[old] = slot >= 0 && p.From[slot] == old
	}
	for _, f := range p.Fresh {
		if f.Was >= 0 && f.Same {
			stays[f.Was] = true
		}
	}
	return stays
}

package engine

import (
	"container/heap"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/job"
)

// settleSize is how many runs and jobs that a load concerns one step looks at.
// The others wait for the next steps, so that jobs start on time meanwhile.
const settleSize = 8

// prepared is the part of a Load that takes long and depends on nothing but
// what is installed. It is computed beside the engine, and used once.
type prepared struct {
	before *catalog.Catalog // what was installed
	at     time.Time        // wall time from which the agenda is planned
	saved  map[string]time.Time
	jobs   *catalog.Catalog // what is installed next
	agenda agenda

	catalog.Diff // of jobs and before

	watched []int // jobs with expect=, or of whose hold channels want to know
	watch   []int // those of watched that are new, or held or degraded otherwise than before
	held    bool  // the holdings are others than before

	rosters []RosterTable // of crontabs with fresh slots, without Known.Since
	first   []int         // of each of them: its first slot
}

// Prepare returns ev with the work done that needs only what is installed in
// v. The Step that takes it is then short, unless another Load came between. It
// can run beside the engine.
func (v *View) Prepare(ev Load) Load {
	if v.now.Wall.IsZero() { // nothing has been decided yet, and nothing waits
		return ev
	}
	ev.prepared = prepare(&ev, v.jobs, v.now.Wall)
	return ev
}

func prepare(ev *Load, before *catalog.Catalog, now time.Time) *prepared {
	next := catalog.New(ev.Tables, before, ev.unfit())
	p := &prepared{
		before: before, at: now, saved: ev.Saved, jobs: next, Diff: next.Compare(before),
		held: !slices.Equal(next.Holdings(), before.Holdings()),
	}
	for name := range p.saved {
		if since := p.since(name, now); since.Before(p.at) {
			p.at = since
		}
	}
	p.plan()
	p.findWatched()
	p.listRosters()
	return p
}

// longestReading is how long a crontab that was saved can wait to be read, and
// still count from when it was saved.
const longestReading = time.Minute

// since is from when on a crontab counts that is loaded now.
func (p *prepared) since(name string, now time.Time) time.Time {
	saved, known := p.saved[name]
	switch oldest := now.Add(-longestReading); {
	case !known || saved.After(now):
		return now
	case saved.Before(oldest):
		return oldest
	}
	return saved
}

// plan plans all groups from p.at on.
func (p *prepared) plan() {
	p.agenda.groups = make([]group, len(p.jobs.Groups()))
	p.agenda.heap = make([]int, 0, len(p.agenda.groups))
	for i, g := range p.jobs.Groups() {
		p.agenda.groups[i].Group = g
		if p.agenda.plan(i, p.at) {
			p.agenda.heap = append(p.agenda.heap, i)
		}
	}
	heap.Init(&p.agenda)
}

// findWatched finds the watched jobs, and those of them that the load concerns.
func (p *prepared) findWatched() {
	for slot := range p.jobs.Len() {
		o := p.jobs.Entry(slot).Options()
		if o.Expect == 0 && !tells(o, crontab.NoticeHeld) {
			continue
		}
		p.watched = append(p.watched, slot)
		old := p.From[slot]
		if old < 0 || isHeldOtherwise(p.before.Options(old), p.jobs.Options(slot)) {
			p.watch = append(p.watch, slot)
		}
	}
}

func isHeldOtherwise(a, b *crontab.Options) bool { return a.Held != b.Held || a.Degraded != b.Degraded }

// listRosters lists the jobs of crontabs with fresh slots, and the crontabs
// that are gone.
func (p *prepared) listRosters() {
	specs, names := catalog.Specs{}, make(map[string]bool, len(p.jobs.Tables()))
	for i, t := range p.jobs.Tables() {
		names[t.Name] = true
		first, past := p.jobs.Of(i)
		if !slices.Contains(p.From[first:past], -1) {
			continue
		}
		known := make([]Known, past-first)
		for k := range known {
			slot := first + k
			known[k].Key, known[k].Spec = p.jobs.Key(slot), specs.Of(p.jobs.Entry(slot).Schedule)
		}
		p.rosters, p.first = append(p.rosters, RosterTable{t.Name, known}), append(p.first, first)
	}
	for _, t := range p.before.Tables() {
		if !names[t.Name] {
			p.rosters, p.first = append(p.rosters, RosterTable{Name: t.Name}), append(p.first, 0)
		}
	}
}

// roster returns the jobs of the crontabs that changed.
func (p *prepared) roster(marks []int64) Roster {
	for i, t := range p.rosters {
		for k := range t.Known {
			t.Known[k].Since = time.Unix(0, marks[p.first[i]+k]).UTC()
		}
	}
	return Roster{Tables: p.rosters}
}

// moveRuns finds the jobs of all live runs in what is installed now. It lists
// those whose job is gone and those that must look at their parents again, all
// of which settle looks at, and returns those that wait for a slot and whose
// entry changed. everything: no run keeps what it knows of its parents.
func (e *Engine) moveRuns(p *prepared, everything bool) (changed []*run) {
	runs := make([]*run, 0, len(e.live))
	for _, r := range e.live {
		before, slot := r.slot, -1
		if before >= 0 {
			slot = p.To[before]
		} else if at, ok := p.jobs.Find(r.Job); ok {
			slot = at
		}
		r.slot = slot
		carried := before >= 0 && slot >= 0 && p.From[slot] == before
		if !r.waitsForParents() || everything || !carried || !p.moveParents(r) {
			r.await = nil
		}
		if slot < 0 || r.waitsForParents() && r.await == nil {
			runs = append(runs, r)
		}
		if r.claim != nil && !carried && !r.hasProcess() {
			changed = append(changed, r)
		}
	}
	byID := func(a, b *run) int { return int(a.ID - b.ID) }
	slices.SortFunc(runs, byID)
	slices.SortFunc(changed, byID)
	e.unsettle(runs)
	return changed
}

// unsettle has settle look at runs: first at those that do not run and whose
// job is gone, then at those that wait for parents.
func (e *Engine) unsettle(runs []*run) {
	var gone, waiting []*run
	for _, r := range runs {
		switch _, installed := e.slotOf(r); {
		case !installed && (r.State == job.RunQueued || r.State == job.RunWaiting):
			gone = append(gone, r)
		case installed && r.waitsForParents():
			waiting = append(waiting, r)
		}
	}
	e.unsettled = append(gone, waiting...)
}

// moveParents finds the parents that a run waits for where they are now. It
// reports false if they are not the same jobs.
func (p *prepared) moveParents(r *run) bool {
	if r.await == nil {
		return false
	}
	parents := p.jobs.Parents(r.slot)
	if len(parents) != len(r.await.parents) {
		return false
	}
	for i, was := range r.await.parents {
		if p.From[parents[i].Job] != was.Job || parents[i].Outcomes != was.Outcomes {
			return false
		}
	}
	r.await.parents = parents
	return true
}

// settle looks at most of n runs and jobs that the last loads concern.
func (e *Engine) settle(n int) {
	for ; n > 0 && len(e.unsettled) > 0; n-- {
		r := e.unsettled[0]
		e.unsettled = e.unsettled[1:]
		if e.live[r.ID] != r {
			continue
		}
		if _, installed := e.slotOf(r); installed {
			e.reconsider(r)
		} else if r.State == job.RunQueued || r.State == job.RunWaiting {
			e.drop(r, job.JobRemoved)
		}
	}
	for ; n > 0 && len(e.unwatched) > 0; n-- {
		slot := e.unwatched[0]
		e.unwatched = e.unwatched[1:]
		e.watch(slot)
	}
}

// watchLater has settle look at the watched jobs that a load concerns, and at
// those that are left from the loads before.
func (e *Engine) watchLater(p *prepared, everything bool) {
	if everything {
		e.unwatched = slices.Clone(p.watched)
		return
	}
	left := e.unwatched
	e.unwatched = slices.Clone(p.watch)
	for _, old := range left {
		if slot := p.To[old]; slot >= 0 {
			e.unwatched = append(e.unwatched, slot)
		}
	}
	slices.Sort(e.unwatched)
	e.unwatched = slices.Compact(e.unwatched)
}

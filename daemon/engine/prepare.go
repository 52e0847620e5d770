package engine

import (
	"container/heap"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/job"
)

// settleSize limits the runs and jobs affected by a load that one step checks. The rest
// waits for the next steps, so that jobs still start on time.
const settleSize = 8

// prepared is the slow part of a Load, which depends only on what is installed. It is
// computed outside the engine's steps, and used once.
type prepared struct {
	before *catalog.Catalog // what was installed
	at     time.Time        // the agenda is planned from this wall time
	saved  map[string]time.Time
	jobs   *catalog.Catalog // what is installed next
	agenda agenda

	catalog.Diff // of jobs and before

	watched []int // jobs with expect=, or with notifications about holds
	watch   []int // the watched jobs that are new, or whose Held or Degraded changed

	rosters []RosterCrontab // of crontabs with fresh slots, without Known.Since
	first   []int           // for each of rosters: its first slot
}

// Prepare returns ev with the slow part of the load done, which depends only on what is
// installed in v. The Step that takes it is then short, unless another Load came between.
// Prepare can run concurrently with the engine.
func (v *View) Prepare(ev Load) Load {
	if v.now.Wall.IsZero() { // nothing has been decided yet, and nothing waits
		return ev
	}
	ev.prepared = prepare(&ev, v.jobs, v.now.Wall)
	return ev
}

func prepare(ev *Load, before *catalog.Catalog, now time.Time) *prepared {
	next := catalog.New(ev.Crontabs, before, ev.unfit())
	p := &prepared{
		before: before, at: now, saved: ev.Saved, jobs: next, Diff: next.Compare(before),
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

// longestReading limits how far back the time of saving a crontab counts. If the daemon
// reads it later, it applies from this long ago.
const longestReading = time.Minute

// since returns from when on a crontab that is loaded now applies.
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

// plan computes the next time of every group after p.at.
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

// findWatched finds the watched jobs, and those of them that the load affects.
func (p *prepared) findWatched() {
	for slot := range p.jobs.Len() {
		o := p.jobs.Entry(slot).Options()
		if o.Expect == 0 && !wantsNotification(o, option.NoticeHeld) {
			continue
		}
		p.watched = append(p.watched, slot)
		old := p.From[slot]
		if old < 0 || isHeldOtherwise(p.before.Options(old), p.jobs.Options(slot)) {
			p.watch = append(p.watch, slot)
		}
	}
}

func isHeldOtherwise(a, b *option.Options) bool { return a.Held != b.Held || a.Degraded != b.Degraded }

// listRosters lists the jobs of crontabs with fresh slots, and the crontabs
// that are gone.
func (p *prepared) listRosters() {
	specs, names := catalog.Specs{}, make(map[string]bool, len(p.jobs.Crontabs()))
	for i, t := range p.jobs.Crontabs() {
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
		p.rosters, p.first = append(p.rosters, RosterCrontab{t.Name, known}), append(p.first, first)
	}
	for _, t := range p.before.Crontabs() {
		if !names[t.Name] {
			p.rosters, p.first = append(p.rosters, RosterCrontab{Name: t.Name}), append(p.first, 0)
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
	return Roster{Crontabs: p.rosters}
}

// moveRuns updates the slots of all live runs for the new catalog. It passes to settle
// the runs whose job is gone and those that must check their parents again. It returns
// the runs that wait for a slot and whose entry changed. If everything is set, all runs
// check their parents again.
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
	e.queueUnsettled(runs)
	return changed
}

// queueUnsettled lists runs for settle: first queued and waiting runs whose job is gone, then
// runs that wait for parents.
func (e *Engine) queueUnsettled(runs []*run) {
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

// moveParents updates the parents that a run waits for to their new slots. It reports
// false if they are not the same jobs.
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

// settle checks at most n of the runs and jobs that the last loads affect.
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

// watchLater lists for settle the watched jobs that a load affects, and those that remain
// from earlier loads.
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

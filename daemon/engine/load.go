package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine/agenda"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/install"
	"github.com/cronring/cronring/daemon/engine/live"
	"github.com/cronring/cronring/daemon/engine/slots"
	"github.com/cronring/cronring/daemon/job"
)

// load replaces all crontabs. Prepare has done the slow part already; the result is
// discarded if another load came between or the clock was set back.
func (e *Engine) load(ev event.Load) {
	p, first := ev.Prepared, e.memory != nil
	if p == nil || p.Before != e.jobs || e.now.Wall.Before(p.At) {
		p = ev.Prepare(e.jobs, e.now.Wall)
	}
	everything := first || e.node != ev.Node || !maps.Equal(e.labels, ev.Labels) || e.ring.mode != ev.Ring || !maps.Equal(e.unfit, ev.Unfit)
	e.node, e.labels, e.unfit, e.blackouts, e.caught.PerSecond = ev.Node, ev.Labels, ev.Unfit, ev.Blackouts, ev.CatchupRate
	if first && len(ev.Awaited) > 0 {
		e.awaited = &install.Awaited{Memory: e.memory.remember(), Crontabs: maps.Clone(ev.Awaited), Booted: e.memory.Booted}
	}
	late := e.addWaiting(e.agenda.Due(e.now.Wall, e.pending))
	e.decideBefore(p, late)
	var memory *install.Memory
	if first {
		memory = e.memory.remember()
	}
	marks, fresh := p.Marks(e.marks, e.now.Wall, memory, e.awaited)
	if first {
		e.awaited.Forget(p.Jobs)
	}
	remembers := first || e.awaited != nil
	e.jobs, e.marks, e.agenda = p.Jobs, marks, p.Agenda
	e.ahead = agenda.AheadOf(marks, e.now.Wall)
	e.moveDelays(p)
	e.planResumes()
	e.ring.mode = ev.Ring
	for _, slot := range e.jobs.OncePer() { // views show their newest success
		e.updateProblems(e.summary(e.jobs.ID(slot), e.jobs.Entry(slot).User()))
	}
	e.applyLimits(ev.Limits, e.moveRuns(p, everything))
	e.holdFaulty()
	e.pending = e.listBehind(p, late, remembers)
	if p.Changed || first {
		e.record(job.Record{Kind: job.Loaded, Detail: job.DetailCrontabs(e.jobs.Len(), len(ev.Crontabs))})
		if first {
			e.emit(e.roster())
		} else {
			e.emit(p.Roster(marks))
		}
	}
	e.sendHost()
	e.watchFiles()
	if first {
		if e.memory.Booted {
			fresh = e.jobs.Periods()
		}
		e.restore()
	} else { // a new entry of a crontab has missed nothing
		fresh = slices.DeleteFunc(fresh, func(slot int) bool { return !anacronLine(e.jobs.Entry(slot)) })
		e.loadAwaited()
	}
	e.planDelays()
	e.checkHours(false)
	e.watchLater(p, everything)
	if first {
		e.queueUnsettled(live.Sorted(e.live))
		e.settle(len(e.unsettled) + len(e.unwatched))
	}
	for _, slot := range fresh {
		e.checkPeriod(slot)
	}
}

// decideBefore decides occurrences that came due before an edit was saved. It uses the
// old entries that p removes or changes to other times. late lists the slots that are
// due.
func (e *Engine) decideBefore(p *install.Prepared, late []int) {
	if len(late) == 0 {
		return
	}
	stays := p.Stay()
	var seen agenda.Lookup
	for _, slot := range late {
		if stays[slot] || e.jobs.InRing(slot) {
			continue
		}
		entry := e.jobs.Entry(slot)
		until := p.Since(entry.File().Name, e.now.Wall)
		if e.draining { // no run can start
			if due := seen.Between(entry.Schedule, e.marks[slot], until); !due.Empty() {
				o := e.occurrence(slot, due.Last(), job.TriggerClock, job.OnTime)
				o.First, o.Count = due.First, due.Older+len(due.List)
				e.skip(&o, job.JobRemoved, "")
			}
			continue
		}
		e.decideUntil(slot, until, &seen)
		if e.jobs.HasEdges() {
			e.updateWaiting(slot)
		}
	}
}

// loadAwaited handles awaited crontabs that are loaded now.
func (e *Engine) loadAwaited() {
	if e.awaited == nil {
		return
	}
	runs := e.awaited.TakeLive(e.jobs.Crontabs())
	e.following = true
	for _, r := range runs {
		e.restoreRun(r, e.awaited.LastSeen())
		e.freed = append(e.freed, r.Job)
	}
	e.followAll()
	for _, r := range runs {
		if waits := e.live[r.ID]; waits != nil && waits.WaitsForParents() && waits.Await == nil {
			e.unsettled = append(e.unsettled, waits)
		}
	}
	if e.awaited.Booted {
		e.boot(func(t *crontab.File) bool { return e.awaited.Crontabs[t.Name] })
	}
	for _, t := range e.jobs.Crontabs() {
		delete(e.awaited.Crontabs, t.Name)
	}
	if len(e.awaited.Crontabs) == 0 {
		e.awaited = nil
	}
}

// roster returns all jobs.
func (e *Engine) roster() effect.Roster {
	r := effect.Roster{Whole: true, Crontabs: make([]effect.RosterCrontab, len(e.jobs.Crontabs()))}
	known := make([]effect.Known, len(e.marks))
	for slot := range known {
		known[slot].Key, known[slot].Since = e.jobs.Key(slot), time.Unix(0, e.marks[slot]).UTC()
	}
	for _, g := range e.jobs.Groups() {
		for _, slot := range g.Jobs {
			known[slot].Spec = g.Spec
		}
	}
	for i, t := range e.jobs.Crontabs() {
		first, past := e.jobs.Of(i)
		r.Crontabs[i] = effect.RosterCrontab{Name: t.Name, Known: known[first:past]}
	}
	return r
}

// listBehind lists the slots that have an occurrence between their mark and now. These are
// the slots in late and, if remembers is set, slots of jobs known before the first load
// that missed an occurrence while no daemon ran.
func (e *Engine) listBehind(p *install.Prepared, late []int, remembers bool) []int {
	if len(late) == 0 && !remembers {
		return nil
	}
	waits := make([]bool, len(p.To))
	for _, old := range late {
		waits[old] = true
	}
	behind := make([]bool, len(p.From))
	for slot, old := range p.From {
		behind[slot] = old >= 0 && waits[old]
	}
	var (
		schedule cron.Schedule
		since    int64
		missed   bool
	)
	for _, f := range p.Fresh {
		switch mark := e.marks[f.Job]; {
		case f.Was >= 0:
			behind[f.Job] = f.Same && waits[f.Was]
		case remembers:
			if s := e.jobs.Entry(f.Job).Schedule; s != schedule || mark != since {
				next := agenda.Next(s, time.Unix(0, mark).UTC())
				schedule, since, missed = s, mark, !next.IsZero() && !next.After(e.now.Wall)
			}
			behind[f.Job] = missed
		}
	}
	var slots []int
	for slot, is := range behind {
		if is {
			slots = append(slots, slot)
		}
	}
	return slots
}

// settleSize limits the runs and jobs affected by a load that one step checks. The rest
// waits for the next steps, so that jobs still start on time.
const settleSize = 8

// moveRuns updates the slots of all live runs for the new catalog. It passes to settle
// the runs whose job is gone and those that must check their parents again. It returns
// the runs that wait for a slot and whose entry changed. If everything is set, all runs
// check their parents again.
func (e *Engine) moveRuns(p *install.Prepared, everything bool) (changed []*live.Run) {
	runs := make([]*live.Run, 0, len(e.live))
	for _, r := range e.live {
		before, slot := r.Slot, -1
		if before >= 0 {
			slot = p.To[before]
		} else if at, ok := p.Jobs.Find(r.Job); ok {
			slot = at
		}
		r.Slot = slot
		carried := before >= 0 && slot >= 0 && p.From[slot] == before
		if r.Await != nil && (everything || !carried || !p.MoveParents(slot, r.Await)) {
			r.KeepParents()
			r.Await = nil // look them up again
		}
		if slot < 0 || r.WaitsForParents() && r.Await == nil {
			runs = append(runs, r)
		}
		if r.IsLinedUp() && !carried {
			changed = append(changed, r)
		}
	}
	byID := func(a, b *live.Run) int { return int(a.ID - b.ID) }
	slices.SortFunc(runs, byID)
	slices.SortFunc(changed, byID)
	e.queueUnsettled(runs)
	return changed
}

// queueUnsettled lists runs for settle: first queued and waiting runs whose job is gone, then
// runs that wait for parents.
func (e *Engine) queueUnsettled(runs []*live.Run) {
	var gone, waiting []*live.Run
	for _, r := range runs {
		switch {
		case !r.IsInstalled() && (r.State == job.RunQueued || r.State == job.RunWaiting):
			gone = append(gone, r)
		case r.WaitsForParents():
			waiting = append(waiting, r)
		}
	}
	e.unsettled = append(gone, waiting...)
}

// settle checks at most n of the runs and jobs that the last loads affect.
func (e *Engine) settle(n int) {
	for ; n > 0 && len(e.unsettled) > 0; n-- {
		r := e.unsettled[0]
		e.unsettled = e.unsettled[1:]
		if e.live[r.ID] != r {
			continue
		}
		if r.IsInstalled() {
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
func (e *Engine) watchLater(p *install.Prepared, everything bool) {
	if everything {
		e.unwatched = slices.Clone(p.Watched)
		return
	}
	left := e.unwatched
	e.unwatched = slices.Clone(p.Watch)
	for _, old := range left {
		if slot := p.To[old]; slot >= 0 {
			e.unwatched = append(e.unwatched, slot)
		}
	}
	slices.Sort(e.unwatched)
	e.unwatched = slices.Compact(e.unwatched)
}

// applyLimits applies the limits of a load. Runs with a process keep their slots, even if
// these exceed the new limits. Waiting runs are queued again with the current options of
// their entries: all of them if the limits changed, otherwise only the runs in changed.
func (e *Engine) applyLimits(l slots.Limits, changed []*live.Run) {
	if e.slots.Is(l) {
		for _, r := range changed {
			if e.refresh(r) {
				e.lineUp(r)
			}
		}
		return
	}
	e.checks.Recount()
	next, keepStarts := e.slots.Replaced(l)
	used := e.slots.IsUsed()
	e.slots = next
	if l.MaxRunning > 0 || l.MaxPerUser > 0 || used {
		e.placeAgain()
	}
	keepStarts()
}

// placeAgain assigns slots to all runs that have a process, and queues those that waited
// for one.
func (e *Engine) placeAgain() {
	for _, r := range live.Sorted(e.live) {
		waits := r.Claim != nil
		r.Claim = nil
		switch {
		case r.HasProcess() || r.Gate == live.GateToken:
			e.occupy(r)
		case waits:
			e.refresh(r)
			e.lineUp(r)
		}
	}
}

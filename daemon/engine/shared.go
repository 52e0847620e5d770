package engine

import (
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/engine/agenda"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/engine/gate"
	"github.com/cronring/cronring/daemon/engine/live"
	"github.com/cronring/cronring/daemon/job"
)

// claimDue requests the due occurrences of a ring job for this member. It reports false if the
// job needs no ring, so that decide handles it.
func (e *Engine) claimDue(slot int, due agenda.Occurrences) (handled bool) {
	if !e.isCandidate(slot) {
		return false
	}
	if !e.ring.members.Open { // undecided, until it can take occurrences
		return true
	}
	e.marks[slot] = due.Last().UnixNano()
	// After half a hold-off, other members may have taken it.
	if late := e.now.Wall.Sub(due.Last()) >= e.ring.members.HoldOff/2; !late && due.Older == 0 && len(due.List) == 1 {
		e.request(slot, due.Last(), false, nil)
		return true
	}
	p := e.catchup(slot, due.List)
	p.Missed = max(0, min(p.Missed, len(due.List)-1)) // the record of the newest occurrence also covers the skipped ones before it
	p.TooLate = min(p.TooLate, p.Missed)
	skips := agenda.LeftOut(due, p)
	for _, at := range due.List[p.Missed:] {
		e.request(slot, at, true, skips)
		skips = nil
	}
	if len(due.List) == 0 { // all occurrences are too old to be listed
		e.request(slot, due.Last(), true, nil)
	}
	return true
}

func (e *Engine) request(slot int, due time.Time, missed bool, skips []exchange.Skip) {
	e.ring.send(exchange.Due{Occurrence: exchange.OccurrenceOf(e.jobs.RingKey(slot), due), Missed: missed, Skips: skips})
}

// liveOfOccurrence returns the live run of an occurrence on this member, or nil.
func (e *Engine) liveOfOccurrence(o exchange.Occurrence, slot int) *live.Run {
	for _, r := range e.byJob[e.jobs.ID(slot)] {
		if e.isShared(r) && r.Due.Equal(o.Time()) {
			return r
		}
	}
	return nil
}

// recheck reclaims runs that have not begun, or reports those that stay here as begun.
func (e *Engine) recheck(a exchange.Recheck) {
	for _, r := range live.Sorted(e.live) {
		if e.ring.unbegun[r.ID] == nil || r.State != job.RunQueued && r.State != job.RunWaiting {
			continue
		}
		if a.Of != nil && (!r.IsInstalled() || !a.Of(r.Slot)) {
			e.progress(r, exchange.Begun)
			continue
		}
		if e.reclaim(r) && r.IsLinedUp() {
			e.releaseSlots(r)
		}
	}
}

// permit decides an occurrence that was granted to this member, as a host without a ring
// would. A run of the occurrence that waits for this continues.
func (e *Engine) permit(slot int, p exchange.Permit) {
	if r := e.liveOfOccurrence(p.Occurrence, slot); r != nil {
		if r.Reclaimed {
			e.resumeShared(r, p.Token)
		}
		return
	}
	handed := e.ring.handed[p.Occurrence]
	delete(e.ring.handed, p.Occurrence)
	switch {
	case handed == nil:
	case handed.State != job.RunDropped: // it could not start
		e.drop(e.retry(handed), job.NoMember)
		return
	case p.Orphan == nil: // a further attempt that waited, and that no other member had since
		p.Orphan = &exchange.Orphan{Host: e.node, Begun: true, Left: true, Attempt: handed.Attempt - 1, Lost: handed.Lost, Tried: handed.Tried}
	}
	if waits := slices.Contains(e.pending, slot); p.Orphan != nil && !waits { // otherwise earlier occurrences would remain undecided
		e.marks[slot] = max(e.marks[slot], p.Due)
	}
	o := e.occurrence(slot, p.Time(), job.TriggerClock, job.OnTime)
	o.Permit = &p
	e.skipAll(o, p.Skips)
	if e.decideShared(o, p) == nil {
		e.ring.send(exchange.Progress{Occurrence: p.Occurrence, Phase: exchange.Over})
	}
}

func (e *Engine) decideShared(o gate.Occurrence, p exchange.Permit) *live.Run {
	switch x := p.Orphan; {
	case p.Reason != "" && x != nil && x.Begun: // no member makes its further attempt, so that it failed
		r := e.newRun(&o)
		e.wait(r, job.WaitsOnRetry, job.DetailFromHost(x.Host))
		e.drop(r, p.Reason)
		return r
	case p.Reason != "":
		e.skip(&o, p.Reason, job.DetailLate(e.now.Wall.Sub(o.Due)))
		return nil
	case x == nil || !x.Left && !x.Begun:
		return e.decideDue(o, agenda.Occurrences{First: o.Due, List: []time.Time{o.Due}})
	case x.Left: // that member had it, so catchup= does not apply
		o.Cause, o.Detail = job.TakenOver, job.DetailFromHost(x.Host)
	default:
		o.Cause = job.Rerun
	}
	if p.Orphan.Begun {
		o.Trigger = job.TriggerRetry
	}
	return e.decide(&o)
}

// deny skips an occurrence that no member runs.
func (e *Engine) deny(slot int, d exchange.Deny) {
	o := e.occurrence(slot, d.Time(), job.TriggerClock, job.OnTime)
	e.skipAll(o, d.Skips)
	e.skip(&o, d.Reason, d.Detail)
}

// revoke drops a run that waits, because another member has its occurrence.
func (e *Engine) revoke(slot int, x exchange.Revoke) {
	delete(e.ring.handed, x.Occurrence)
	if r := e.liveOfOccurrence(x.Occurrence, slot); r != nil && (r.State == job.RunQueued || r.State == job.RunWaiting) {
		e.dropFor(r, x.Reason, job.Text(x.Host))
	}
}

// resumeShared continues a run that the ring permits again.
func (e *Engine) resumeShared(r *live.Run, token uint64) {
	r.Reclaimed, r.Token, r.TokenAt = false, token, e.now.Up
	if since := r.StoredAt; !since.IsZero() {
		r.StoredAt = time.Time{}
		e.goOnWaiting(r, since)
		if e.live[r.ID] != r || !r.IsQueued() && !r.WaitsForParents() {
			return
		}
	}
	switch {
	case r.Gate == live.GateToken:
		e.goOn(r, r.Cause)
	case r.IsQueued():
		e.startNextOf(r.Job)
	case r.WaitsOn() == job.WaitsOnSlot:
		e.lineUp(r)
	case r.WaitsOn() == job.WaitsOnCheck:
		e.goOn(r, job.RanAfterCheck)
	case r.WaitsForParents():
		e.goOn(r, job.RanAfterParents)
	case r.WaitsForTime():
		e.timers.Add(agenda.Timer{At: max(e.now.Up, e.now.UpAt(r.NotBefore)), Run: r.ID, Kind: agenda.WaitOver})
	}
}

// doubled records that an occurrence ran twice in the ring, because two members did not see
// each other.
func (e *Engine) doubled(slot int, d exchange.Doubled) {
	e.record(job.Record{
		Kind: job.Doubled, Job: e.jobs.ID(slot), Due: d.Time(),
		Detail: job.DetailRanToo(d.Host, d.Run),
	})
}

package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
)

// claimDue requests the due occurrences of a ring job for this member. It reports false if the
// job needs no ring, so that decide handles it.
func (e *Engine) claimDue(slot int, due occurrences) (handled bool) {
	o := e.jobs.Options(slot)
	if !e.isCandidate(slot) {
		return false
	}
	if !e.ring.members.Open { // undecided, until it can take occurrences
		return true
	}
	e.marks[slot] = due.last().UnixNano()
	// After half a hold-off, other members may have taken it.
	if late := e.now.Wall.Sub(due.last()) >= e.ring.members.HoldOff/2; !late && due.older == 0 && len(due.list) == 1 {
		e.request(slot, due.last(), false, nil)
		return true
	}
	p := catchup(o, timetable.FixedTime(e.jobs.Entry(slot).Schedule), due.list, e.now.Wall)
	p.missed = max(0, min(p.missed, len(due.list)-1)) // the record of the newest occurrence also covers the skipped ones before it
	p.tooLate = min(p.tooLate, p.missed)
	skips := leftOut(due, p)
	for _, at := range due.list[p.missed:] {
		e.request(slot, at, true, skips)
		skips = nil
	}
	if len(due.list) == 0 { // all occurrences are too old to be listed
		e.request(slot, due.last(), true, nil)
	}
	return true
}

func (e *Engine) request(slot int, due time.Time, missed bool, skips []exchange.Skip) {
	e.ring.tell(exchange.Due{Occurrence: exchange.OccurrenceOf(e.jobs.RingKey(slot), due), Missed: missed, Skips: skips})
}

// isShared reports whether a run belongs to an occurrence of a ring. A manual run does
// not.
func (r *run) isShared() bool {
	if r.options.Scope != option.ScopeRing || r.asked() {
		return false
	}
	switch r.Trigger {
	case job.TriggerClock, job.TriggerCatchup, job.TriggerRetry:
		return true
	}
	return false
}

// isElsewhere reports whether a run was dropped because its occurrence belongs to another
// member. That member reports its progress.
func (r *run) isElsewhere() bool { return r.Reason == job.OtherMember || r.Reason == job.HandedOver }

// liveOfOccurrence returns the live run of an occurrence on this member, or nil.
func (e *Engine) liveOfOccurrence(o exchange.Occurrence, slot int) *run {
	for _, r := range e.byJob[e.jobs.ID(slot)] {
		if r.isShared() && r.Due.Equal(o.Time()) {
			return r
		}
	}
	return nil
}

// progress sends the phase of an occurrence to the ring.
func (e *Engine) progress(r *run, p exchange.Phase) {
	if r.isShared() {
		e.ring.tell(exchange.ProgressOf(&r.Run, p))
	}
}

// reclaim makes a run that has not begun wait until the ring permits it again. It reports
// false if the run needs no permit.
func (e *Engine) reclaim(r *run) (waits bool) {
	if _, ok := e.slotOf(r); !ok || e.ring.mode == NoRing || !r.isShared() {
		return false
	}
	r.reclaimed = true
	e.ring.tell(exchange.Unstarted{Progress: exchange.ProgressOf(&r.Run, exchange.Taken)})
	return true
}

// recheck reclaims runs that have not begun.
func (e *Engine) recheck(a exchange.Recheck) {
	for _, r := range e.sorted() {
		slot, ok := e.slotOf(r)
		if e.ring.unbegun[r.ID] == nil || r.State != job.RunQueued && r.State != job.RunWaiting || a.Of != nil && (!ok || !a.Of(slot)) {
			continue
		}
		if e.reclaim(r) && r.WaitsOn() == job.WaitsOnSlot {
			e.releaseSlots(r)
		}
	}
}

// permit decides an occurrence that was granted to this member, as a host without a ring
// would. A run of the occurrence that waits for this continues.
func (e *Engine) permit(slot int, p exchange.Permit) {
	if r := e.liveOfOccurrence(p.Occurrence, slot); r != nil {
		if r.reclaimed {
			e.resumeShared(r, p.Token)
		}
		return
	}
	if waits := slices.Contains(e.pending, slot); p.Orphan != nil && !waits { // otherwise earlier occurrences would remain undecided
		e.marks[slot] = max(e.marks[slot], p.Due)
	}
	j := e.firing(slot)
	j.granted = &p
	e.skipWith(j, p.Skips)
	if r := e.decideShared(j, p); r == nil {
		e.ring.tell(exchange.Progress{Occurrence: p.Occurrence, Phase: exchange.Over})
	}
}

func (e *Engine) decideShared(j *firing, p exchange.Permit) *run {
	due := p.Time()
	if p.Reason != "" {
		e.skip(j, due, due, 1, p.Reason, lateness(e.now.Wall, due))
		return nil
	}
	if reason, detail := e.standing(j); reason != "" {
		e.skip(j, due, due, 1, reason, detail)
		return nil
	}
	switch x := p.Orphan; {
	case x != nil && x.Left:
		return e.takeOver(j, due, x)
	case x != nil && x.Begun:
		return e.admit(j, due, job.TriggerRetry, job.Rerun)
	}
	plan := catchup(j.options, timetable.FixedTime(j.entry.Schedule), []time.Time{due}, e.now.Wall)
	switch {
	case plan.tooLate == 1:
		e.skip(j, due, due, 1, job.PastDeadline, lateness(e.now.Wall, due))
		return nil
	case plan.missed == 1:
		e.skip(j, due, due, 1, plan.reason, lateness(e.now.Wall, due))
		return nil
	case plan.onTime == 1:
		return e.admit(j, due, job.TriggerCatchup, job.CaughtUp)
	}
	return e.admit(j, due, job.TriggerClock, job.OnTime)
}

// takeOver continues an occurrence that a member gave up when it left. The occurrence was
// not missed there, so catchup= does not apply. The pause before a further attempt begins
// again.
func (e *Engine) takeOver(j *firing, due time.Time, x *exchange.Orphan) *run {
	if late := e.now.Wall.Sub(due); j.options.Deadline > 0 && late > j.options.Deadline {
		e.skip(j, due, due, 1, job.PastDeadline, lateness(e.now.Wall, due))
		return nil
	}
	from := "from " + x.Host
	if !x.Begun {
		j.detail = from
		return e.admit(j, due, job.TriggerClock, job.TakenOver)
	}
	r := e.newRun(j, due, job.TriggerRetry)
	e.pauseBefore(r, backoff(r.options, r.Invocation, r.Attempt-1-r.Lost))
	e.wait(r, job.WaitsOnRetry, from)
	return r
}

// deny skips an occurrence that no member runs.
func (e *Engine) deny(slot int, d exchange.Deny) {
	j := e.firing(slot)
	e.skipWith(j, d.Skips)
	e.skip(j, d.Time(), d.Time(), 1, d.Reason, d.Detail)
}

// revoke drops a run that waits, because another member has its occurrence.
func (e *Engine) revoke(slot int, x exchange.Revoke) {
	if r := e.liveOfOccurrence(x.Occurrence, slot); r != nil && (r.State == job.RunQueued || r.State == job.RunWaiting) {
		e.dropFor(r, x.Reason, x.Host)
	}
}

// skipWith skips older occurrences together with a newer one.
func (e *Engine) skipWith(j *firing, all []exchange.Skip) {
	for _, s := range all {
		e.skip(j, s.First, s.Due, s.Count, s.Reason, lateness(e.now.Wall, s.Due))
	}
}

// resumeShared continues a run that the ring permits again.
func (e *Engine) resumeShared(r *run, token uint64) {
	r.reclaimed, r.Token, r.tokenAt = false, token, e.now.Up
	if since := r.storedAt; !since.IsZero() {
		r.storedAt = time.Time{}
		if e.goOnWaiting(r, since); e.live[r.ID] != r {
			return
		}
	}
	switch {
	case r.gate == gateToken:
		e.pass(r)
	case r.inLine():
		e.startNextOf(r.Job)
	case r.WaitsOn() == job.WaitsOnSlot:
		e.lineUp(r)
	case r.WaitsOn() == job.WaitsOnCheck:
		if !r.asking {
			e.goOn(r, job.RanAfterCheck)
		}
	case r.waitsForParents():
		e.goOn(r, job.RanAfterParents)
	case r.waitsForTime():
		e.timers.add(timer{at: max(e.now.Up, e.now.UpAt(r.NotBefore)), run: r.ID, kind: waitOver})
	}
}

// doubled records that an occurrence ran twice in the ring, because two members did not see
// each other.
func (e *Engine) doubled(slot int, d exchange.Doubled) {
	e.record(job.Record{
		Kind: job.Doubled, Job: e.jobs.ID(slot), Due: d.Time(),
		Detail: fmt.Sprintf("%sran on %s too, as run %d", job.DoubledOf(d.Time()), d.Host, d.Run),
	})
}

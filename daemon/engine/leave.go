package engine

import (
	"slices"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// A member that is about to leave, or is drained, tells the others, and two seconds later
// takes nothing any more (Member.Draining). From then on it gives away each run of the ring that has not begun,
// as soon as that has to wait: for a place, for an earlier run, for its next attempt.
// The member that comes first takes it at once, without a hold-off, as the one that
// had it says itself that it does not run it.
//
// What has begun stays, and ends where it is. So does a run of jobs that after= and
// on= connect, as what it waits for, or what waits for it, is here; and one that no
// other member that stays may have.

// isDraining reports whether this member takes nothing any more.
func (s *seats) isDraining() bool { return s != nil && s.self >= 0 && s.Members[s.self].Draining }

// hasHeir tells whether another member may take an occurrence of a job. One that is on
// its own way out may have got there when it hears that it could, and nobody would.
func (s *seats) hasHeir(in *jobs, slot int32) bool {
	weigh := s.weigher(in, slot)
	for i := range s.Members {
		if i != s.self && weigh(i) > 0 {
			return true
		}
	}
	return false
}

// handOver gives away what waits, and stands by for nobody any more: a claim that
// is answered when this member has left would be one that nobody knows of.
func (e *Engine) handOver() {
	r := e.ring
	if r == nil || !r.leaving || e.draining {
		return
	}
	for _, b := range r.bids {
		if b.rank > 0 && b.run == nil && !b.asked && b.tries == 0 {
			r.forget(b)
		}
	}
	var waiting []*run
	for _, x := range r.unbegun {
		if x.bid == nil && !x.kept && (x.State == job.RunQueued || x.State == job.RunWaiting) {
			waiting = append(waiting, x)
		}
	}
	slices.SortFunc(waiting, func(a, b *run) int { return int(a.ID - b.ID) })
	for _, x := range waiting {
		slot, ok := e.slotOf(x)
		if ok && e.jobs.clans[slot] == nil && r.seats.hasHeir(e.jobs, slot) {
			e.give(x, slot)
		}
	}
}

// give gives a run away, which waits until that is done.
func (e *Engine) give(x *run, slot int32) {
	b := e.newBid(slot, x.Due)
	if e.ring.bids[b.Occurrence] != nil { // an answer is to come
		return
	}
	if x.Reason == job.WaitsForPlace {
		e.vacate(x)
	}
	b.run, b.gives, b.again = x, true, true
	x.bid = b
	e.ring.bids[b.Occurrence] = b
	e.emit(HandOver{
		Occurrence: b.Occurrence, Attempt: x.Attempt - 1, Lost: x.Lost,
		Ledger: e.ring.mode == Strict && x.options.Partitioned != crontab.PartitionedRun,
	})
}

// handedOver hears what became of a run that was given away. One that was not
// stays, if it is granted anew.
func (e *Engine) handedOver(ev HandedOver) {
	if e.ring == nil {
		return
	}
	b := e.ring.bids[ev.Occurrence]
	if b == nil || !b.gives {
		return
	}
	e.ring.forget(b)
	x := b.run
	x.bid = nil
	if !ev.Done {
		x.kept = true
		e.reclaim(x)
		return
	}
	e.dropFor(x, job.HandedOn, "")
	e.promote(x.Job)
}

// isElsewhere tells whether a run was dropped as its occurrence is another
// member's, which says how far it is.
func (r *run) isElsewhere() bool { return r.Reason == job.OtherMember || r.Reason == job.HandedOn }

// takeOver goes on with an occurrence where the member was that gave it away. That
// one did not miss it, so catchup= has no say; and how long the pause before a
// further attempt has lasted nobody knows, so it begins anew.
func (e *Engine) takeOver(j *firing, b *bid) *run {
	if late := e.now.Wall.Sub(b.Due); j.options.Deadline > 0 && late > j.options.Deadline {
		e.skip(j, b.Due, b.Due, 1, job.PastDeadline, lateness(e.now.Wall, b.Due))
		return nil
	}
	from := "from " + e.ring.hostOf(b.from)
	if !b.orphan.began() {
		j.detail = from
		return e.admit(j, b.Due, job.TriggerClock, job.TakenOver)
	}
	r := e.newRun(j, b.Due, job.TriggerRetry)
	e.pauseBefore(r, backoff(r.options, r.Invocation, r.Attempt-1-r.Lost))
	e.wait(r, job.RunWaiting, job.WaitsForRetry, from)
	return r
}

// Leaving tells how far this member is that is about to leave, or is drained: the
// runs of the ring that are here yet, oldest first, and whether it has handed over
// all that it can. It is not ok for a member that stays.
func (v *View) Leaving() (here []job.Run, handedOver, ok bool) {
	if !v.leaving {
		return nil, false, false
	}
	here = slices.DeleteFunc(v.Runs(), func(r job.Run) bool {
		_, shared := v.jobs.sharedBy(job.KeyOf(r.Job, r.User))
		return !shared || r.By != "" || r.Backfill != 0
	})
	return here, v.handing == 0, true
}

package engine

import (
	"slices"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/rendezvous"
)

// A member that is drained claims nothing new, and continues with what it has. One that
// leaves also gives up what it has not begun, and tells the others: for them it is dead
// then, and they take over what it gave up. What has begun ends here. So do runs that after=
// and on= connect, because what they wait for is here, and runs that no other member may
// have: they wait for this host.

// isDraining reports whether this member takes nothing any more.
func (s *seats) isDraining() bool { return s != nil && s.self >= 0 && s.Members[s.self].Draining }

// depart gives up what has not begun. What is granted from now on does not begin here, so
// that the final state that the others hear is final.
func (e *Engine) depart() {
	r := e.ring
	if r == nil || r.seats == nil {
		e.emit(Unstarted{})
		return
	}
	r.departed = true
	for _, b := range r.bids {
		if !b.asked {
			r.forget(b)
		}
	}
	var given []Orphan
	for _, x := range e.sorted() {
		slot, ok := e.slotOf(x)
		if _, unbegun := r.unbegun[x.ID]; !unbegun || !ok || !e.isForOthers(x, slot) {
			continue
		}
		given = append(given, Orphan{
			Occurrence: Occurrence{e.jobs.RingKey(slot), x.Due}, Phase: Taken, Attempt: x.Attempt - 1, Lost: x.Lost,
		})
		if x.WaitsOn() == job.WaitsOnSlot {
			e.vacate(x)
		}
		e.dropFor(x, job.HandedOver, "")
	}
	e.emit(Unstarted{given})
}

// isForOthers reports whether a run waits that another member may take over.
func (e *Engine) isForOthers(x *run, slot int) bool {
	s := e.ring.seats
	others := s.weigher(e.jobs, slot)
	return (x.State == job.RunQueued || x.State == job.RunWaiting) && e.jobs.Component(slot) == nil &&
		rendezvous.First(0, s.nodes, func(i int) rendezvous.Weight {
			if i == s.self {
				return 0
			}
			return others(i)
		}) >= 0
}

// isElsewhere tells whether a run was dropped as its occurrence is another
// member's, which says how far it is.
func (r *run) isElsewhere() bool { return r.Reason == job.OtherMember || r.Reason == job.HandedOver }

// takeOver continues with an occurrence that a member gave up when it left. That one did
// not miss it, so catchup= does not apply. The pause before a further attempt begins again.
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
	e.wait(r, job.WaitsOnRetry, from)
	return r
}

// Drained returns the runs of the ring that are here yet, oldest first. It is not ok for a
// member that claims occurrences.
func (v *View) Drained() (here []job.Run, ok bool) {
	if !v.drained {
		return nil, false
	}
	return slices.DeleteFunc(v.Runs(), func(r job.Run) bool {
		_, shared := v.jobs.FindRing(job.KeyOf(r.Job, r.User))
		return !shared || r.By != "" || r.Backfill != 0
	}), true
}

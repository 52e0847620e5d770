package engine

import (
	"slices"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/register"
	"github.com/cronring/cronring/gossip/rendezvous"
)

// A drained member claims nothing new, and continues with the occurrences that it has. A
// member that leaves also gives up its occurrences that have not begun, and reports that
// to the others. They then treat it as dead, and take over these occurrences.
//
// Runs that have begun end here. The same applies to runs connected by after= and on=,
// because the runs that they wait for are here, and to runs that no other member may
// have: they wait for this host.

// isDraining reports whether this member takes no new occurrences.
func (s *ranking) isDraining() bool { return s != nil && s.self >= 0 && s.Members[s.self].Draining }

// depart gives up occurrences that have not begun. Anything granted from now on does not
// begin here, because the state that the others receive must be final.
func (e *Engine) depart() {
	r := e.ring
	if r.ranking == nil {
		e.emitToRing(register.Unstarted{})
		return
	}
	r.departed = true
	for _, c := range r.claims {
		if c.state < asked {
			r.forget(c)
		}
	}
	var given []register.Progress
	for _, x := range e.sorted() {
		slot, ok := e.slotOf(x)
		if _, unbegun := r.unbegun[x.ID]; !unbegun || !ok || !e.isForOthers(x, slot) {
			continue
		}
		given = append(given, register.ProgressOf(&x.Run, register.Taken))
		if x.WaitsOn() == job.WaitsOnSlot {
			e.releaseSlots(x)
		}
		e.dropFor(x, job.HandedOver, "")
	}
	e.emitToRing(register.Unstarted{Occurrences: given})
}

// isForOthers reports whether a run waits that another member may take over.
func (e *Engine) isForOthers(x *run, slot int) bool {
	s := e.ring.ranking
	others := s.weigher(e.jobs, slot)
	return (x.State == job.RunQueued || x.State == job.RunWaiting) && e.jobs.Component(slot) == nil &&
		rendezvous.First(0, s.nodes, func(i int) rendezvous.Weight {
			if i == s.self {
				return 0
			}
			return others(i)
		}) >= 0
}

// isElsewhere reports whether a run was dropped because its occurrence belongs to another
// member. That member reports its progress.
func (r *run) isElsewhere() bool { return r.Reason == job.OtherMember || r.Reason == job.HandedOver }

// takeOver continues an occurrence that a member gave up when it left. The occurrence was
// not missed there, so catchup= does not apply. The pause before a further attempt begins
// again.
func (e *Engine) takeOver(j *firing, c *ringClaim) *run {
	if late := e.now.Wall.Sub(c.Time()); j.options.Deadline > 0 && late > j.options.Deadline {
		e.skip(j, c.Time(), c.Time(), 1, job.PastDeadline, lateness(e.now.Wall, c.Time()))
		return nil
	}
	from := "from " + c.orphan.Host
	if !began(c.orphan) {
		j.detail = from
		return e.admit(j, c.Time(), job.TriggerClock, job.TakenOver)
	}
	r := e.newRun(j, c.Time(), job.TriggerRetry)
	e.pauseBefore(r, backoff(r.options, r.Invocation, r.Attempt-1-r.Lost))
	e.wait(r, job.WaitsOnRetry, from)
	return r
}

// Drained returns the ring's runs that are still on this host, oldest first. ok is false
// for a member that claims occurrences.
func (v *View) Drained() (here []job.Run, ok bool) {
	if !v.drained {
		return nil, false
	}
	return slices.DeleteFunc(v.Runs(), func(r job.Run) bool {
		_, shared := v.jobs.FindRing(job.KeyOf(r.Job, r.User))
		return !shared || r.By != "" || r.Backfill != 0
	}), true
}

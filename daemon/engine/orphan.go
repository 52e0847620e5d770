package engine

import (
	"fmt"
	"slices"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/register"
)

// mostEarly limits how many reports of orphans are kept until the ring is known.
const mostEarly = 1000

// began reports whether any attempt of an orphan has begun.
func began(x *register.Report) bool {
	return x != nil && (x.Phase == register.Begun || x.Attempt > 0)
}

// orphaned claims occurrences whose member is gone. If the member had begun an
// occurrence, it may have ended well, so it is run again only if if-lost= allows that.
// The same holds for an occurrence that the ledger granted, because the member may still
// begin it. An occurrence that this member itself took before a restart, and has no
// record of, has not begun.
func (e *Engine) orphaned(all []register.Report) {
	for _, x := range all {
		if e.ring.ranking == nil {
			if len(e.ring.early) < mostEarly {
				e.ring.early = append(e.ring.early, x)
			}
			continue
		}
		slot, ok := e.jobs.FindRing(x.Key)
		if ok && x.Phase != register.Over && e.liveOfOccurrence(x.Occurrence, slot) == nil {
			e.inherit(slot, &x)
		}
	}
}

// inherit claims an orphan, unless it may have begun and must not be run again. If
// there is a claim for the occurrence already, the orphan is tried only if that claim is
// refused, for instance by a member that does not know yet that the other one is gone.
func (e *Engine) inherit(slot int, x *register.Report) {
	if due := x.Time(); due.After(e.now.Wall.Add(register.MaxSkew)) || !e.jobs.Entry(slot).Schedule.Next(due.Add(-1)).Equal(due) {
		return // the entry has no such occurrence
	}
	o, own := e.jobs.Options(slot), x.Member == e.ring.ranking.Self
	c := e.ring.claims[x.Occurrence]
	switch {
	case c != nil && c.state >= asked:
		c.ifRefused = x
		return
	case c != nil: // the earlier claim is out of date
		e.ring.forget(c)
		e.claimOlder(c)
	}
	sure := own || x.Left || x.Phase == register.Taken && (e.ring.mode == Available || o.Partitioned == option.PartitionedRun)
	endsThere := x.Left && (x.Phase == register.Begun || e.jobs.Component(slot) != nil)
	if endsThere || !e.isCandidate(slot) || !sure && (o.IfLost != option.LostReruns || x.Lost >= maxReruns) {
		return
	}
	c = e.newRingClaim(slot, x.Time())
	c.again, c.orphan = true, x
	if !slices.Contains(e.pending, slot) { // otherwise earlier occurrences would remain undecided
		e.marks[slot] = max(e.marks[slot], x.Due)
	}
	if own { // no other member competes for it
		c.state = parked
		e.ring.park(c, e.now.Up)
		return
	}
	e.compete(c, e.now.Wall)
}

// others handles a report that other members took occurrences. It keeps the claim for an
// orphan, because the report may come from the member that is gone.
func (e *Engine) others(all []register.Occurrence) {
	for _, o := range all {
		if c := e.ring.claims[o]; c != nil && c.state < asked && !c.again {
			e.ring.forget(c)
			e.claimOlder(c)
		}
		if slot, ok := e.jobs.FindRing(o.Key); ok {
			e.ranElsewhere(slot, o.Time())
		}
	}
}

// dropYielded drops occurrences that another member took too, because the two did not see each
// other. The other member keeps them: this one has not begun them.
func (e *Engine) dropYielded(all []register.Report) {
	for _, x := range all {
		if c := e.ring.claims[x.Occurrence]; c != nil && c.run == nil {
			e.ring.forget(c)
		}
		slot, ok := e.jobs.FindRing(x.Key)
		if !ok {
			continue
		}
		if r := e.liveOfOccurrence(x.Occurrence, slot); r != nil {
			e.dropForOther(r, x.Host)
		}
	}
}

// liveOfOccurrence returns the live run of an occurrence on this member, or nil.
func (e *Engine) liveOfOccurrence(o register.Occurrence, slot int) *run {
	for _, r := range e.byJob[e.jobs.ID(slot)] {
		if r.isShared() && r.Due.Equal(o.Time()) {
			return r
		}
	}
	return nil
}

// doubled records that occurrences ran twice in the ring, because two members did not see
// each other.
func (e *Engine) doubled(all []register.Report) {
	for _, x := range all {
		if slot, ok := e.jobs.FindRing(x.Key); ok {
			e.record(job.Record{
				Kind: job.Doubled, Job: e.jobs.ID(slot), Due: x.Time(),
				Detail: fmt.Sprintf("%sran on %s too, as run %d", job.DoubledOf(x.Time()), x.Host, x.Run),
			})
		}
	}
}

// reclaim makes a run that has not begun wait until its occurrence is granted again.
func (e *Engine) reclaim(r *run) {
	if e.ring.mode == NoRing || r.ringClaim != nil || !r.isShared() {
		return
	}
	slot, ok := e.slotOf(r)
	if !ok {
		return
	}
	c := e.newRingClaim(slot, r.Due)
	if x := e.ring.claims[c.Occurrence]; x != nil {
		if x.state >= asked {
			return
		}
		e.ring.forget(x)
	}
	c.run, c.again, c.state = r, true, parked
	r.ringClaim = c
	e.ring.park(c, e.now.Up)
}

// resumeShared continues a run whose occurrence was granted again.
func (e *Engine) resumeShared(r *run) {
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
		e.timers.add(timer{at: max(e.now.Up, e.upAt(r.NotBefore)), run: r.ID, kind: waitOver})
	}
}

// dropForOther drops a run whose occurrence another member has.
func (e *Engine) dropForOther(r *run, host string) {
	if r.State != job.RunQueued && r.State != job.RunWaiting {
		return
	}
	e.dropFor(r, job.OtherMember, host)
}

package engine

import (
	"fmt"
	"slices"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// mostEarly is the words of orphans that are kept until the ring is known.
const mostEarly = 1000

// orphan is one with the member that it was of.
type orphan struct {
	Orphan
	from string
	left bool
}

// orphaned bids for what a member took that is gone. What it had begun may have
// ended well, and is run again only where if-lost= says so; so is what the ledger
// granted, as it may begin yet. What this member itself took and knows nothing of,
// as it was started anew, has not begun.
func (e *Engine) orphaned(ev Orphaned) {
	if e.ring == nil {
		return
	}
	if e.ring.seats == nil {
		if len(e.ring.early) < mostEarly {
			e.ring.early = append(e.ring.early, ev)
		}
		return
	}
	for _, x := range ev.Orphans {
		slot, ok := e.jobs.FindRing(x.Key)
		if ok && x.Phase != Over && e.liveOfOccurrence(x.Occurrence, slot) == nil {
			e.inherit(slot, orphan{x, ev.Member, ev.Left})
		}
	}
}

// inherit bids for an orphan, unless it may have begun and is not to be run again.
// One that is asked for already comes next if that is refused, as by whoever does
// not know of its member's end.
func (e *Engine) inherit(slot int, x orphan) {
	if due := x.Due; due.After(e.now.Wall.Add(MaxSkew)) || !e.jobs.Entry(slot).Schedule.Next(due.Add(-1)).Equal(due) {
		return // nobody can have been to run that
	}
	o, own := e.jobs.Options(slot), x.from == e.ring.seats.Self
	b := e.ring.bids[x.Occurrence]
	switch {
	case b != nil && b.asked:
		b.ifRefused = &x
		return
	case b != nil: // what it was of has ended, or is known to be further
		e.ring.forget(b)
	}
	sure := own || x.left || x.Phase == Taken && (e.ring.mode == Available || o.Partitioned == crontab.PartitionedRun)
	endsThere := x.left && (x.Phase == Begun || e.jobs.Component(slot) != nil)
	if endsThere || !e.isCandidate(slot) || !sure && (o.IfLost != crontab.LostReruns || x.Lost >= maxReruns) {
		return
	}
	b = e.newBid(slot, x.Due)
	b.again, b.orphan, b.from, b.left = true, x.Orphan, x.from, x.left
	if !slices.Contains(e.pending, slot) { // else what was due before it is undecided
		e.marks[slot] = max(e.marks[slot], x.Due.UnixNano())
	}
	if own { // nobody else is asked for it, or has to be waited for
		b.ranked = true
		e.ring.park(b, e.now.Up)
		return
	}
	e.compete(b, e.now.Wall)
}

// others hears that occurrences are taken. One that was orphaned is asked for all
// the same: it may be the word of the member that is gone.
func (e *Engine) others(ev Others) {
	if e.ring == nil {
		return
	}
	for _, o := range ev.Occurrences {
		if b := e.ring.bids[o]; b != nil && !b.asked && !b.again {
			e.ring.forget(b)
		}
		if slot, ok := e.jobs.FindRing(o.Key); ok {
			e.ranElsewhere(slot, o.Due)
		}
	}
}

// deprived lets go of what another member took too.
func (e *Engine) deprived(ev Deprived) {
	if e.ring == nil {
		return
	}
	for _, o := range ev.Occurrences {
		if b := e.ring.bids[o]; b != nil && b.run == nil {
			e.ring.forget(b)
		}
		slot, ok := e.jobs.FindRing(o.Key)
		if !ok {
			continue
		}
		if r := e.liveOfOccurrence(o, slot); r != nil {
			e.yield(r, ev.By)
		}
	}
}

// liveOfOccurrence is the run of an occurrence that lives here, or nil.
func (e *Engine) liveOfOccurrence(o Occurrence, slot int) *run {
	for _, r := range e.byJob[e.jobs.ID(slot)] {
		if r.isShared() && r.Due.Equal(o.Due) {
			return r
		}
	}
	return nil
}

// doubled records that an occurrence ran twice in the ring.
func (e *Engine) doubled(ev Doubled) {
	slot, ok := e.jobs.FindRing(ev.Key)
	if !ok {
		return
	}
	e.record(job.Record{
		Kind: job.Doubled, Job: e.jobs.ID(slot), Due: ev.Due,
		Detail: fmt.Sprintf("%sran on %s too, as run %d", job.DoubledOf(ev.Due), ev.Host, ev.Run),
	})
}

// reclaim has a run that has not begun wait until its occurrence was claimed
// anew.
func (e *Engine) reclaim(r *run) {
	if e.ring == nil || r.bid != nil || !r.isShared() {
		return
	}
	slot, ok := e.slotOf(r)
	if !ok {
		return
	}
	b := e.newBid(slot, r.Due)
	if x := e.ring.bids[b.Occurrence]; x != nil {
		if x.asked {
			return
		}
		e.ring.forget(x)
	}
	b.run, b.again = r, true
	r.bid = b
	e.ring.park(b, e.now.Up)
}

// resumeShared goes on with a run whose occurrence was claimed anew.
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

// yield drops a run whose occurrence another member has.
func (e *Engine) yield(r *run, by string) {
	if r.State != job.RunQueued && r.State != job.RunWaiting {
		return
	}
	e.dropFor(r, job.OtherMember, e.ring.hostOf(by))
}

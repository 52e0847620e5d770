package claims

import (
	"container/heap"
	"maps"
	"slices"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/holders"
)

// mostEarly limits how many reports of orphans are kept until the ring is known.
const mostEarly = 1000

// began reports whether any attempt of an orphan has begun.
func began(x *holders.Report) bool { return x.Phase == exchange.Begun || x.Attempt > 0 }

// orphaned claims occurrences of members that are dead or have left. If the member had begun an
// occurrence, it may have ended well, so it is run again only if if-lost= allows that.
// The same holds for an occurrence that the ledger granted, because the member may still
// begin it. An occurrence that this member took before a restart, and that is not in its history, has
// not begun. What this member gave up and voters grant, it leaves to the others: they may have received
// that late.
func (r *Ring) orphaned(all []holders.Report) {
	for _, x := range all {
		if r.ranking == nil {
			if len(r.early) < mostEarly {
				r.early = append(r.early, x)
			}
			continue
		}
		if slot, ok := r.host.Jobs.FindRing(x.Key); ok && x.Phase != exchange.Over {
			r.inherit(slot, &x)
		}
	}
}

// inherit claims an orphan, unless it may have begun and must not be run again. This member may have a claim
// for the occurrence already:
//
//	asked      it continues; if it is refused, for instance by a member that still sees the dead one, the
//	           orphan is claimed then
//	open       it continues, and names the orphan's member if this one may take the orphan over
//	records    it waits again if another member gave the occurrence up
//	resumes    it continues: the run waits or runs here
//	other      the claim of the orphan replaces it
func (r *Ring) inherit(slot int, x *holders.Report) {
	if due := x.Time(); due.After(r.now.Wall.Add(holders.MaxSkew)) || !r.host.Jobs.Entry(slot).Schedule.Next(due.Add(-1)).Equal(due) {
		return // the entry has no such occurrence
	}
	o, own := r.host.Jobs.Options(slot), x.Member == r.ranking.Self
	c := r.claims[x.Occurrence]
	var before *holders.Report
	switch {
	case own && x.GivenUp && r.isStrict(o):
		r.others([]exchange.Occurrence{x.Occurrence})
		return
	case c != nil && (c.state == asked || c.state == outdated):
		c.later = x
		return
	case c != nil && c.purpose == records && x.GivenUp: // another member had its turn
		c.orphan = following(c.orphan, x)
		r.awaitOthers(c)
		return
	case c != nil && c.purpose == records: // another member began it
		r.revoke(x.Occurrence, job.OtherMember, x.Host)
	case c != nil && c.isAwaited(): // it waits or runs here
		return
	case c != nil && c.open: // the voters may have granted it
		if r.canTake(slot, x) {
			c.orphan, c.purpose, c.reason = following(c.orphan, x), starts, ""
			r.park(c, r.now.Up)
		}
		return
	case c != nil: // the earlier claim is out of date
		before = c.orphan
		r.forget(c)
		r.claimOlder(c)
	}
	if !r.canTake(slot, x) {
		return
	}
	c = &claim{Occurrence: x.Occurrence, slot: slot, at: -1, orphan: following(before, x)}
	if own { // no other member competes for it
		r.enter(c, waiting)
		r.park(c, r.now.Up)
		return
	}
	r.compete(c, r.now.Wall, ranks)
}

// canTake reports whether this member may claim an orphan. If the occurrence may have begun, only if-lost=
// allows that.
func (r *Ring) canTake(slot int, x *holders.Report) bool {
	o := r.host.Jobs.Options(slot)
	sure := x.Member == r.ranking.Self || x.Left || x.Phase == exchange.Taken && !r.isStrict(o)
	endsThere := x.Left && (x.Phase == exchange.Begun || r.host.Jobs.Component(slot) != nil)
	return !endsThere && r.isCandidate(slot) && (sure || o.IfLost == option.LostReruns && x.Lost < job.MaxReruns)
}

// following returns the report to claim an occurrence with after the one before. If two members gave it up,
// the report with fewer attempts is an earlier one that arrived late, for instance after a network partition.
// If a member died with the occurrence, and another one gave it up later, it still names the one that died:
// perhaps the voters know only that one.
func following(before, x *holders.Report) *holders.Report {
	switch {
	case before != nil && before.GivenUp && x.GivenUp && x.Attempt < before.Attempt:
		newest := *before
		newest.Tried = x.Tried
		return &newest
	case before == nil || before.GivenUp || !x.GivenUp:
		return x
	}
	later := *x
	later.Member, later.Started, later.GivenUp = before.Member, before.Started, false
	return &later
}

// others handles a report that other members took occurrences. It keeps the claim for an
// orphan, because the report may come from the dead member, and one that the voters
// may have granted.
func (r *Ring) others(all []exchange.Occurrence) {
	for _, o := range all {
		if c := r.claims[o]; c != nil && c.state < asked && !c.isAgain() && !c.open {
			r.forget(c)
			r.claimOlder(c)
		}
		r.answer(exchange.Elsewhere{Occurrence: o})
	}
}

// yield gives up occurrences that another member took too, because the two did not see each
// other. The other member keeps them: this one has not begun them.
func (r *Ring) yield(all []holders.Report) {
	for _, x := range all {
		r.revoke(x.Occurrence, job.OtherMember, x.Host)
	}
}

// giveUp leaves an occurrence that could not start here to the others.
func (r *Ring) giveUp(o exchange.Occurrence) {
	if c := r.claims[o]; c != nil {
		r.forget(c)
	}
	r.awaitOthers(&claim{Occurrence: o, at: -1})
}

// awaitOthers makes a claim for an occurrence that could not start here wait for the others. If none of
// them takes it before all have had their turn, this member claims it, to record that no member could
// start it.
func (r *Ring) awaitOthers(c *claim) {
	r.enter(c, waiting)
	c.purpose, c.reason = records, job.NoMember
	r.park(c, r.now.In(ranks*r.holdOff()))
}

// reclaim claims the occurrence of a run that has not begun, or gives it up in the final
// state.
func (r *Ring) reclaim(p exchange.Progress) {
	slot, ok := r.host.Jobs.FindRing(p.Key)
	if !ok {
		return
	}
	c := r.claims[p.Occurrence]
	switch {
	case r.departing && r.isForOthers(slot):
		r.releasing = append(r.releasing, p)
		r.revoke(p.Occurrence, job.HandedOver, "")
		return
	case c != nil && (c.state == asked || c.state == outdated || c.isAwaited() && c.at >= 0):
		if !c.isAwaited() {
			c.purpose, c.reason = resumes, ""
		}
		return
	case c != nil:
		r.forget(c)
	}
	c = &claim{Occurrence: p.Occurrence, slot: slot, at: -1, state: waiting, purpose: resumes}
	r.park(c, r.now.Up)
}

// depart collects the occurrences that have not begun. Anything granted after the final state
// does not begin here, because the state that the others receive must be final. Before that, it
// repeats the claims that the voters may have granted and that no other member it sees could
// take over. It gives up the others, too, in case they were granted.
func (r *Ring) depart() {
	if r.ranking == nil {
		r.emit(holders.Unstarted{})
		return
	}
	r.departed, r.departing = true, true
	r.settleUntil = r.now.In(settleTime)
	for _, c := range slices.SortedFunc(maps.Values(r.claims), func(a, b *claim) int { return a.Compare(b.Occurrence) }) {
		if c.isAwaited() {
			if !c.open && (c.state == asked || c.state == outdated) { // nobody answers it any longer
				r.enter(c, waiting)
				r.park(c, r.now.Up)
			}
			continue
		}
		o, ok := r.optionsOf(c)
		onlyHere := ok && c.open && !r.host.Draining && !r.isForOthers(c.slot)
		switch {
		case !onlyHere && c.mayBeGivenUp():
			r.releasing = append(r.releasing, c.taken())
			r.forget(c)
		case !onlyHere:
			r.forget(c)
		case c.state < asked && o.Quorum <= len(r.ranking.Members):
			heap.Remove(&r.queue, c.at)
			r.send(c, r.isStrict(o))
		}
	}
	r.answer(exchange.Recheck{Of: func(slot int) bool { return r.isForOthers(slot) }})
}

// settled reports whether this member can send its final state: the voters have answered, or
// have had enough time. A claim that they have not decided by then stays undecided here.
func (r *Ring) settled() bool {
	if r.now.Up >= r.settleUntil || r.host.Draining {
		return true
	}
	for _, c := range r.claims {
		if !c.isAwaited() && c.state == asked {
			return false
		}
	}
	return true
}

// isForOthers reports whether another member may take over an occurrence that has not begun here, and could not
// start on some members. If this member has left already, the others treat it as dead. They cannot take over
// what the voters granted to it.
func (r *Ring) isForOthers(slot int, tried ...string) bool {
	members := r.ranking
	if members == nil {
		members = r.former[len(r.former)-1]
		if r.isStrict(r.host.Jobs.Options(slot)) {
			return false
		}
	}
	return members.hasOther(r.host.Jobs, slot, tried...)
}

func (r *Ring) revoke(o exchange.Occurrence, reason job.Reason, host string) {
	if c := r.claims[o]; c != nil {
		r.forget(c)
	}
	r.answer(exchange.Revoke{Occurrence: o, Reason: reason, Host: host})
}

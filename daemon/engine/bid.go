package engine

import (
	"container/heap"
	"fmt"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/register"
)

// Limits for bids that neither members nor voters could decide.
const (
	longestPause = 30 * time.Second // between two claims to voters that do not answer
	mostStalled  = 100              // per job, of bids that are on time
)

// bidState is the state of an occurrence that this member may take, until a grant makes it
// a run.
type bidState uint8

// The states.
const (
	unranked bidState = iota // it waits for the time at which this member computes its rank
	parked                   // it waits for its turn, or for the time to repeat the claim
	asked                    // it is claimed, and Claimed has not come yet
	outdated                 // likewise, but this member was suspended meanwhile: a grant does not count
)

// bid is an occurrence that this member may take.
type bid struct {
	register.Occurrence
	slot      int           // its job in Engine.jobs; see optionsOf
	until     time.Duration // Moment.Up
	at        int           // index in the queue; -1: not in it
	state     bidState
	missed    bool             // other members may consider it decided, so this one never drops the bid
	again     bool             // see register.Claim
	since     time.Time        // for a run of the previous daemon: when that daemon was last alive
	run       *run             // the run whose occurrence is claimed again; nil: no run exists yet
	orphan    *register.Report // the occurrence is claimed because the member that took it is gone; nil: it is not
	ifRefused *register.Report // an orphan that was reported after the claim
	skips     []missed         // older occurrences that are skipped with it
	tries     int
	waiting   string // why it waits, once a claim was not decided
	token     uint64
}

func (b *bid) before(x *bid) bool {
	return b.until < x.until || b.until == x.until && (b.slot < x.slot || b.slot == x.slot && b.Due < x.Due)
}

func (b *bid) stand(at int) { b.at = at }

func (e *Engine) newBid(slot int, due time.Time) *bid {
	return &bid{Occurrence: register.OccurrenceOf(e.jobs.RingKey(slot), due), slot: slot, at: -1}
}

// compete ranks this member for an occurrence as of an instant, and makes it bid at the
// time of its rank.
func (e *Engine) compete(b *bid, as time.Time) {
	rank, nobody := e.ring.seats.spot(e.jobs, b.slot, b.Time())
	switch {
	case rank >= 0 && (rank < ranks || b.missed):
		b.state = parked
		as = as.Add(time.Duration(rank) * e.ring.holdOff())
		e.ring.park(b, max(e.now.Up, e.upAt(as)))
	case nobody:
		e.skip(e.firing(b.slot), b.Time(), b.Time(), 1, job.NoMember, "")
	}
}

// park makes a bid wait until a time. If there is another bid for the occurrence, it
// keeps that one.
func (r *ring) park(b *bid, until time.Duration) {
	if x := r.bids[b.Occurrence]; x != nil && x != b {
		return
	}
	r.bids[b.Occurrence] = b
	b.until = until
	if b.at < 0 {
		heap.Push(&r.queue, b)
	} else {
		heap.Fix(&r.queue, b.at)
	}
}

// forget removes a bid.
func (r *ring) forget(b *bid) {
	delete(r.bids, b.Occurrence)
	if b.at >= 0 {
		heap.Remove(&r.queue, b.at)
	}
	if b.tries > 0 {
		rest := slices.DeleteFunc(r.stalled[b.Key], func(x *bid) bool { return x == b })
		if r.stalled[b.Key] = rest; len(rest) == 0 {
			delete(r.stalled, b.Key)
		}
	}
}

// bidAll makes the claims whose time has come, as far as the step has room.
func (e *Engine) bidAll() {
	r := e.ring
	if r.suspended || r.departed || e.draining {
		return
	}
	for room := stepSize * e.pace; room > 0 && len(r.queue) > 0 && r.queue[0].until <= e.now.Up; room-- {
		e.bid(heap.Pop(&r.queue).(*bid))
	}
}

// bid claims an occurrence whose time has come.
func (e *Engine) bid(b *bid) {
	o, ok := e.optionsOf(b)
	switch {
	case !ok:
		e.ring.forget(b)
	case b.run != nil:
		e.claimFor(b, o)
	case b.state == unranked:
		e.ring.forget(b)
		e.compete(b, e.now.Wall)
	case b.tries > 0 && o.Deadline > 0 && e.now.Wall.Sub(b.Time()) > o.Deadline:
		e.ring.forget(b)
		e.skip(e.firing(b.slot), b.Time(), b.Time(), 1, job.PastDeadline, b.waiting)
	default:
		e.claimFor(b, o)
	}
}

// claimFor claims an occurrence, unless the ring has too few members for quorum=.
func (e *Engine) claimFor(b *bid, o *crontab.Options) {
	r := e.ring
	ledger := r.mode == Strict && o.Partitioned != crontab.PartitionedRun
	if ledger && o.Quorum > 0 && len(r.seats.Members) < o.Quorum {
		e.stall(b, fmt.Sprintf("%d members are to be seen, and quorum=%d", len(r.seats.Members), o.Quorum))
		return
	}
	if ledger { // first, older ones: otherwise a crash after b was decided would lose them
		for _, x := range r.stalled[b.Key] {
			if _, ok := e.optionsOf(x); ok && x.run == nil && x.state < asked && x.Due < b.Due {
				heap.Remove(&r.queue, x.at)
				e.claim(x, ledger)
			}
		}
	}
	e.claim(b, ledger)
}

// claim sends the claim for an occurrence.
func (e *Engine) claim(b *bid, ledger bool) {
	b.state = asked
	claim := register.Claim{Occurrence: b.Occurrence, Again: b.again, Ledger: ledger}
	if b.orphan != nil {
		claim.From = b.orphan.Member
	}
	e.emitToRing(claim)
}

// optionsOf returns the current options of a bid's job. ok is false if this member cannot
// bid for the job any longer.
func (e *Engine) optionsOf(b *bid) (o *crontab.Options, ok bool) {
	if b.slot, ok = e.jobs.FindRing(b.Key); !ok {
		return nil, false
	}
	o = e.jobs.Options(b.slot)
	return o, o.Enabled && o.Held == ""
}

// claimed handles the answer to a claim.
func (e *Engine) claimed(ev register.Claimed) {
	b := e.ring.bids[ev.Occurrence]
	if b == nil || b.state < asked {
		return
	}
	counts := b.state == asked
	b.state = parked
	switch {
	case ev.Grant == register.Granted && e.ring.departed: // the others take it over
		e.ring.forget(b)
		if b.run != nil {
			b.run.bid = nil
		}
	case ev.Grant == register.Granted && !counts: // others may have treated it as an orphan meanwhile
		b.again = true
		e.ring.park(b, e.now.Up)
	case ev.Grant == register.Granted:
		e.ring.forget(b)
		e.granted(b, ev.Token)
	case ev.Grant == register.Refused:
		e.ring.forget(b)
		if r := b.run; r != nil {
			r.bid = nil
			e.yield(r, e.ring.hostOf(ev.By))
		} else if slot, ok := e.jobs.FindRing(b.Key); ok && b.ifRefused != nil {
			e.inherit(slot, b.ifRefused)
		}
	case ev.By != "":
		e.stall(b, "it is not due yet by the clock of "+e.ring.hostOf(ev.By))
	default:
		e.stall(b, "")
	}
}

// granted decides an occurrence that was granted to this member, as a host without a ring
// would.
func (e *Engine) granted(b *bid, token uint64) {
	b.token = token
	if r := b.run; r != nil {
		r.bid, r.Token, r.tokenAt = nil, token, e.now.Up
		if !b.since.IsZero() {
			e.goOnWaiting(r, b.since)
		}
		if e.live[r.ID] == r {
			e.resumeShared(r)
		}
		return
	}
	if _, ok := e.optionsOf(b); !ok {
		return
	}
	j := e.firing(b.slot)
	j.bid = b
	for _, m := range b.skips {
		e.skip(j, m.first, m.due, m.count, m.reason, lateness(e.now.Wall, m.due))
	}
	if r := e.decideShared(j, b); r == nil {
		e.emitToRing(register.Progress{Occurrence: b.Occurrence, Phase: register.Over})
	}
}

func (e *Engine) decideShared(j *firing, b *bid) *run {
	due := b.Time()
	if reason, detail := e.standing(j); reason != "" {
		e.skip(j, due, due, 1, reason, detail)
		return nil
	}
	if b.orphan != nil && b.orphan.Left {
		return e.takeOver(j, b)
	}
	if began(b.orphan) {
		return e.admit(j, due, job.TriggerRetry, job.Rerun)
	}
	p := catchup(j.options, crontab.FixedTime(j.entry.Schedule), []time.Time{due}, e.now.Wall)
	switch {
	case p.tooLate == 1:
		e.skip(j, due, due, 1, job.PastDeadline, lateness(e.now.Wall, due))
		return nil
	case p.missed == 1:
		e.skip(j, due, due, 1, p.reason, lateness(e.now.Wall, due))
		return nil
	case p.onTime == 1:
		return e.admit(j, due, job.TriggerCatchup, job.CaughtUp)
	}
	return e.admit(j, due, job.TriggerClock, job.OnTime)
}

// stall makes a bid that could not be decided wait, longer each time. For each job it
// keeps the bids that are still on time, and as many as catchup= catches up.
func (e *Engine) stall(b *bid, why string) {
	r := e.ring
	if b.tries == 0 {
		r.stalled[b.Key] = append(r.stalled[b.Key], b)
	}
	b.waiting = why
	pause := min(e.ring.holdOff()/4<<min(b.tries, 10), longestPause)
	b.tries++
	r.park(b, e.in(pause))
	o, ok := e.optionsOf(b)
	if !ok {
		return
	}
	keep := 1
	if o.Catchup == crontab.CatchupAll {
		keep = max(keep, o.MaxMade)
	}
	for i := 0; i < len(r.stalled[b.Key]) && len(r.stalled[b.Key]) > keep; {
		x := r.stalled[b.Key][i]
		fresh := e.now.Wall.Sub(x.Time()) <= o.Grace && len(r.stalled[b.Key]) <= mostStalled
		if x.run != nil || x.state >= asked || fresh {
			i++
			continue
		}
		r.forget(x)
		e.skip(e.firing(b.slot), x.Time(), x.Time(), 1, job.NoQuorum, x.waiting)
	}
}

// Bid is an occurrence of a ring job whose owner could not be decided yet.
type Bid struct {
	Job job.ID
	Due time.Time
	Why string // "": the voters did not answer
}

// Bids returns the occurrences whose owner could not be decided yet.
func (v *View) Bids() []Bid { return v.bids }

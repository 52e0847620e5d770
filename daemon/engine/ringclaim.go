package engine

import (
	"container/heap"
	"fmt"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/register"
)

// Limits for claims that neither members nor voters could decide.
const (
	longestPause = 30 * time.Second // between two claims to voters that do not answer
	mostStalled  = 100              // per job, of claims that are on time
)

// claimState is the state of a ringClaim, until a grant makes it a run.
type claimState uint8

// The states.
const (
	unranked claimState = iota // it waits for the time at which this member computes its rank
	parked                     // it waits for its turn, or for the time to repeat the claim
	asked                      // it is claimed, and Claimed has not come yet
	outdated                   // likewise, but this member was suspended meanwhile: a grant does not count
)

// ringClaim is this member's claim for an occurrence of the ring, which it may not have sent
// yet.
type ringClaim struct {
	register.Occurrence
	slot      int           // its job in Engine.jobs; see optionsOf
	until     time.Duration // Moment.Up
	at        int           // index in the queue; -1: not in it
	state     claimState
	missed    bool             // other members may consider it decided, so this one never drops the claim
	again     bool             // see register.Claim
	since     time.Time        // for a run of the previous daemon: when that daemon was last alive
	run       *run             // the run whose occurrence is claimed again; nil: no run exists yet
	orphan    *register.Report // the occurrence is claimed because the member that took it is gone; nil: it is not
	ifRefused *register.Report // an orphan that was reported after the claim
	skips     []missed         // older occurrences that are skipped with it
	reason    job.Reason       // why its own occurrence is skipped; "": it is not, see claimOlder
	tries     int
	waiting   string // why it waits, once a claim was not decided
	token     uint64
}

func (c *ringClaim) before(x *ringClaim) bool {
	return c.until < x.until || c.until == x.until && (c.slot < x.slot || c.slot == x.slot && c.Due < x.Due)
}

func (c *ringClaim) stand(at int) { c.at = at }

func (e *Engine) newRingClaim(slot int, due time.Time) *ringClaim {
	return &ringClaim{Occurrence: register.OccurrenceOf(e.jobs.RingKey(slot), due), slot: slot, at: -1}
}

// compete ranks this member for an occurrence as of an instant, and makes it claim the
// occurrence at the time of its rank.
func (e *Engine) compete(c *ringClaim, as time.Time) {
	rank, nobody := e.ring.ranking.own(e.jobs, c.slot, c.Time())
	switch {
	case rank >= 0 && (rank < ranks || c.missed):
		c.state = parked
		as = as.Add(time.Duration(rank) * e.ring.holdOff())
		e.ring.park(c, max(e.now.Up, e.upAt(as)))
	case nobody:
		e.skipClaimed(c, job.NoMember, "")
	}
}

// skipClaimed skips the occurrence of a claim, and the older ones that are skipped with it.
func (e *Engine) skipClaimed(c *ringClaim, reason job.Reason, detail string) {
	j := e.firing(c.slot)
	e.skipWith(j, c)
	e.skip(j, c.Time(), c.Time(), 1, reason, detail)
}

// skipWith skips the older occurrences that are skipped with a claim.
func (e *Engine) skipWith(j *firing, c *ringClaim) {
	for _, m := range c.skips {
		e.skip(j, m.first, m.due, m.count, m.reason, lateness(e.now.Wall, m.due))
	}
}

// claimOlder handles the older occurrences that were to be skipped with a claim, after
// another member took the occurrence of that claim. Perhaps no member decided them, for
// instance because this one was suspended and all others were drained. So this member
// claims the newest of them to skip it, once all other members have had their turn. If
// another member has taken that one too, the next older one follows.
func (e *Engine) claimOlder(c *ringClaim) {
	slot, ok := e.jobs.FindRing(c.Key)
	last := len(c.skips) - 1
	if last < 0 || !ok {
		return
	}
	m := c.skips[last]
	older := e.newRingClaim(slot, m.due)
	older.reason, older.missed, older.state, older.skips = m.reason, true, parked, slices.Clip(c.skips[:last])
	if m.count > 1 && m.first.Before(m.due) {
		m.due, m.count = timetable.Previous(e.jobs.Entry(slot).Schedule, m.due), m.count-1
		older.skips = append(older.skips, m)
	}
	e.ring.park(older, max(e.now.Up, e.upAt(older.Time().Add(ranks*e.ring.holdOff()))))
}

// park makes a claim wait until a time. If there is another claim for the occurrence, it
// keeps that one.
func (r *ring) park(c *ringClaim, until time.Duration) {
	if x := r.claims[c.Occurrence]; x != nil && x != c {
		return
	}
	r.claims[c.Occurrence] = c
	c.until = until
	if c.at < 0 {
		heap.Push(&r.queue, c)
	} else {
		heap.Fix(&r.queue, c.at)
	}
}

// forget removes a claim.
func (r *ring) forget(c *ringClaim) {
	delete(r.claims, c.Occurrence)
	if c.at >= 0 {
		heap.Remove(&r.queue, c.at)
	}
	if c.tries > 0 {
		rest := slices.DeleteFunc(r.stalled[c.Key], func(x *ringClaim) bool { return x == c })
		if r.stalled[c.Key] = rest; len(rest) == 0 {
			delete(r.stalled, c.Key)
		}
	}
}

// claimAll makes the claims whose time has come, as far as the step has room.
func (e *Engine) claimAll() {
	r := e.ring
	if r.suspended || r.departed || e.draining {
		return
	}
	for room := stepSize * e.pace; room > 0 && len(r.queue) > 0 && r.queue[0].until <= e.now.Up; room-- {
		e.claimNow(heap.Pop(&r.queue).(*ringClaim))
	}
}

// claimNow handles a claim whose time has come.
func (e *Engine) claimNow(c *ringClaim) {
	o, ok := e.optionsOf(c)
	switch {
	case !ok:
		e.ring.forget(c)
	case c.run != nil:
		e.claimFor(c, o)
	case c.state == unranked:
		e.ring.forget(c)
		e.compete(c, e.now.Wall)
	case c.tries > 0 && o.Deadline > 0 && e.now.Wall.Sub(c.Time()) > o.Deadline:
		e.ring.forget(c)
		e.skipClaimed(c, job.PastDeadline, c.waiting)
	default:
		e.claimFor(c, o)
	}
}

// claimFor claims an occurrence, unless the ring has too few members for quorum=.
func (e *Engine) claimFor(c *ringClaim, o *option.Options) {
	r := e.ring
	ledger := r.mode == Strict && o.Partitioned != option.PartitionedRun
	if ledger && o.Quorum > 0 && len(r.ranking.Members) < o.Quorum {
		e.stall(c, fmt.Sprintf("%d members are to be seen, and quorum=%d", len(r.ranking.Members), o.Quorum))
		return
	}
	if ledger { // first, older ones: otherwise a crash after c was decided would lose them
		for _, x := range r.stalled[c.Key] {
			if _, ok := e.optionsOf(x); ok && x.run == nil && x.state < asked && x.Due < c.Due {
				heap.Remove(&r.queue, x.at)
				e.claim(x, ledger)
			}
		}
	}
	e.claim(c, ledger)
}

// claim sends the claim for an occurrence.
func (e *Engine) claim(c *ringClaim, ledger bool) {
	c.state = asked
	claim := register.Claim{Occurrence: c.Occurrence, Again: c.again, Ledger: ledger}
	if c.orphan != nil {
		claim.From = c.orphan.Member
	}
	e.emitToRing(claim)
}

// optionsOf returns the current options of a claim's job. ok is false if this member cannot
// run the job any longer.
func (e *Engine) optionsOf(c *ringClaim) (o *option.Options, ok bool) {
	if c.slot, ok = e.jobs.FindRing(c.Key); !ok {
		return nil, false
	}
	o = e.jobs.Options(c.slot)
	return o, o.Enabled && o.Held == ""
}

// claimed handles the answer to a claim.
func (e *Engine) claimed(ev register.Claimed) {
	c := e.ring.claims[ev.Occurrence]
	if c == nil || c.state < asked {
		return
	}
	counts := c.state == asked
	c.state = parked
	switch {
	case ev.Grant == register.Granted && e.ring.departed: // the others take it over
		e.ring.forget(c)
		if c.run != nil {
			c.run.ringClaim = nil
		}
	case ev.Grant == register.Granted && !counts: // others may have treated it as an orphan meanwhile
		c.again = true
		e.ring.park(c, e.now.Up)
	case ev.Grant == register.Granted:
		e.ring.forget(c)
		e.granted(c, ev.Token)
	case ev.Grant == register.Refused:
		e.ring.forget(c)
		if r := c.run; r != nil {
			r.ringClaim = nil
			e.dropForOther(r, e.ring.hostOf(ev.By))
		} else if slot, ok := e.jobs.FindRing(c.Key); ok && c.ifRefused != nil {
			e.inherit(slot, c.ifRefused)
		}
		e.claimOlder(c)
	case ev.By != "":
		e.stall(c, "it is not due yet by the clock of "+e.ring.hostOf(ev.By))
	default:
		e.stall(c, "")
	}
}

// granted decides an occurrence that was granted to this member, as a host without a ring
// would.
func (e *Engine) granted(c *ringClaim, token uint64) {
	c.token = token
	if r := c.run; r != nil {
		r.ringClaim, r.Token, r.tokenAt = nil, token, e.now.Up
		if !c.since.IsZero() {
			e.goOnWaiting(r, c.since)
		}
		if e.live[r.ID] == r {
			e.resumeShared(r)
		}
		return
	}
	if _, ok := e.optionsOf(c); !ok {
		return
	}
	j := e.firing(c.slot)
	j.granted = c
	e.skipWith(j, c)
	if r := e.decideShared(j, c); r == nil {
		e.emitToRing(register.Progress{Occurrence: c.Occurrence, Phase: register.Over})
	}
}

func (e *Engine) decideShared(j *firing, c *ringClaim) *run {
	due := c.Time()
	if c.reason != "" {
		e.skip(j, due, due, 1, c.reason, lateness(e.now.Wall, due))
		return nil
	}
	if reason, detail := e.standing(j); reason != "" {
		e.skip(j, due, due, 1, reason, detail)
		return nil
	}
	if c.orphan != nil && c.orphan.Left {
		return e.takeOver(j, c)
	}
	if began(c.orphan) {
		return e.admit(j, due, job.TriggerRetry, job.Rerun)
	}
	p := catchup(j.options, timetable.FixedTime(j.entry.Schedule), []time.Time{due}, e.now.Wall)
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

// stall makes a claim that could not be decided wait, longer each time. For each job it
// keeps the claims that are still on time, and as many as catchup= catches up.
func (e *Engine) stall(c *ringClaim, why string) {
	r := e.ring
	if c.tries == 0 {
		r.stalled[c.Key] = append(r.stalled[c.Key], c)
	}
	c.waiting = why
	pause := min(e.ring.holdOff()/4<<min(c.tries, 10), longestPause)
	c.tries++
	r.park(c, e.in(pause))
	o, ok := e.optionsOf(c)
	if !ok {
		return
	}
	keep := 1
	if o.Catchup == option.CatchupAll {
		keep = max(keep, o.MaxMade)
	}
	for i := 0; i < len(r.stalled[c.Key]) && len(r.stalled[c.Key]) > keep; {
		x := r.stalled[c.Key][i]
		fresh := e.now.Wall.Sub(x.Time()) <= o.Grace && len(r.stalled[c.Key]) <= mostStalled
		if x.run != nil || x.state >= asked || fresh {
			i++
			continue
		}
		r.forget(x)
		e.skipClaimed(x, job.NoQuorum, x.waiting)
	}
}

// Undecided is an occurrence of a ring job whose owner could not be decided yet.
type Undecided struct {
	Job job.ID
	Due time.Time
	Why string // "": the voters did not answer
}

// Undecided returns the occurrences whose owner could not be decided yet.
func (v *View) Undecided() []Undecided { return v.undecided }

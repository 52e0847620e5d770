package claims

import (
	"container/heap"
	"math"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/holders"
)

// Limits for claims that neither members nor voters could decide.
const (
	longestPause = 30 * time.Second // between two claims to voters that do not answer
	memberPause  = 2 * time.Second  // likewise, to a member that does not agree yet
	mostStalled  = 100              // per job, of claims that are on time
	settleTime   = time.Second      // for the voters to answer before this member leaves
)

// state is the state of a claim.
type state uint8

// The states.
const (
	unranked state = iota // it was missed, and waits for the time at which this member computes its rank
	waiting               // it waits for its turn, or for the time to repeat the claim
	asked                 // it is claimed, and Claimed has not come yet
	outdated              // likewise, but this member was suspended meanwhile: a grant does not count
	granted               // this member has it, and has not begun it
	running               // this member has begun it
)

// purpose distinguishes the uses of a claim.
type purpose uint8

// The purposes.
const (
	starts purpose = iota // run the occurrence here
	skips                 // skip it; see claimOlder

	// The engine waits for the answers to these; see isAwaited.
	resumes // continue a run of it that waits here
	records // record that no member could start it; see awaitOthers
)

// claim is this member's claim for an occurrence, which it may not have sent yet. It ends when
// the occurrence is over, or when another member has it.
type claim struct {
	exchange.Occurrence
	slot    int           // its job in Host.Jobs; see optionsOf
	until   time.Duration // Moment.Up
	at      int           // index in the queue; -1: not in it
	state   state
	purpose purpose
	reason  job.Reason // why nothing starts; only of skips and records
	open    bool       // it was sent to the voters, who may have granted it: their answer is not known

	wasGranted bool            // the grant did not count, or the claim waits for an older one
	orphan     *holders.Report // the occurrence is claimed because the member that took it is gone; nil: it is not
	later      *holders.Report // a newer report of this occurrence, which arrived while the claim was under way
	skips      []exchange.Skip // older occurrences that are skipped with it

	tries int
	why   job.Detail // why it waits, once a claim was not decided
}

// isAwaited reports whether the engine waits for the answer.
func (c *claim) isAwaited() bool { return c.purpose >= resumes }

// isAgain reports whether the occurrence was taken before; see holders.Claim.
func (c *claim) isAgain() bool { return c.orphan != nil || c.wasGranted || c.isAwaited() }

// queue is a heap of claims for container/heap, ordered by their times, and those of the same time
// by job. Each claim knows its index in it.
type queue []*claim

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	c, x := q[i], q[j]
	return c.until < x.until || c.until == x.until && (c.slot < x.slot || c.slot == x.slot && c.Due < x.Due)
}

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].at, q[j].at = i, j
}

func (q *queue) Push(x any) {
	c := x.(*claim)
	c.at = len(*q)
	*q = append(*q, c)
}

func (q *queue) Pop() any {
	last := len(*q) - 1
	c := (*q)[last]
	c.at = -1
	(*q)[last] = nil
	*q = (*q)[:last]
	return c
}

// due makes this member compete for a due occurrence.
func (r *Ring) due(m exchange.Due) {
	slot, ok := r.host.Jobs.FindRing(m.Key)
	if !ok || r.ranking == nil {
		return
	}
	c := &claim{Occurrence: m.Occurrence, slot: slot, at: -1, skips: m.Skips}
	switch {
	case !m.Missed:
		r.compete(c, c.Time(), ranks)
	case r.now.Up < r.shares && len(r.ranking.Members) > 1:
		r.park(c, r.shares)
	default:
		r.compete(c, r.now.Wall, anyRank)
	}
}

// anyRank is for missed occurrences: the other members may consider them decided.
const anyRank = math.MaxInt

// compete ranks this member for an occurrence as of an instant. If its rank is below a limit, it claims the
// occurrence at the time of its rank.
func (r *Ring) compete(c *claim, as time.Time, limit int) {
	var tried []string
	if c.orphan != nil {
		tried = c.orphan.Tried
	}
	rank, nobody := r.ranking.own(r.host.Jobs, c.slot, c.Time(), tried)
	switch {
	case rank >= 0 && rank < limit:
		r.enter(c, waiting)
		as = as.Add(time.Duration(rank) * r.holdOff())
		r.park(c, max(r.now.Up, r.now.UpAt(as)))
	case nobody:
		r.deny(c, job.NoMember, "")
	case slices.Contains(tried, r.ranking.Self):
		r.awaitOthers(c)
	}
}

func (r *Ring) deny(c *claim, reason job.Reason, detail job.Detail) {
	r.answer(exchange.Deny{Occurrence: c.Occurrence, Reason: reason, Detail: detail, Skips: c.skips})
}

// claimOlder handles the older occurrences that were to be skipped with a claim, after
// another member took the occurrence of that claim. Perhaps no member decided them, for
// instance because this one was suspended and all others were drained. So this member
// claims the newest of them to skip it, once all other members have had their turn. If
// another member has taken that one too, the next older one follows.
func (r *Ring) claimOlder(c *claim) {
	slot, ok := r.host.Jobs.FindRing(c.Key)
	last := len(c.skips) - 1
	if last < 0 || !ok {
		return
	}
	s := c.skips[last]
	older := &claim{
		Occurrence: exchange.OccurrenceOf(c.Key, s.Due), slot: slot, at: -1, state: waiting,
		purpose: skips, reason: s.Reason, skips: slices.Clip(c.skips[:last]),
	}
	if s.Count > 1 && s.First.Before(s.Due) {
		s.Due, s.Count = timetable.Previous(r.host.Jobs.Entry(slot).Schedule, s.Due), s.Count-1
		older.skips = append(older.skips, s)
	}
	r.park(older, max(r.now.Up, r.now.UpAt(older.Time().Add(ranks*r.holdOff()))))
}

// park makes a claim wait until a time. If there is another claim for the occurrence, it
// keeps that one.
func (r *Ring) park(c *claim, until time.Duration) {
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

// enter changes the state of a claim.
func (r *Ring) enter(c *claim, s state) {
	if c.state >= granted {
		r.granted--
	}
	if c.open && c.state >= asked && c.state < granted {
		remove(r.asking, c)
	}
	if c.open && s == asked {
		r.asking[c.Key] = append(r.asking[c.Key], c)
	}
	if c.state = s; s >= granted {
		r.granted++
	}
}

// forget removes a claim.
func (r *Ring) forget(c *claim) {
	r.enter(c, waiting)
	delete(r.claims, c.Occurrence)
	if c.at >= 0 {
		heap.Remove(&r.queue, c.at)
	}
	r.unstall(c)
}

// unstall removes a claim from those that were not decided.
func (r *Ring) unstall(c *claim) {
	if c.tries > 0 {
		c.tries = 0
		remove(r.stalled, c)
	}
}

func remove(from map[job.Key][]*claim, c *claim) {
	rest := slices.DeleteFunc(from[c.Key], func(x *claim) bool { return x == c })
	if from[c.Key] = rest; len(rest) == 0 {
		delete(from, c.Key)
	}
}

// claimAll makes the claims whose time has come.
func (r *Ring) claimAll() {
	if r.suspended || r.departed || r.host.Draining {
		return
	}
	for room := mostClaims; room > 0 && len(r.queue) > 0 && r.queue[0].until <= r.now.Up; room-- {
		r.claimNow(heap.Pop(&r.queue).(*claim))
	}
}

// claimNow handles a claim whose time has come.
func (r *Ring) claimNow(c *claim) {
	o, ok := r.optionsOf(c)
	switch {
	case o == nil || !ok && !c.isAwaited():
		r.forget(c)
		if c.mayBeGivenUp() {
			r.release(c)
		}
	case c.state == waiting && !c.open && !c.isAgain() && c.skipsNothing() && !r.isCandidate(c.slot) && r.ranking.hasOtherCandidate(r.host.Jobs, c.slot):
		r.forget(c) // the user was removed from this host since the occurrence was due: the others claim it
	case c.isAwaited(): // the engine waits for the answer, even if the job is disabled or held meanwhile
		r.claimFor(c, o)
	case c.state == unranked:
		r.forget(c)
		r.compete(c, r.now.Wall, anyRank)
	case c.tries > 0 && o.Deadline > 0 && r.now.Wall.Sub(c.Time()) > o.Deadline:
		r.forget(c)
		r.deny(c, job.PastDeadline, c.why)
	default:
		r.claimFor(c, o)
	}
}

// claimFor claims an occurrence, unless the ring has too few members for quorum=.
func (r *Ring) claimFor(c *claim, o *option.Options) {
	ledger := r.isStrict(o)
	if ledger && o.Quorum > 0 && len(r.ranking.Members) < o.Quorum {
		r.stall(c, longestPause, job.DetailFewMembers(len(r.ranking.Members), o.Quorum))
		return
	}
	if ledger { // first, older ones: otherwise a crash after c was decided would lose them
		for _, x := range r.stalled[c.Key] {
			if _, ok := r.optionsOf(x); ok && !x.isAwaited() && x.state < asked && x.Due < c.Due {
				heap.Remove(&r.queue, x.at)
				r.send(x, ledger)
			}
		}
	}
	r.send(c, ledger)
}

// isStrict reports whether the voters grant the occurrences of a job.
func (r *Ring) isStrict(o *option.Options) bool {
	return r.host.Strict && o.Partitioned != option.PartitionedRun
}

// send sends the claim for an occurrence.
func (r *Ring) send(c *claim, ledger bool) {
	c.open = ledger
	r.enter(c, asked)
	q := holders.Claim{Occurrence: c.Occurrence, Again: c.isAgain(), Ledger: ledger}
	if c.orphan != nil {
		q.From, q.GaveUp = c.orphan.Member, c.orphan.Started
	}
	r.emit(q)
}

// optionsOf returns the current options of a claim's job, or nil if the job was removed. ok is false if
// this member cannot run the job any longer.
func (r *Ring) optionsOf(c *claim) (o *option.Options, ok bool) {
	if c.slot, ok = r.host.Jobs.FindRing(c.Key); !ok {
		return nil, false
	}
	o = r.host.Jobs.Options(c.slot)
	return o, o.Enabled && o.Held == ""
}

// claimed handles the answer to a claim.
func (r *Ring) claimed(ev holders.Claimed) {
	c := r.claims[ev.Occurrence]
	if c == nil || c.state != asked && c.state != outdated {
		return
	}
	counts := c.state == asked
	r.enter(c, waiting)
	if x := c.later; r.ranking != nil && c.orphan != nil && x != nil && x.GivenUp && !slices.Contains(x.Tried, r.ranking.Self) && ev.Grant != holders.Refused {
		c.orphan, c.later = following(c.orphan, x), nil // the newer report counts, for instance, more attempts
	}
	switch {
	case ev.Grant == holders.Granted && r.departed && !r.departing && !c.isAwaited(): // the final state lacks it
		r.stall(c, longestPause, "")
	case ev.Grant == holders.Granted && !counts: // others may have treated it as an orphan meanwhile
		c.wasGranted = true
		r.park(c, r.now.Up)
	case ev.Grant == holders.Granted && r.awaitsOlder(c):
		c.wasGranted = true
		r.stall(c, longestPause, job.DetailAwaitsOlder)
	case ev.Grant == holders.Granted:
		r.permit(c, ev.Token)
	case ev.Grant == holders.Refused:
		r.forget(c)
		if c.isAwaited() {
			r.revoke(c.Occurrence, job.OtherMember, r.hostOf(ev.By))
		}
		if c.later != nil {
			r.orphaned([]holders.Report{*c.later})
		}
		r.claimOlder(c)
	case ev.By != "":
		r.stall(c, memberPause, job.DetailNoAgreement(r.hostOf(ev.By)))
	default:
		r.stall(c, longestPause, "")
	}
}

// awaitsOlder reports whether the voters may have granted an older occurrence of the job, too, and their
// answer is not known here: it is in an earlier request. If c were decided first, a crash would lose the
// older occurrence, because this member would not claim it again, and the voters refuse it to the others.
func (r *Ring) awaitsOlder(c *claim) bool {
	isOlder := func(x *claim) bool { return x.open && !x.isAwaited() && x.Due < c.Due }
	return c.open && !c.isAwaited() && (slices.ContainsFunc(r.asking[c.Key], isOlder) || slices.ContainsFunc(r.stalled[c.Key], isOlder))
}

// taken returns the progress of an occurrence that this member has, and has not begun.
func (c *claim) taken() exchange.Progress {
	p := exchange.Progress{Occurrence: c.Occurrence, Phase: exchange.Taken}
	if c.orphan != nil {
		p.Attempt, p.Lost = c.orphan.Attempt, c.orphan.Lost
	}
	return p
}

// mayBeGivenUp reports whether this member can leave the occurrence of a claim to the others, and must: it was
// granted before, or the voters may have granted it. A claim that skips anything is not given up: the others do
// not know what it skips.
func (c *claim) mayBeGivenUp() bool { return (c.open || c.wasGranted) && c.skipsNothing() }

func (c *claim) skipsNothing() bool { return c.reason == "" && len(c.skips) == 0 }

// tried returns the members on which the occurrence could not start.
func (c *claim) tried() []string {
	if c.orphan == nil {
		return nil
	}
	return c.orphan.Tried
}

// release gives up an occurrence that was granted to this member, or may have been. A claim that only skips
// its occurrence has nothing to give up.
func (r *Ring) release(c *claim) {
	if c.reason == "" {
		p := c.taken()
		p.GivenUp = true
		r.progress(p)
	}
}

// permit permits an occurrence that was granted to this member. If this member cannot run it any longer, for
// instance because the account was removed meanwhile, it leaves the occurrence to the others.
func (r *Ring) permit(c *claim, token uint64) {
	_, ok := r.optionsOf(c)
	if !c.isAwaited() && (!ok || c.skipsNothing() && !r.isCandidate(c.slot) && r.isForOthers(c.slot, c.tried()...)) {
		r.forget(c)
		r.release(c)
		return
	}
	p := exchange.Permit{Occurrence: c.Occurrence, Token: token, Reason: c.reason, Skips: c.skips}
	if x := c.orphan; x != nil {
		p.Orphan = &exchange.Orphan{Host: x.Host, Begun: began(x), Left: x.Left, Attempt: int(x.Attempt), Lost: int(x.Lost), Tried: x.Tried}
	}
	r.unstall(c)
	r.enter(c, granted)
	c.purpose, c.reason, c.orphan, c.later, c.skips = resumes, "", nil, nil, nil
	r.answer(p)
}

// stall makes a claim that could not be decided wait, each time twice as long until the pause is
// the longest one. For each job it keeps the claims that are still on time, and as many as catchup=
// catches up.
func (r *Ring) stall(c *claim, longest time.Duration, why job.Detail) {
	if c.tries == 0 {
		r.stalled[c.Key] = append(r.stalled[c.Key], c)
	}
	c.why = why
	pause := min(min(r.holdOff(), longest)/4<<min(c.tries, 10), longest)
	c.tries++
	r.park(c, r.now.In(pause))
	o, ok := r.optionsOf(c)
	if !ok {
		return
	}
	keep := 1
	if o.Catchup == option.CatchupAll {
		keep = max(keep, o.MaxMade)
	}
	for i := 0; i < len(r.stalled[c.Key]) && len(r.stalled[c.Key]) > keep; {
		x := r.stalled[c.Key][i]
		fresh := r.now.Wall.Sub(x.Time()) <= o.Grace && len(r.stalled[c.Key]) <= mostStalled
		if x.isAwaited() || x.wasGranted || x.state >= asked || fresh {
			i++
			continue
		}
		r.forget(x)
		r.deny(x, job.NoQuorum, x.why)
	}
}

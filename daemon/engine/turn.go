package engine

import (
	"container/heap"
	"fmt"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// An occurrence of a job of scope=ring is one member's. Each member ranks itself
// when it comes due (rank.go): the first claims it, and decides with the grant
// as a host that is alone does; the next three bid for it when they have waited a
// hold-off each, unless Others took it meanwhile. What was decided late, by
// whatever fault, is claimed by rank among the members of that moment, and the
// others are asked, as one of them may have it.
//
// A run that has not begun when this member was gone for a while, asleep or as
// its daemon was restarted, is claimed anew before it goes on: the others may
// have taken it for an orphan.
//
// A member that is about to leave hands over what it has not begun (leave.go).
//
// Nothing of this touches an era: an occurrence of a ring is (key, due) for ever,
// and a clock that is set back repeats none.

const (
	usualHoldOff = 2 * time.Second
	waryFor      = 10 * time.Second // after it was gone, a member trusts its own view no more than this
	longestPause = 30 * time.Second // between two questions to voters that do not answer
	mostStalled  = 100              // of one job that are on time
	mostEarly    = 1000             // words of orphans that are kept until the ring is known
)

// ring is what the engine knows of the ring that the host is in.
type ring struct {
	mode     RingMode
	seats    *seats // nil: not known yet
	bids     map[Occurrence]*bid
	queue    order[*bid]       // those that wait for their time
	stalled  map[uint64][]*bid // by key, the oldest first: those that nobody could decide
	unbegun  map[job.RunID]*run
	early    []Orphaned    // that came before seats
	expected time.Duration // Moment.Up at which the last step wanted the next one; 0: not known
	looked   time.Duration // Moment.Up of the last step
	wary     time.Duration // until then each claim asks the others
	leaves   time.Duration // Moment.Up from which this member owns nothing; 0: it stays
}

// bid is an occurrence that this member may take.
type bid struct {
	Occurrence
	jobs    *jobs // those in which slot is its job's
	slot    int32
	until   time.Duration // Moment.Up
	at      int           // where it stands in the queue; -1: nowhere
	rank    int
	ranked  bool // else it is, when it is its time
	late    bool
	again   bool
	asked   bool      // and Claimed is to come
	stale   bool      // this member was gone since it asked
	since   time.Time // of a run of the daemon before this one: when that was last seen
	run     *run      // one that is claimed anew, or given; nil: none is made yet
	gives   bool      // HandedOver is to come
	orphan  Orphan
	from    string   // the member that orphan was of
	heirs   *orphan  // what became an orphan after it was asked for
	skips   []missed // what is skipped along with it
	tries   int
	waiting string // why it waits, once nobody could decide it
	token   uint64
}

func (b *bid) before(x *bid) bool {
	return b.until < x.until || b.until == x.until && (b.slot < x.slot || b.slot == x.slot && b.Due.Before(x.Due))
}
func (b *bid) stand(at int) { b.at = at }

func newRing() *ring {
	return &ring{bids: map[Occurrence]*bid{}, stalled: map[uint64][]*bid{}, unbegun: map[job.RunID]*run{}}
}

func (r *ring) holdOff() time.Duration {
	if r.seats == nil || r.seats.HoldOff <= 0 {
		return usualHoldOff
	}
	return r.seats.HoldOff
}

// hostOf is the host's name of a member that is there, or else its ID.
func (r *ring) hostOf(id string) string {
	if r != nil && r.seats != nil {
		for i := range r.seats.Members {
			if m := &r.seats.Members[i]; m.ID == id {
				return m.Name
			}
		}
	}
	return id
}

// next is when the first bid is due. While a run of the ring has not begun, or a
// claim is not answered, it is no later than needed to see that this member was
// gone.
func (r *ring) next() (at time.Duration, ok bool) {
	if r == nil || r.seats == nil {
		return 0, false
	}
	if len(r.queue) > 0 {
		at, ok = r.queue[0].until, true
	}
	if r.leaves > r.looked && (!ok || r.leaves < at) {
		at, ok = r.leaves, true
	}
	if len(r.unbegun) > 0 || len(r.bids) > len(r.queue) {
		if look := r.looked + r.holdOff(); !ok || look < at {
			at, ok = look, true
		}
	}
	return at, ok
}

// isShared tells whether the occurrences of a job are those of a ring.
func (s *jobs) isShared(slot int32) bool { return s.entry(slot).Options().Scope == crontab.ScopeRing }

// isShared tells whether a run is of such an occurrence, rather than what a
// person asked for.
func (r *run) isShared() bool {
	if r.options.Scope != crontab.ScopeRing || r.asked() {
		return false
	}
	switch r.Trigger {
	case job.TriggerClock, job.TriggerCatchup, job.TriggerRetry:
		return true
	}
	return false
}

// eraOf is the era of what a job decides now.
func (e *Engine) eraOf(o *crontab.Options) job.Era {
	if o.Scope == crontab.ScopeRing {
		return 0
	}
	return e.era
}

// enroll takes up the mode that a load says.
func (e *Engine) enroll(mode RingMode) {
	switch {
	case mode == NoRing && e.ring != nil:
		for _, b := range e.ring.bids {
			if b.run != nil {
				b.run.bid = nil
			}
		}
		e.ring = nil
	case mode != NoRing && e.ring == nil:
		e.ring = newRing()
	}
	if e.ring != nil {
		e.ring.mode = mode
	}
}

// joined takes in what the ring is now.
func (e *Engine) joined(ev Ring) {
	r := e.ring
	if r == nil {
		return
	}
	unknown := r.seats == nil
	r.seats = newSeats(ev.Membership)
	r.leaves = r.seats.leaves(e.now)
	for key, newest := range ev.Newest {
		slot, ok := e.jobs.sharedBy(key)
		if !ok {
			continue
		}
		if unknown {
			e.ranElsewhere(slot, newest)
		}
		// By a clock that is ahead: what comes before it may be this member's, and is
		// not due here yet.
		if ahead := newest.After(e.now.Wall); !ahead || unknown {
			e.marks[slot] = max(e.marks[slot], min(newest.UnixNano(), e.now.Wall.UnixNano()))
		}
	}
	if unknown && r.seats != nil {
		e.pending = slices.Compact(slices.Sorted(slices.Values(append(e.pending, e.behindShared()...))))
		early := r.early
		r.early = nil
		for _, ev := range early {
			e.orphaned(ev)
		}
	}
}

// behindShared lists the ring jobs with an occurrence that is due: none of them
// was decided before the ring was known.
func (e *Engine) behindShared() (slots []int32) {
	var seen lookup
	for _, slot := range e.jobs.shared {
		if due := seen.between(e.jobs.entry(slot).Schedule, e.marks[slot], e.now.Wall); !due.empty() {
			slots = append(slots, slot)
		}
	}
	return slots
}

// bidFor says whose turn the occurrences of a ring job are, and bids for those
// that may be this member's. It leaves to decide what needs no ring.
func (e *Engine) bidFor(slot int32, due occurrences) (handled bool) {
	o := e.jobs.options(slot)
	if !o.Enabled || o.Held != "" || e.ring == nil {
		return false
	}
	if e.ring.seats == nil { // undecided, until it is known
		return true
	}
	e.marks[slot] = due.last().UnixNano()
	if due.older == 0 && len(due.list) == 1 && !e.isLate(due.last()) {
		e.compete(e.newBid(slot, due.last()), due.last())
		return true
	}
	p := catchup(o, crontab.FixedTime(e.jobs.entry(slot).Schedule), due.list, e.now.Wall)
	p.missed = max(0, min(p.missed, len(due.list)-1)) // the newest tells of those before it, whatever becomes of it
	p.tooLate = min(p.tooLate, p.missed)
	skips := leftOut(due, p)
	for _, at := range due.list[p.missed:] {
		b := e.newBid(slot, at)
		b.late, b.skips = true, skips
		e.compete(b, e.now.Wall)
		skips = nil
	}
	if len(due.list) == 0 { // older than anybody counts
		b := e.newBid(slot, due.last())
		b.late = true
		e.compete(b, e.now.Wall)
	}
	return true
}

// isLate tells whether others may have had reason to take an occurrence.
func (e *Engine) isLate(due time.Time) bool { return e.now.Wall.Sub(due) >= e.ring.holdOff()/2 }

func (e *Engine) newBid(slot int32, due time.Time) *bid {
	return &bid{Occurrence: Occurrence{e.jobs.keys[slot], due}, jobs: e.jobs, slot: slot, at: -1}
}

// compete ranks this member for an occurrence as of an instant, and has it bid
// when it is its turn.
func (e *Engine) compete(b *bid, as time.Time) {
	spot := e.ring.seats.spot(e.jobs, b.slot, b.Due, as, b.giver())
	switch {
	case spot.rank >= 0:
		b.rank, b.ranked = spot.rank, true
		as = as.Add(time.Duration(spot.rank) * e.ring.holdOff())
	case spot.from.After(as):
		b.late, as = true, spot.from
	case spot.nobody:
		e.skip(e.firing(b.slot), b.Due, b.Due, 1, job.NoMember, "")
		return
	default:
		return
	}
	e.ring.park(b, e.now.Up+max(0, as.Sub(e.now.Wall)))
}

// park lets a bid wait. Where there is one for the occurrence, that stands.
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

// forget lets go of a bid.
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

// bidAll claims what is due to be claimed, as much as a step has room for.
func (e *Engine) bidAll() {
	r := e.ring
	if r == nil || r.seats == nil || e.draining {
		return
	}
	for room := stepSize; room > 0 && len(r.queue) > 0 && r.queue[0].until <= e.now.Up; room-- {
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
	case !b.ranked:
		e.ring.forget(b)
		e.compete(b, e.now.Wall)
	case e.ring.seats.Barred != "":
		e.ring.forget(b)
		if b.rank == 0 {
			e.skip(e.firing(b.slot), b.Due, b.Due, 1, job.MemberBarred, e.ring.seats.Barred)
		}
	case b.tries > 0 && o.Deadline > 0 && e.now.Wall.Sub(b.Due) > o.Deadline:
		e.ring.forget(b)
		e.skip(e.firing(b.slot), b.Due, b.Due, 1, job.PastDeadline, b.waiting)
	default:
		e.claimFor(b, o)
	}
}

// claimFor asks for an occurrence, unless the ring is too small to be asked.
func (e *Engine) claimFor(b *bid, o *crontab.Options) {
	r := e.ring
	ledger := r.mode == Strict && o.Partitioned != crontab.PartitionedRun
	if ledger && o.Quorum > 0 && len(r.seats.Members) < o.Quorum {
		e.stall(b, fmt.Sprintf("%d members are to be seen, and quorum=%d", len(r.seats.Members), o.Quorum))
		return
	}
	b.asked = true
	e.emit(Claim{
		Occurrence: b.Occurrence, Job: e.jobs.id(b.slot), Rank: b.rank, Again: b.again, Ledger: ledger,
		Late: b.late || b.rank > 0 || e.isLate(b.Due) || e.now.Up < r.wary || r.seats.differ(b.Key) || r.seats.wavers(e.jobs, b.slot, b.Due),
	})
}

// optionsOf is the options of a bid's job today. It is not ok if that has none
// to bid for any more.
func (e *Engine) optionsOf(b *bid) (o *crontab.Options, ok bool) {
	if b.jobs != e.jobs {
		if b.slot, ok = e.jobs.sharedBy(b.Key); !ok {
			return nil, false
		}
		b.jobs = e.jobs
	}
	o = e.jobs.options(b.slot)
	return o, o.Enabled && o.Held == ""
}

// claimed hears what became of a claim.
func (e *Engine) claimed(ev Claimed) {
	if e.ring == nil {
		return
	}
	b := e.ring.bids[ev.Occurrence]
	if b == nil || !b.asked {
		return
	}
	b.asked = false
	switch {
	case ev.Grant == Granted && b.stale: // it may have been taken for an orphan since
		b.stale, b.again, b.late = false, true, true
		e.ring.park(b, e.now.Up)
	case ev.Grant == Granted:
		e.ring.forget(b)
		e.granted(b, ev.Token)
	case ev.Grant == Refused:
		e.ring.forget(b)
		if r := b.run; r != nil {
			r.bid = nil
			e.yield(r, ev.By)
		} else if b.heirs != nil {
			e.inherit(b.slot, *b.heirs)
		}
	default:
		e.stall(b, "")
	}
}

// granted decides an occurrence that is this member's, as a host that is alone
// would.
func (e *Engine) granted(b *bid, token uint64) {
	b.token = token
	if r := b.run; r != nil {
		r.bid, r.Token = nil, token
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
		e.emit(Progress{Occurrence: b.Occurrence, Phase: Over, Verdict: job.VerdictSkip})
	}
}

func (e *Engine) decideShared(j *firing, b *bid) *run {
	due := b.Due
	if reason, detail := e.standing(j); reason != "" {
		e.skip(j, due, due, 1, reason, detail)
		return nil
	}
	if b.orphan.Given {
		return e.takeOver(j, b)
	}
	if b.orphan.began() {
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
		return e.admit(j, due, job.TriggerCatchup, job.MadeUp)
	}
	return e.admit(j, due, job.TriggerClock, job.OnTime)
}

// stall lets a bid that nobody could decide wait, longer each time. Of those of
// one job it keeps those that are on time yet, and as many as catchup= makes up.
func (e *Engine) stall(b *bid, why string) {
	r := e.ring
	if b.tries == 0 {
		r.stalled[b.Key] = append(r.stalled[b.Key], b)
	}
	b.waiting = why
	pause := min(e.ring.holdOff()/4<<min(b.tries, 10), longestPause)
	b.tries++
	r.park(b, e.now.Up+pause)
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
		fresh := e.now.Wall.Sub(x.Due) <= o.Grace && len(r.stalled[b.Key]) <= mostStalled
		if x.run != nil || x.asked || fresh {
			i++
			continue
		}
		r.forget(x)
		e.skip(e.firing(b.slot), x.Due, x.Due, 1, job.NoQuorum, x.waiting)
	}
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
		if slot, ok := e.jobs.sharedBy(o.Key); ok {
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
		slot, ok := e.jobs.sharedBy(o.Key)
		if !ok {
			continue
		}
		if r := e.liveOfOccurrence(o, slot); r != nil {
			e.yield(r, ev.By)
		}
	}
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
		slot, ok := e.jobs.sharedBy(x.Key)
		if ok && x.Phase != Over && e.liveOfOccurrence(x.Occurrence, slot) == nil {
			e.inherit(slot, orphan{x, ev.Member})
		}
	}
}

// orphan is one with the member that it was of.
type orphan struct {
	Orphan
	from string
}

// inherit bids for an orphan, unless it may have begun and is not to be run again.
// One that is asked for already comes next if that is refused, as by whoever does
// not know of its member's end.
func (e *Engine) inherit(slot int32, x orphan) {
	if due := x.Due; due.After(e.now.Wall.Add(waryFor)) || !e.jobs.entry(slot).Schedule.Next(due.Add(-1)).Equal(due) {
		return // nobody can have been to run that
	}
	o, own := e.jobs.options(slot), x.from == e.ring.seats.Self
	sure := own || x.Given || x.Phase == Taken && (e.ring.mode == Available || o.Partitioned == crontab.PartitionedRun)
	if !o.Enabled || o.Held != "" || !sure && (o.IfLost != crontab.LostReruns || x.Lost >= maxReruns) {
		return
	}
	if b := e.ring.bids[x.Occurrence]; b != nil {
		if b.asked {
			b.heirs = &x
			return
		}
		e.ring.forget(b)
	}
	b := e.newBid(slot, x.Due)
	b.late, b.again, b.orphan, b.from = true, true, x.Orphan, x.from
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

// liveOfOccurrence is the run of an occurrence that lives here, or nil.
func (e *Engine) liveOfOccurrence(o Occurrence, slot int32) *run {
	for _, r := range e.byJob[e.jobs.id(slot)] {
		if r.isShared() && r.Due.Equal(o.Due) {
			return r
		}
	}
	return nil
}

// doubled records that an occurrence ran twice in the ring.
func (e *Engine) doubled(ev Doubled) {
	slot, ok := e.jobs.sharedBy(ev.Key)
	if !ok {
		return
	}
	e.record(job.Record{
		Kind: job.Doubled, Job: e.jobs.id(slot), Due: ev.Due,
		Detail: fmt.Sprintf("%sran on %s too, as run %d", job.DoubledOf(ev.Due), e.ring.hostOf(ev.Member), ev.Run),
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
	b.run, b.late, b.again = r, true, true
	r.bid = b
	e.ring.park(b, e.now.Up)
}

// resumeShared goes on with a run whose occurrence was claimed anew.
func (e *Engine) resumeShared(r *run) {
	switch {
	case r.inLine():
		e.promote(r.Job)
	case r.Reason == job.WaitsForPlace:
		e.lineUp(r)
	case r.Reason == job.WaitsForCheck:
		if !r.asking && !e.goOn(r, job.RanAfterCheck) {
			e.promote(r.Job)
		}
	case r.waitsForParents():
		if !e.goOn(r, job.RanAfterParents) {
			e.promote(r.Job)
		}
	case r.waitsForTime():
		e.timers.add(timer{at: e.now.Up + max(0, r.NotBefore.Sub(e.now.Wall)), run: r.ID, kind: waitOver})
	}
}

// yield drops a run whose occurrence another member has.
func (e *Engine) yield(r *run, by string) {
	if r.State != job.RunQueued && r.State != job.RunWaiting {
		return
	}
	e.dropFor(r, job.OtherMember, e.ring.hostOf(by))
	e.promote(r.Job)
}

// notice sees that this member was gone for so long that others may have acted in
// its place, and has it claim anew what it has not begun.
func (r *ring) notice(e *Engine) {
	if r == nil || r.expected == 0 || e.now.Up-r.expected < r.holdOff()/2 {
		return
	}
	r.wary = e.now.Up + waryFor
	for _, b := range r.bids {
		b.stale = b.asked
	}
	for _, x := range e.sorted() {
		if _, ok := r.unbegun[x.ID]; ok && (x.State == job.RunQueued || x.State == job.RunWaiting) {
			if x.Reason == job.WaitsForPlace {
				e.vacate(x)
			}
			e.reclaim(x)
		}
	}
}

// foresee notes when the next step is to be.
func (r *ring) foresee(e *Engine) {
	if r == nil {
		return
	}
	r.looked, r.expected = e.now.Up, 0
	if wake := e.Wake(); !wake.IsZero() {
		r.expected = e.now.Up + max(0, wake.Sub(e.now.Wall))
	}
}

// progress tells the ring how far an occurrence of it is.
func (e *Engine) progress(r *run, p Phase) {
	if e.ring == nil || !r.isShared() {
		return
	}
	word := Progress{
		Occurrence: Occurrence{hash(string(r.Job)), r.Due}, Phase: p,
		Run: r.ID, Attempt: r.Attempt, Lost: r.Lost, Verdict: r.Verdict,
	}
	if r.State == job.RunDropped {
		word.Run = 0
	}
	e.emit(word)
}

// begin notes that a run has a process.
func (r *ring) begin(x *run) {
	if r != nil {
		delete(r.unbegun, x.ID)
	}
}

// leave notes that a run is over.
func (r *ring) leave(x *run) {
	if r == nil {
		return
	}
	delete(r.unbegun, x.ID)
	if x.bid != nil {
		r.forget(x.bid)
		x.bid = nil
	}
}

// Bid is an occurrence of a ring job that nobody could say whose it is.
type Bid struct {
	Job job.ID
	Due time.Time
	Why string // "": the voters did not answer
}

func (r *ring) show(v *View) {
	if r == nil {
		return
	}
	v.seats, v.leaves = r.seats, r.leaves
	v.handing = len(r.bids)
	for _, all := range r.stalled {
		for _, b := range all {
			v.bids = append(v.bids, Bid{v.jobs.id(b.slot), b.Due, b.waiting})
		}
	}
}

// Bids is the occurrences that nobody could say whose they are.
func (v *View) Bids() []Bid { return v.bids }

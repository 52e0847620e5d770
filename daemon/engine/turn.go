package engine

import (
	"slices"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// An occurrence of a job of scope=ring is one member's. Each member ranks itself
// when it comes due (rank.go): the owner, which ranks first, claims it, and decides
// with the grant as a host that is alone does. The next three members claim it when they
// have waited a hold-off each, unless Others took it meanwhile. Every claim asks all
// other members, or the voters: so it does not matter whether members rank each
// other alike, for instance while one of them joins or an edit is on its way.
//
// A run that has not begun when this member was gone for a while, asleep or as
// its daemon was restarted, is claimed anew before it goes on: the others may
// have taken it for an orphan.
//
// A member that leaves gives up what it has not begun (leave.go).
//
// Nothing of this touches an era: an occurrence of a ring is (key, due) for ever,
// and a clock that is set back repeats none.

const usualHoldOff = 2 * time.Second

// ring is what the engine knows of the ring that the host is in.
type ring struct {
	mode      RingMode
	seats     *seats   // nil: not known yet
	former    []*seats // and seats, the oldest first
	bids      map[Occurrence]*bid
	queue     order[*bid]        // those that wait for their time
	stalled   map[job.Key][]*bid // by key, the oldest first: those that nobody could decide
	unbegun   map[job.RunID]*run
	early     []Orphaned    // that came before seats
	shares    time.Duration // Moment.Up from which on missed occurrences are ranked; see startTime
	suspended bool          // it claims nothing in this step; see suspend
	expected  time.Duration // Moment.Up at which the last step wanted the next one; 0: not known
	looked    time.Duration // Moment.Up of the last step
	departed  bool          // it told the others its final state, and takes nothing any more
}

func newRing() *ring {
	return &ring{suspended: true, bids: map[Occurrence]*bid{}, stalled: map[job.Key][]*bid{}, unbegun: map[job.RunID]*run{}}
}

// configuredMode returns the mode of the configuration; NoRing without a ring.
func (r *ring) configuredMode() RingMode {
	if r == nil {
		return NoRing
	}
	return r.mode
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
	if r == nil || r.suspended {
		return 0, false
	}
	if len(r.queue) > 0 {
		at, ok = r.queue[0].until, true
	}
	if len(r.unbegun) > 0 || len(r.bids) > len(r.queue) {
		if look := r.looked + r.holdOff(); !ok || look < at {
			at, ok = look, true
		}
	}
	return at, ok
}

// isShared tells whether a run is of an occurrence of a ring, rather than what a
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
	r.former = remember(r.former, ev.Membership, e.now.Wall)
	r.seats = nil
	if ev.Membership != nil {
		r.seats = r.former[len(r.former)-1]
	}
	r.departed = r.departed && (r.seats == nil || r.seats.isDraining())
	for key, newest := range ev.Newest {
		slot, ok := e.jobs.FindRing(key)
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
	r.suspend(e)
	if unknown && r.seats != nil {
		r.shares = e.in(startTime)
		early := r.early
		r.early = nil
		for _, ev := range early {
			e.orphaned(ev)
		}
	}
}

// suspend finds out whether this member may claim occurrences: it knows the other
// members, nothing bars it, and most of them agree with its clock as it is now. What came
// due while it was suspended is decided afterwards.
func (r *ring) suspend(e *Engine) {
	if r == nil {
		return
	}
	before := r.suspended
	r.suspended = r.seats == nil || r.seats.Barred != "" ||
		!r.seats.Clock.Wall.IsZero() && e.now.Drift(r.seats.Clock) > MaxSkew
	if before && !r.suspended {
		e.pending = slices.Compact(slices.Sorted(slices.Values(append(e.pending, e.behindShared()...))))
	}
}

// behindShared lists the ring jobs with an occurrence that is due and was not decided
// while the member was suspended.
func (e *Engine) behindShared() (slots []int) {
	for _, slot := range e.jobs.RingJobs() {
		if next := nextAfter(e.jobs.Entry(slot).Schedule, time.Unix(0, e.marks[slot]).UTC()); !next.IsZero() && !next.After(e.now.Wall) {
			slots = append(slots, slot)
		}
	}
	return slots
}

// bidFor says whose turn the occurrences of a ring job are, and bids for those
// that may be this member's. It leaves to decide what needs no ring.
func (e *Engine) bidFor(slot int, due occurrences) (handled bool) {
	o := e.jobs.Options(slot)
	if e.ring == nil || !e.isCandidate(slot) {
		return false
	}
	if e.ring.suspended { // undecided, until it no longer is
		return true
	}
	e.marks[slot] = due.last().UnixNano()
	if due.older == 0 && len(due.list) == 1 && !e.isLate(due.last()) {
		e.compete(e.newBid(slot, due.last()), due.last())
		return true
	}
	p := catchup(o, crontab.FixedTime(e.jobs.Entry(slot).Schedule), due.list, e.now.Wall)
	p.missed = max(0, min(p.missed, len(due.list)-1)) // the newest tells of those before it, whatever becomes of it
	p.tooLate = min(p.tooLate, p.missed)
	skips := leftOut(due, p)
	for _, at := range due.list[p.missed:] {
		b := e.newBid(slot, at)
		b.skips = skips
		e.competeLate(b)
		skips = nil
	}
	if len(due.list) == 0 { // older than anybody counts
		e.competeLate(e.newBid(slot, due.last()))
	}
	return true
}

// startTime is how long a member that has just joined leaves missed occurrences unclaimed.
// Members that start together, as after a power failure, all take part by then and share them.
const startTime = 2 * time.Second

// competeLate ranks this member for a missed occurrence.
func (e *Engine) competeLate(b *bid) {
	b.missed = true
	if e.now.Up < e.ring.shares && len(e.ring.seats.Members) > 1 {
		e.ring.park(b, e.ring.shares)
		return
	}
	e.compete(b, e.now.Wall)
}

// isLate tells whether others may have had reason to take an occurrence.
func (e *Engine) isLate(due time.Time) bool { return e.now.Wall.Sub(due) >= e.ring.holdOff()/2 }

// notice sees that this member was gone for so long that others may have acted in
// its place, and has it claim anew what it has not begun.
func (r *ring) notice(e *Engine) {
	if r == nil || r.expected == 0 || e.now.Up-r.expected < r.holdOff()/2 {
		return
	}
	for _, b := range r.bids {
		b.stale = b.asked
	}
	for _, x := range e.sorted() {
		if _, ok := r.unbegun[x.ID]; ok && (x.State == job.RunQueued || x.State == job.RunWaiting) {
			if x.WaitsOn() == job.WaitsOnSlot {
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
		r.expected = max(e.now.Up, e.upAt(wake))
	}
}

// progress tells the ring how far an occurrence of it is.
func (e *Engine) progress(r *run, p Phase) {
	if e.ring == nil || !r.isShared() {
		return
	}
	word := Progress{
		Occurrence: Occurrence{job.KeyOf(r.Job, r.User), r.Due}, Phase: p,
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

func (r *ring) show(v *View) {
	if r == nil {
		return
	}
	v.seats, v.former, v.drained = r.seats, r.former, r.seats.isDraining()
	for _, all := range r.stalled {
		for _, b := range all {
			if slot, ok := v.jobs.FindRing(b.Key); ok { // else a load has removed it
				v.bids = append(v.bids, Bid{v.jobs.ID(slot), b.Due, b.waiting})
			}
		}
	}
}

package engine

import (
	"slices"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/register"
)

// Each occurrence of a job with scope=ring belongs to one member. When it comes due,
// every member computes its own rank for it (rank.go). The owner has the first rank: it
// claims the occurrence and, once granted, decides it as a host without a ring does. The
// next three members each claim it after one more hold-off, unless Others reports
// meanwhile that another member took it.
//
// Every claim goes to all other members, or to the voters. Members may therefore compute
// different ranks, for instance while a member joins or while an edit has not reached all
// of them.
//
// If this member was asleep or restarted, the others may have treated its occurrences as
// orphaned. It therefore claims again each run that has not begun before it continues the
// run.
//
// A member that leaves gives up what it has not begun (leave.go).
//
// Occurrences of a ring do not depend on an era: they are identified by (key, due) alone,
// and setting the clock back repeats none of them.

const usualHoldOff = 2 * time.Second

// ring is the engine's state of the ring that the host is a member of.
type ring struct {
	mode      RingMode
	seats     *seats   // nil: not known yet
	former    []*seats // earlier memberships and seats, oldest first
	bids      map[register.Occurrence]*bid
	queue     order[*bid]        // the bids whose time has not come
	stalled   map[job.Key][]*bid // by key, oldest first: bids that neither members nor voters could decide
	unbegun   map[job.RunID]*run
	early     []register.Report // orphans that were reported before seats was known
	shares    time.Duration     // Moment.Up at which this member begins to rank itself for missed occurrences; see startTime
	suspended bool              // it claims nothing in this step; see suspend
	expected  time.Duration     // Moment.Up for which the last step requested the next one; 0: not known
	looked    time.Duration     // Moment.Up of the last step
	departed  bool              // its final state was broadcast: it takes nothing any longer
}

func newRing(mode RingMode) *ring {
	return &ring{mode: mode, suspended: true, bids: map[register.Occurrence]*bid{}, stalled: map[job.Key][]*bid{}, unbegun: map[job.RunID]*run{}}
}

func (r *ring) holdOff() time.Duration {
	if r.seats == nil || r.seats.HoldOff <= 0 {
		return usualHoldOff
	}
	return r.seats.HoldOff
}

// hostOf returns the host name of a present member, or else its ID.
func (r *ring) hostOf(id string) string {
	if r.seats != nil {
		for i := range r.seats.Members {
			if m := &r.seats.Members[i]; m.ID == id {
				return m.Name
			}
		}
	}
	return id
}

// next returns when the first bid is due. While a run of the ring has not begun, or a
// claim is not answered, it returns a time early enough to notice a suspend of this host.
func (r *ring) next() (at time.Duration, ok bool) {
	if r.suspended {
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

// isShared reports whether a run belongs to an occurrence of a ring. A manual run does
// not.
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

// eraOf returns the era of the decisions that a job makes now.
func (e *Engine) eraOf(o *crontab.Options) job.Era {
	if o.Scope == crontab.ScopeRing {
		return 0
	}
	return e.era
}

// enroll applies the ring mode of a load.
func (e *Engine) enroll(mode RingMode) {
	if mode == NoRing {
		for _, b := range e.ring.bids {
			if b.run != nil {
				b.run.bid = nil
			}
		}
		e.ring = newRing(mode)
	}
	e.ring.mode = mode
}

// joined applies a new membership of the ring.
func (e *Engine) joined(ev register.Ring) {
	r := e.ring
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
		// A mark in the future comes from a member whose clock is ahead. Earlier
		// occurrences may belong to this member, and are not due here yet.
		if ahead := newest.After(e.now.Wall); !ahead || unknown {
			e.marks[slot] = max(e.marks[slot], min(newest.UnixNano(), e.now.Wall.UnixNano()))
		}
	}
	r.suspend(e)
	if unknown && r.seats != nil {
		r.shares = e.in(startTime)
		early := r.early
		r.early = nil
		e.orphaned(early)
	}
}

// suspend updates whether this member may claim occurrences. It may if it knows the other
// members, is not barred, and most members agree with its clock as it is now. Occurrences
// that came due while it was suspended are decided afterwards.
func (r *ring) suspend(e *Engine) {
	before := r.suspended
	r.suspended = r.seats == nil || r.seats.Barred != "" ||
		!r.seats.Clock.Wall.IsZero() && e.now.Drift(r.seats.Clock) > register.MaxSkew
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

// bidFor makes this member bid for due occurrences of a ring job. It reports false if the
// job needs no ring, so that decide handles it.
func (e *Engine) bidFor(slot int, due occurrences) (handled bool) {
	o := e.jobs.Options(slot)
	if !e.isCandidate(slot) {
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
	p.missed = max(0, min(p.missed, len(due.list)-1)) // the record of the newest occurrence also covers the skipped ones before it
	p.tooLate = min(p.tooLate, p.missed)
	skips := leftOut(due, p)
	for _, at := range due.list[p.missed:] {
		b := e.newBid(slot, at)
		b.skips = skips
		e.competeLate(b)
		skips = nil
	}
	if len(due.list) == 0 { // all occurrences are too old to be listed
		e.competeLate(e.newBid(slot, due.last()))
	}
	return true
}

// startTime is the time after joining during which a member claims no missed occurrences.
// Members that start together, for instance after a power failure, have all joined by
// then and share them.
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

// isLate reports whether an occurrence is so late that other members may have taken it.
func (e *Engine) isLate(due time.Time) bool { return e.now.Wall.Sub(due) >= e.ring.holdOff()/2 }

// notice detects that this member was suspended for so long that others may have acted in
// its place. If so, it claims again everything that it has not begun.
func (r *ring) notice(e *Engine) {
	if r.expected == 0 || e.now.Up-r.expected < r.holdOff()/2 {
		return
	}
	for _, b := range r.bids {
		if b.state == asked {
			b.state = outdated
		}
	}
	for _, x := range e.sorted() {
		if _, ok := r.unbegun[x.ID]; ok && (x.State == job.RunQueued || x.State == job.RunWaiting) {
			if e.reclaim(x); x.bid != nil && x.WaitsOn() == job.WaitsOnSlot {
				e.vacate(x)
			}
		}
	}
}

// foresee stores when the next step is expected.
func (r *ring) foresee(e *Engine) {
	r.looked, r.expected = e.now.Up, 0
	if wake := e.Wake(); !wake.IsZero() {
		r.expected = max(e.now.Up, e.upAt(wake))
	}
}

// progress sends the phase of an occurrence to the ring.
func (e *Engine) progress(r *run, p register.Phase) {
	if r.isShared() {
		e.emitToRing(register.ProgressOf(&r.Run, p))
	}
}

// begin marks a run as begun: it has a process.
func (r *ring) begin(x *run) { delete(r.unbegun, x.ID) }

// leave removes a run that is over.
func (r *ring) leave(x *run) {
	delete(r.unbegun, x.ID)
	if x.bid != nil {
		r.forget(x.bid)
		x.bid = nil
	}
}

func (r *ring) show(v *View) {
	v.seats, v.former, v.drained = r.seats, r.former, r.seats.isDraining()
	for _, all := range r.stalled {
		for _, b := range all {
			if slot, ok := v.jobs.FindRing(b.Key); ok { // otherwise a load has removed the job
				v.bids = append(v.bids, Bid{v.jobs.ID(slot), b.Time(), b.waiting})
			}
		}
	}
}

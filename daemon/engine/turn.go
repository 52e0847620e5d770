package engine

import (
	"slices"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
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
	ranking   *ranking   // nil: not known yet
	former    []*ranking // of earlier memberships, oldest first
	claims    map[register.Occurrence]*ringClaim
	queue     order[*ringClaim]        // the claims whose time has not come
	stalled   map[job.Key][]*ringClaim // by key, oldest first: claims that neither members nor voters could decide
	unbegun   map[job.RunID]*run
	early     []register.Report // orphans that were reported before the ranking was known
	shares    time.Duration     // Moment.Up at which this member begins to rank itself for missed occurrences; see startTime
	suspended bool              // it claims nothing in this step; see suspend
	expected  time.Duration     // Moment.Up for which the last step requested the next one; 0: not known
	looked    time.Duration     // Moment.Up of the last step
	departed  bool              // its final state was broadcast: it takes nothing any longer
}

func newRing(mode RingMode) *ring {
	return &ring{mode: mode, suspended: true, claims: map[register.Occurrence]*ringClaim{}, stalled: map[job.Key][]*ringClaim{}, unbegun: map[job.RunID]*run{}}
}

func (r *ring) holdOff() time.Duration {
	if r.ranking == nil || r.ranking.HoldOff <= 0 {
		return usualHoldOff
	}
	return r.ranking.HoldOff
}

// hostOf returns the host name of a present member, or else its ID.
func (r *ring) hostOf(id string) string {
	if r.ranking != nil {
		for i := range r.ranking.Members {
			if m := &r.ranking.Members[i]; m.ID == id {
				return m.Name
			}
		}
	}
	return id
}

// next returns when the next claim is due. While a run of the ring has not begun, or a
// claim is not answered, it returns a time early enough to notice a suspend of this host.
func (r *ring) next() (at time.Duration, ok bool) {
	if r.suspended {
		return 0, false
	}
	if len(r.queue) > 0 {
		at, ok = r.queue[0].until, true
	}
	if len(r.unbegun) > 0 || len(r.claims) > len(r.queue) {
		if look := r.looked + r.holdOff(); !ok || look < at {
			at, ok = look, true
		}
	}
	return at, ok
}

// isShared reports whether a run belongs to an occurrence of a ring. A manual run does
// not.
func (r *run) isShared() bool {
	if r.options.Scope != option.ScopeRing || r.asked() {
		return false
	}
	switch r.Trigger {
	case job.TriggerClock, job.TriggerCatchup, job.TriggerRetry:
		return true
	}
	return false
}

// eraOf returns the era of the decisions that a job makes now.
func (e *Engine) eraOf(o *option.Options) job.Era {
	if o.Scope == option.ScopeRing {
		return 0
	}
	return e.era
}

// enroll applies the ring mode of a load.
func (e *Engine) enroll(mode RingMode) {
	if mode == NoRing {
		for _, c := range e.ring.claims {
			if c.run != nil {
				c.run.ringClaim = nil
			}
		}
		e.ring = newRing(mode)
	}
	e.ring.mode = mode
}

// joined applies a new membership of the ring.
func (e *Engine) joined(ev register.Ring) {
	r := e.ring
	unknown := r.ranking == nil
	r.former = remember(r.former, ev.Membership, e.now.Wall)
	r.ranking = nil
	if ev.Membership != nil {
		r.ranking = r.former[len(r.former)-1]
	}
	r.departed = r.departed && (r.ranking == nil || r.ranking.isDraining())
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
	if unknown && r.ranking != nil {
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
	r.suspended = r.ranking == nil || r.ranking.Barred != "" ||
		!r.ranking.Clock.Wall.IsZero() && e.now.Drift(r.ranking.Clock) > register.MaxSkew
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

// claimDue makes this member compete for due occurrences of a ring job. It reports false if the
// job needs no ring, so that decide handles it.
func (e *Engine) claimDue(slot int, due occurrences) (handled bool) {
	o := e.jobs.Options(slot)
	if !e.isCandidate(slot) {
		return false
	}
	if e.ring.suspended { // undecided, until it no longer is
		return true
	}
	e.marks[slot] = due.last().UnixNano()
	if due.older == 0 && len(due.list) == 1 && !e.isLate(due.last()) {
		e.compete(e.newRingClaim(slot, due.last()), due.last())
		return true
	}
	p := catchup(o, timetable.FixedTime(e.jobs.Entry(slot).Schedule), due.list, e.now.Wall)
	p.missed = max(0, min(p.missed, len(due.list)-1)) // the record of the newest occurrence also covers the skipped ones before it
	p.tooLate = min(p.tooLate, p.missed)
	skips := leftOut(due, p)
	for _, at := range due.list[p.missed:] {
		c := e.newRingClaim(slot, at)
		c.skips = skips
		e.competeLate(c)
		skips = nil
	}
	if len(due.list) == 0 { // all occurrences are too old to be listed
		e.competeLate(e.newRingClaim(slot, due.last()))
	}
	return true
}

// startTime is the time after joining during which a member claims no missed occurrences.
// Members that start together, for instance after a power failure, have all joined by
// then and share them.
const startTime = 2 * time.Second

// competeLate ranks this member for a missed occurrence.
func (e *Engine) competeLate(c *ringClaim) {
	c.missed = true
	if e.now.Up < e.ring.shares && len(e.ring.ranking.Members) > 1 {
		e.ring.park(c, e.ring.shares)
		return
	}
	e.compete(c, e.now.Wall)
}

// isLate reports whether an occurrence is so late that other members may have taken it.
func (e *Engine) isLate(due time.Time) bool { return e.now.Wall.Sub(due) >= e.ring.holdOff()/2 }

// notice detects that this member was suspended for so long that others may have acted in
// its place. If so, it claims again everything that it has not begun.
func (r *ring) notice(e *Engine) {
	if r.expected == 0 || e.now.Up-r.expected < r.holdOff()/2 {
		return
	}
	for _, c := range r.claims {
		if c.state == asked {
			c.state = outdated
		}
	}
	for _, x := range e.sorted() {
		if _, ok := r.unbegun[x.ID]; ok && (x.State == job.RunQueued || x.State == job.RunWaiting) {
			if e.reclaim(x); x.ringClaim != nil && x.WaitsOn() == job.WaitsOnSlot {
				e.releaseSlots(x)
			}
		}
	}
}

// expectStep stores when the next step is expected.
func (r *ring) expectStep(e *Engine) {
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
	if x.ringClaim != nil {
		r.forget(x.ringClaim)
		x.ringClaim = nil
	}
}

func (r *ring) show(v *View) {
	v.ranking, v.former, v.drained = r.ranking, r.former, r.ranking.isDraining()
	for _, all := range r.stalled {
		for _, c := range all {
			if slot, ok := v.jobs.FindRing(c.Key); ok { // otherwise a load has removed the job
				v.undecided = append(v.undecided, Undecided{v.jobs.ID(slot), c.Time(), c.waiting})
			}
		}
	}
}

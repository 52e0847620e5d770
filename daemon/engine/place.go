package engine

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/engine/order"
	"github.com/cronring/cronring/daemon/job"
)

// A run takes a slot before it starts: one of the host's (max-running), one of its user's
// (max-running-per-user, which does not apply to root), and slots of its pool. It keeps
// them until its process has ended. If there is no free slot, the run waits.
//
// Waiting runs are served in this order: larger priority= first; at equal priority, the
// user who was served least recently; for one user, the oldest run. If the next run needs
// more slots than its pool has free, it blocks all later runs of the same pool. A run
// that needs many slots therefore gets them in the end, and runs outside the pool are not
// blocked. If a run waits because its user has no free slot, it blocks no runs of other
// users.
//
// A forced run does not wait. The exception is a user other than root who already has as
// many runs as max-running-per-user allows: users cannot exceed their own limit.

// defaultQueue is the limit of waiting runs of one user if queue-max is not set.
// turnsPerStep limits the waiting runs that one step starts; the next step starts the
// rest, as with the firing of schedules.
const (
	defaultQueue = 10_000
	turnsPerStep = 64
	topPriority  = 10
)

// places contains the runs that have a slot or wait for one. A run is in it only if a
// limit applies to it, or while the daemon drains: jobs without limits cost nothing here.
type places struct {
	limits   Limits
	running  int // runs that hold a slot
	waiting  int
	accounts map[string]*account
	pools    map[string]*pool
	tiers    [topPriority + 1]order.Heap[*turn] // by priority, the turns that can be served
	served   map[turnKey]int                    // when a user was last served; cleared when no run waits
	rounds   int                                // number of runs served so far
	chosen   *run                               // the run that is being served
	asker    *run                               // the run for which dispatch looks for a slot
	left     int                                // how many runs can still be served in this step
	slow     []*pool                            // pools whose rate is used up, waiting for time to pass
	over     Overflow
}

// Overflow counts the runs that were dropped because too many runs of their
// user waited.
type Overflow struct {
	Count int       // since the daemon started
	Last  time.Time // zero: none
	User  string    // whose run was dropped last
}

// Overflow returns the runs that were dropped because too many waited.
func (v *View) Overflow() Overflow { return v.over }

// PerUser returns how many runs of a user can have a slot at once; 0: no limit.
func (l *Limits) PerUser(user string) int {
	if user == "root" {
		return 0
	}
	return l.MaxPerUser
}

// needsSlot reports whether a run with these options starts only with a slot.
func (l *Limits) needsSlot(r *run) bool {
	return l.MaxRunning > 0 || l.PerUser(r.User) > 0 || r.options.Pool != ""
}

// Queue returns how many runs of one user can wait for a slot.
func (l *Limits) Queue() int {
	if l.QueueMax == 0 {
		return defaultQueue
	}
	return l.QueueMax
}

// place is the gate of slots. No run passes it while the daemon drains.
func (e *Engine) place(r *run) (passes bool) {
	p := &e.places
	switch {
	case r == p.chosen:
		return true
	case e.draining:
		e.lineUp(r)
		e.wait(r, job.WaitsOnSlot, "the daemon is about to be replaced")
		if p.limits.needsSlot(r) {
			e.overflow(r)
		}
		return false
	case r.forced && !e.exceedsOwn(r) || !p.limits.needsSlot(r):
		return true
	}
	e.lineUp(r)
	if e.dispatch(r) {
		return true
	}
	if r.claim == nil || r.claim.line == nil { // it was served while another run was dropped, and another queued run of its job took over
		return false
	}
	e.wait(r, job.WaitsOnSlot, e.describeQueue(r))
	e.overflow(r)
	return false
}

// exceedsOwn reports whether a user other than root forces a run although all slots of
// the run's user are taken.
func (e *Engine) exceedsOwn(r *run) bool {
	a := e.places.accounts[r.User]
	return a != nil && r.By != "root" && e.places.isFull(a)
}

// overflow drops a run if too many runs of its user wait. It never drops a run
// of another user.
func (e *Engine) overflow(r *run) {
	p := &e.places
	most := p.limits.Queue()
	if p.accounts[r.User].waiting <= most {
		return
	}
	p.over = Overflow{p.over.Count + 1, e.now.Wall, r.User}
	e.dropFor(r, job.QueueOverflow, fmt.Sprintf("queue-max is %d", most))
}

// dispatch continues waiting runs in order, as long as there are free slots. It stops
// when it reaches asker, and reports whether it did.
func (e *Engine) dispatch(asker *run) bool {
	p := &e.places
	if p.chosen != nil || e.draining {
		return false
	}
	p.hurry(e.now.Up) // also if nothing waits: otherwise Wake would stay in the past
	if p.waiting == 0 {
		clear(p.served) // not when the last run leaves: a load lines it up again
		return false
	}
	p.asker = asker
	defer func() { p.asker = nil }()
	for p.left > 0 && p.roomy() {
		l := p.first()
		if l == nil {
			return false
		}
		c := l.runs[0]
		switch {
		case p.isFull(l.turn.account):
			p.setFull(l.turn.account, true) // until one of its runs has ended
			continue
		case l.pool != nil && !p.fits(c, e.now.Up):
			p.hide(l)
			l.pool.parked[l] = true
			continue
		}
		p.serve(c)
		if c.run == asker {
			return true
		}
		p.left--
		p.chosen = c.run
		e.goOn(c.run, job.RanAfterSlot)
		p.chosen = nil
	}
	return false
}

// hasMore reports whether dispatch left work to the next step.
func (p *places) hasMore() bool { return p.left == 0 && p.roomy() && p.first() != nil }

// roomy reports whether the host has a free slot.
func (p *places) roomy() bool { return p.limits.MaxRunning == 0 || p.running < p.limits.MaxRunning }

func (p *places) isFull(a *account) bool {
	most := p.limits.PerUser(a.name)
	return most > 0 && len(a.holders) >= most
}

// occupy assigns slots to a run that starts, or is found running, even if this exceeds
// the limits.
func (e *Engine) occupy(r *run) {
	p := &e.places
	if !p.limits.needsSlot(r) {
		return
	}
	x := e.poolOf(r)
	r.claim = &claim{run: r, pool: x, slots: r.options.Slots}
	p.running++
	a := p.account(r.User)
	a.holders = append(a.holders, r)
	if x == nil {
		return
	}
	x.taken += r.claim.slots
	x.holders = append(x.holders, r)
	if x.Rate > 0 {
		x.noteStart(e.begunAt(r))
	}
}

// begunAt is the time since boot at which a run started, or starts now.
func (e *Engine) begunAt(r *run) time.Duration {
	if r.Run.Started.IsZero() {
		return e.now.Up
	}
	return e.now.UpAt(r.Run.Started)
}

// releaseSlots frees the slots that a run holds, or takes it out of the queue.
func (e *Engine) releaseSlots(r *run) {
	c := r.claim
	if c == nil {
		return
	}
	p := &e.places
	r.claim = nil
	if c.line != nil {
		p.leave(c)
		return
	}
	p.running--
	a := p.accounts[r.User]
	a.holders = without(a.holders, r)
	if a.full && !p.isFull(a) {
		p.setFull(a, false)
	}
	p.forgetAccount(a)
	if x := c.pool; x != nil {
		x.taken -= c.slots
		x.holders = without(x.holders, r)
		p.wake(x)
		p.forgetPool(x)
	}
}

func without(runs []*run, r *run) []*run {
	return slices.DeleteFunc(runs, func(x *run) bool { return x == r })
}

// measure applies the limits of a load. Runs with a process keep their slots, even if
// these exceed the new limits. Waiting runs are queued again with the current options of
// their entries: all of them if the limits changed, otherwise only the runs in changed.
func (e *Engine) measure(l Limits, changed []*run) {
	before := e.places
	if before.served != nil && reflect.DeepEqual(before.limits, l) {
		for _, r := range changed {
			if slot, known := e.slotOf(r); known {
				r.options = e.jobs.Options(slot)
				e.lineUp(r)
			}
		}
		return
	}
	e.places = places{
		limits: l, accounts: map[string]*account{}, pools: map[string]*pool{},
		served: before.served, rounds: before.rounds, left: before.left, over: before.over,
	}
	if before.served == nil {
		e.places.served = map[turnKey]int{}
	}
	if l.MaxRunning > 0 || l.MaxPerUser > 0 || len(before.accounts) > 0 {
		e.placeAgain()
	}
	e.places.keepStarts(&before)
}

// placeAgain assigns slots to all runs that have a process, and queues those that waited
// for one.
func (e *Engine) placeAgain() {
	for _, r := range e.sorted() {
		waits := r.claim != nil
		r.claim = nil
		switch {
		case r.hasProcess() || r.gate == gateToken:
			e.occupy(r)
		case waits:
			if slot, known := e.slotOf(r); known {
				r.options = e.jobs.Options(slot)
			}
			e.lineUp(r)
		}
	}
}

// keepStarts keeps the starts that the rates of the pools count.
func (p *places) keepStarts(before *places) {
	for key, x := range before.pools {
		if limits, declared := p.limits.Pools[key]; declared && limits.Rate > 0 && len(x.starts) > 0 {
			if p.pools[key] == nil {
				p.pools[key] = &pool{key: key, name: x.name, Pool: limits, parked: map[*line]bool{}}
			}
			p.pools[key].starts = x.starts
		}
	}
}

// hasProcess reports whether a run has a process, or is about to get one.
func (r *run) hasProcess() bool { return r.State == job.RunDecided || r.State == job.RunRunning }

// watchedFirst moves adopted runs before the others, so that they take their slots first.
func watchedFirst(live []job.Run, adopted map[job.RunID]Adopted) []job.Run {
	ordered := slices.Clone(live)
	rank := func(r job.Run) int {
		if _, watched := adopted[r.ID]; watched {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(ordered, func(a, b job.Run) int { return rank(a) - rank(b) })
	return ordered
}

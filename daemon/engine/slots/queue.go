package slots

import (
	"container/heap"
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

const topPriority = 10

// Queue contains the claims of runs that have a slot or wait for one. A run needs a claim
// only if a limit applies to it: jobs without limits cost nothing here.
type Queue struct {
	Limits     Limits
	running    int // runs that hold a slot
	waiting    int
	users      map[string]*user
	pools      map[string]*pool
	priorities [topPriority + 1]order.Heap[*userQueue] // by priority, the queues that can be served
	served     map[queueKey]int                        // when a user was last served; cleared when no run waits
	rounds     int                                     // number of runs served so far
	slow       []*pool                                 // pools whose rate is used up, waiting for time to pass
	overflow   Overflow
}

// Overflow counts the runs that were dropped because too many runs of their
// user waited.
type Overflow struct {
	Count int       // since the daemon started
	Last  time.Time // zero: none
	User  string    // whose run was dropped last
}

// Claim is the slots that a run holds or waits for.
type Claim struct {
	Run      job.RunID
	Job      job.ID
	User     string
	Priority int
	PoolName string // pool=, or ""
	Slots    int    // of the pool

	pool  *pool
	queue *poolQueue // nil: the run holds the slots
	at    int        // index in the queue
}

// Waits reports whether the claim is in the queue, so its run holds no slots.
func (c *Claim) Waits() bool { return c.queue != nil }

// user holds the slots and the waiting runs of one user.
type user struct {
	name    string
	holders []*Claim
	waiting int
	queues  [topPriority + 1]*userQueue
	full    bool // all slots of the user are taken, so the user's queues are not served
}

// queueKey identifies the runs of a user with one priority.
type queueKey struct {
	user     string
	priority int
}

// userQueue is the waiting runs of a user at one priority. The queues of all users are
// served round-robin.
type userQueue struct {
	user   *user
	key    queueKey
	served int
	byPool map[*pool]*poolQueue
	ready  order.Heap[*poolQueue] // the queues that are not parked
	at     int                    // index in Queue.priorities; -1: not in it
}

// poolQueue is a queue of runs with the same user, priority and pool: if the first run
// cannot continue, none of them can.
type poolQueue struct {
	of     *userQueue
	pool   *pool // nil: no pool
	claims order.Heap[*Claim]
	at     int // index in userQueue.ready; -1: its pool has parked it
}

// Is reports whether the queue applies these limits. A new Queue applies none.
func (q *Queue) Is(l Limits) bool { return q.served != nil && reflect.DeepEqual(q.Limits, l) }

// Replaced returns a queue with other limits that has no claims yet. It continues the
// round-robin of q. When all claims are made again, keepStarts must follow: it keeps the
// starts that the rates of the pools count.
func (q *Queue) Replaced(l Limits) (next *Queue, keepStarts func()) {
	next = &Queue{
		Limits: l, users: map[string]*user{}, pools: map[string]*pool{},
		served: q.served, rounds: q.rounds, overflow: q.overflow,
	}
	if q.served == nil {
		next.served = map[queueKey]int{}
	}
	return next, func() { next.keepStarts(q.pools) }
}

// IsUsed reports whether any run has a claim.
func (q *Queue) IsUsed() bool { return len(q.users) > 0 }

// Overflow returns the runs that were dropped because too many waited.
func (q *Queue) Overflow() Overflow { return q.overflow }

// NoteOverflow counts a run that is dropped because too many of its user wait.
func (q *Queue) NoteOverflow(user string, at time.Time) {
	q.overflow = Overflow{q.overflow.Count + 1, at, user}
}

// Waiting returns how many runs wait.
func (q *Queue) Waiting() int { return q.waiting }

// WaitingOf returns how many runs of a user wait.
func (q *Queue) WaitingOf(name string) int {
	if u := q.users[name]; u != nil {
		return u.waiting
	}
	return 0
}

// IsFull reports whether all slots of a user are taken.
func (q *Queue) IsFull(name string) bool {
	u := q.users[name]
	return u != nil && q.isFull(u)
}

func (q *Queue) isFull(u *user) bool {
	most := q.Limits.PerUser(u.name)
	return most > 0 && len(u.holders) >= most
}

// HasNext reports whether Next would return a claim, or would have to look for one.
func (q *Queue) HasNext() bool { return q.hasSlot() && q.first() != nil }

// hasSlot reports whether the host has a free slot.
func (q *Queue) hasSlot() bool { return q.Limits.MaxRunning == 0 || q.running < q.Limits.MaxRunning }

// Occupy assigns slots to the run of a new claim, even if this exceeds the limits. start is
// when the run started, in time since boot.
func (q *Queue) Occupy(c *Claim, start time.Duration) {
	q.running++
	u := q.user(c.User)
	u.holders = append(u.holders, c)
	c.pool = q.poolOf(c)
	if x := c.pool; x != nil {
		x.taken += c.Slots
		x.holders = append(x.holders, c)
		if x.Rate > 0 {
			x.noteStart(start)
		}
	}
}

// LineUp puts a new claim into the queue.
func (q *Queue) LineUp(c *Claim) {
	if c.pool = q.poolOf(c); c.pool != nil {
		c.Slots = min(c.Slots, c.pool.Size) // slots= exceeds the pool only if the entry is held by now, which is found when the run is served
		c.pool.waiting++
	}
	q.waiting++
	u := q.user(c.User)
	u.waiting++
	q.join(c, q.queueOf(u, c.Priority))
	if c.pool != nil && c.pool.taken < c.pool.Size {
		q.wake(c.pool)
	}
}

// Release frees the slots of a claim, or takes it out of the queue.
func (q *Queue) Release(c *Claim) {
	if c.queue != nil {
		q.leave(c)
		return
	}
	q.running--
	u := q.users[c.User]
	u.holders = without(u.holders, c)
	if u.full && !q.isFull(u) {
		q.setFull(u, false)
	}
	q.forgetUser(u)
	if x := c.pool; x != nil {
		x.taken -= c.Slots
		x.holders = without(x.holders, c)
		q.wake(x)
		q.forgetPool(x)
	}
}

func without(claims []*Claim, c *Claim) []*Claim {
	return slices.DeleteFunc(claims, func(x *Claim) bool { return x == c })
}

// Ready prepares the queue for calls of Next. It reports false if no run waits.
func (q *Queue) Ready(now time.Duration) bool {
	q.wakeSlow(now) // also if nothing waits: otherwise Wake would stay in the past
	if q.waiting == 0 {
		clear(q.served) // not when the last run leaves: a load lines it up again
		return false
	}
	return true
}

// Next takes the next claim that can be served out of the queue. It returns nil if no
// waiting run can start now.
func (q *Queue) Next(now time.Duration) *Claim {
	for q.hasSlot() {
		first := q.first()
		if first == nil {
			return nil
		}
		c := first.claims[0]
		switch {
		case q.isFull(first.of.user):
			q.setFull(first.of.user, true) // until one of its runs has ended
		case first.pool != nil && !first.pool.fits(c, now, q):
			q.hide(first)
			first.pool.parked[first] = true
		default:
			q.serve(c)
			return c
		}
	}
	return nil
}

// first returns the next queue to be served, or nil.
func (q *Queue) first() *poolQueue {
	for priority := topPriority; priority > 0; priority-- {
		if all := q.priorities[priority]; len(all) > 0 {
			return all[0].ready[0]
		}
	}
	return nil
}

// serve removes the next claim from its queue, and moves its user behind the others.
func (q *Queue) serve(c *Claim) {
	of := c.queue.of
	q.rounds++
	q.served[of.key], of.served = q.rounds, q.rounds
	q.leave(c)
	if u := of.user; u.queues[of.key.priority] == of {
		q.reorder(of)
	}
}

func (q *Queue) user(name string) *user {
	u := q.users[name]
	if u == nil {
		u = &user{name: name}
		q.users[name] = u
	}
	return u
}

func (q *Queue) queueOf(u *user, priority int) *userQueue {
	if u.queues[priority] == nil {
		key := queueKey{u.name, priority}
		u.queues[priority] = &userQueue{user: u, key: key, served: q.served[key], byPool: map[*pool]*poolQueue{}, at: -1}
	}
	return u.queues[priority]
}

// join adds a claim to its queue.
func (q *Queue) join(c *Claim, of *userQueue) {
	l := of.byPool[c.pool]
	if l == nil {
		l = &poolQueue{of: of, pool: c.pool, at: -1}
		of.byPool[c.pool] = l
	}
	c.queue = l
	heap.Push(&l.claims, c)
	if !l.isParked() {
		q.show(l)
	}
}

func (l *poolQueue) isParked() bool { return l.pool != nil && l.pool.parked[l] }

// show puts a queue into the order, or updates its position there.
func (q *Queue) show(l *poolQueue) {
	if l.at < 0 {
		heap.Push(&l.of.ready, l)
	} else {
		heap.Fix(&l.of.ready, l.at)
	}
	q.reorder(l.of)
}

// hide removes a queue from the order.
func (q *Queue) hide(l *poolQueue) {
	if l.at >= 0 {
		heap.Remove(&l.of.ready, l.at)
		q.reorder(l.of)
	}
}

// reorder puts the queue of a user at its position for its priority, or removes it.
func (q *Queue) reorder(of *userQueue) {
	all := &q.priorities[of.key.priority]
	takesPart := len(of.ready) > 0 && !of.user.full
	switch {
	case takesPart && of.at < 0:
		heap.Push(all, of)
	case takesPart:
		heap.Fix(all, of.at)
	case of.at >= 0:
		heap.Remove(all, of.at)
	}
}

// setFull removes a user's queues from the order, or puts them back.
func (q *Queue) setFull(u *user, full bool) {
	u.full = full
	for _, of := range u.queues {
		if of != nil {
			q.reorder(of)
		}
	}
}

// leave removes a claim from its queue.
func (q *Queue) leave(c *Claim) {
	l, of := c.queue, c.queue.of
	heap.Remove(&l.claims, c.at)
	switch {
	case len(l.claims) == 0:
		q.hide(l)
		delete(of.byPool, l.pool)
		if l.pool != nil {
			delete(l.pool.parked, l)
		}
	case l.at >= 0:
		q.show(l)
	}
	if len(of.byPool) == 0 {
		of.user.queues[of.key.priority] = nil
	}
	if c.pool != nil {
		c.pool.waiting--
		if c.pool.taken < c.pool.Size { // it may have blocked other runs
			q.wake(c.pool)
		}
		q.forgetPool(c.pool)
	}
	of.user.waiting--
	q.forgetUser(of.user)
	q.waiting--
}

func (q *Queue) forgetUser(u *user) {
	if u.waiting == 0 && len(u.holders) == 0 {
		delete(q.users, u.name)
	}
}

// Before and Stand are those of order.Ranked.
func (c *Claim) Before(x *Claim) bool         { return c.Run < x.Run }
func (c *Claim) Stand(at int)                 { c.at = at }
func (l *poolQueue) Before(x *poolQueue) bool { return l.claims[0].Before(x.claims[0]) }
func (l *poolQueue) Stand(at int)             { l.at = at }
func (of *userQueue) Stand(at int)            { of.at = at }
func (of *userQueue) Before(x *userQueue) bool {
	if of.served != x.served {
		return of.served < x.served
	}
	return of.ready[0].Before(x.ready[0])
}

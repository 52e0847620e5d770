package slots

import (
	"cmp"
	"reflect"
	"slices"
	"time"

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

// Queue contains the claims of runs that have a slot or wait for one. A run needs a claim
// only if a limit applies to it: jobs without limits cost nothing here.
type Queue struct {
	Limits   Limits
	running  int // runs that hold a slot
	waiting  int
	users    map[string]*user
	pools    map[string]*pool
	lines    []*line
	served   map[share]*int // when a user was last served; cleared when no run waits
	rounds   int            // number of runs served so far
	overflow Overflow

	preempting int // waiting claims with preempt
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
	Preempt  bool   // see Queue.Preempt

	pool *pool
	line *line // nil: the run holds the slots
}

// Waits reports whether the claim is in the queue, so its run holds no slots.
func (c *Claim) Waits() bool { return c.line != nil }

// user holds the slots of one user.
type user struct {
	name    string
	holders []*Claim
	waiting int
}

// share identifies the runs of a user with one priority.
type share struct {
	user     string
	priority int
}

// line is the waiting runs of a user with one priority and one pool, oldest first: if the
// first cannot start, none of them can. A line is never empty.
type line struct {
	share
	user   *user
	pool   *pool // nil: no pool
	served *int  // of Queue.served
	claims []*Claim
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
		next.served = map[share]*int{}
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

// HasNext reports whether Next could return a claim.
func (q *Queue) HasNext() bool { return q.hasSlot() && q.waiting > 0 }

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
	if c.Preempt {
		q.preempting++
	}
	u := q.user(c.User)
	u.waiting++
	key := share{c.User, c.Priority}
	i := slices.IndexFunc(q.lines, func(l *line) bool { return l.share == key && l.pool == c.pool })
	if i < 0 {
		i = len(q.lines)
		if q.served[key] == nil {
			q.served[key] = new(int)
		}
		q.lines = append(q.lines, &line{share: key, user: u, pool: c.pool, served: q.served[key]})
	}
	c.line = q.lines[i]
	at, _ := slices.BinarySearchFunc(c.line.claims, c, byAge)
	c.line.claims = slices.Insert(c.line.claims, at, c)
}

func byAge(a, b *Claim) int { return cmp.Compare(a.Run, b.Run) }

// Release frees the slots of a claim, or takes it out of the queue.
func (q *Queue) Release(c *Claim) {
	if c.line != nil {
		q.leave(c)
		return
	}
	q.running--
	u := q.users[c.User]
	u.holders = without(u.holders, c)
	q.forgetUser(u)
	if x := c.pool; x != nil {
		x.taken -= c.Slots
		x.holders = without(x.holders, c)
		q.forgetPool(x)
	}
}

func without(claims []*Claim, c *Claim) []*Claim {
	return slices.DeleteFunc(claims, func(x *Claim) bool { return x == c })
}

// Ready prepares the queue for calls of Next. It reports false if no run waits.
func (q *Queue) Ready(now time.Duration) bool {
	q.forgetWaits(now) // also if nothing waits: otherwise Wake would stay in the past
	if q.waiting == 0 {
		clear(q.served) // not when the last run leaves: a load lines it up again
		return false
	}
	return true
}

// Next takes the next claim that can be served out of the queue. It returns nil if no
// waiting run can start now.
func (q *Queue) Next(now time.Duration) *Claim {
	if !q.hasSlot() {
		return nil
	}
	var next *line
	for x, l := range q.firsts(func(l *line) bool { return q.isFull(l.user) }) {
		if (x == nil || x.fits(l.claims[0], now)) && (next == nil || l.before(next)) {
			next = l
		}
	}
	if next == nil {
		return nil
	}
	q.rounds++
	*next.served = q.rounds
	c := next.claims[0]
	q.leave(c)
	return c
}

// firsts returns the line of each pool that is served first, without those to skip.
func (q *Queue) firsts(skip func(*line) bool) map[*pool]*line {
	firsts := map[*pool]*line{}
	for _, l := range q.lines {
		if first := firsts[l.pool]; !skip(l) && (first == nil || l.before(first)) {
			firsts[l.pool] = l
		}
	}
	return firsts
}

// before reports whether a line is served before another one.
func (l *line) before(x *line) bool {
	switch {
	case l.priority != x.priority:
		return l.priority > x.priority
	case *l.served != *x.served:
		return *l.served < *x.served
	}
	return l.claims[0].Run < x.claims[0].Run
}

// Last returns the waiting claim of a user that comes last: the newest one with the lowest
// priority.
func (q *Queue) Last(name string) *Claim {
	var last *Claim
	for _, l := range q.lines {
		c := l.claims[len(l.claims)-1]
		if c.User == name && (last == nil || c.Priority < last.Priority || c.Priority == last.Priority && c.Run > last.Run) {
			last = c
		}
	}
	return last
}

func (q *Queue) user(name string) *user {
	u := q.users[name]
	if u == nil {
		u = &user{name: name}
		q.users[name] = u
	}
	return u
}

// leave removes a claim from its line.
func (q *Queue) leave(c *Claim) {
	l := c.line
	c.line = nil
	at, _ := slices.BinarySearchFunc(l.claims, c, byAge)
	l.claims = slices.Delete(l.claims, at, at+1)
	if len(l.claims) == 0 {
		q.lines = slices.DeleteFunc(q.lines, func(x *line) bool { return x == l })
	}
	if c.pool != nil {
		c.pool.waiting--
		q.forgetPool(c.pool)
	}
	l.user.waiting--
	q.forgetUser(l.user)
	q.waiting--
	if c.Preempt {
		q.preempting--
	}
}

func (q *Queue) forgetUser(u *user) {
	if u.waiting == 0 && len(u.holders) == 0 {
		delete(q.users, u.name)
	}
}

package engine

import (
	"container/heap"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// A run takes a place before it starts: one of the host's (max-running), one
// of its account's (max-running-per-user), and slots of its pool. It keeps them
// until its process has ended. Whoever finds no place waits.
//
// Who waits is asked in this order: larger priority= first; at equal priority
// the account whose last turn is longest ago; of one account the older run. The
// first one that its pool has too few slots for keeps back all that come behind
// it in the same pool, so that who asks for much gets it in the end, and nobody
// else. One whose account has all its places keeps back nobody.
//
// A run that a person forces takes its place without asking.

// defaultQueue is how many runs may wait where queue-max= says nothing, and
// turnsPerStep how many of them a step starts before it leaves the rest to the
// next one, as with the firing of schedules.
const (
	defaultQueue = 10_000
	turnsPerStep = stepSize / 2
	topPriority  = 10
)

// places is who holds places and who waits for one. A run is in it only if
// something bounds it, or while the daemon drains: the plain jobs of a host
// without limits cost nothing here.
type places struct {
	limits   Limits
	bounded  bool // by max-running or max-running-per-user
	running  int  // runs that hold a place, if bounded
	waiting  int
	accounts map[string]*account
	pools    map[string]*pool
	tiers    [topPriority + 1]order[*turn] // by priority, those that may go on
	served   map[turnKey]int               // when an account had its last turn; forgotten when nobody waits
	rounds   int                           // turns so far
	chosen   *run                          // the one whose turn it is
	left     int                           // turns left in this step
	slow     []*pool                       // those that wait for time, as their rate is used up
	over     Overflow
}

// Overflow tells of runs that were dropped as the queue was full.
type Overflow struct {
	Count int       // since the daemon started
	Last  time.Time // zero: none was
}

// Overflow tells whether runs were dropped as too many waited.
func (v *View) Overflow() Overflow { return v.over }

// turnKey names the runs of an account that have one priority.
type turnKey struct {
	account  string
	priority int
}

// account is what one account holds and waits for.
type account struct {
	name    string
	holders []*run
	waiting int
	turns   [topPriority + 1]*turn
	full    bool // found to have all its places: its turns are not in order
}

// turn is the lines of an account at one priority, which takes turns with others.
type turn struct {
	account *account
	key     turnKey
	served  int
	lines   map[*pool]*line
	ready   order[*line] // without those that are parked
	at      int          // where it stands in its tier; -1: it does not
}

// line is runs that wait with the same account, priority and pool: if the
// first cannot go on, none can.
type line struct {
	turn *turn
	pool *pool // nil: of no pool
	runs order[*claim]
	at   int // where it stands in its turn; -1: its pool has parked it
}

// claim is what a run holds or waits for.
type claim struct {
	run   *run
	pool  *pool
	slots int
	line  *line // nil: it has it
	at    int   // where it stands in the line
}

// pool is slots that runs share.
type pool struct {
	key, name string
	Pool
	taken   int
	waiting int
	holders []*run
	parked  map[*line]bool  // that found too few slots
	starts  []time.Duration // of the last Per, if Rate bounds them; oldest first
	until   time.Duration   // time since boot at which Rate allows another start; 0: it does
}

// bounds tells whether every run needs a place.
func (l *Limits) bounds() bool { return l.MaxRunning > 0 || l.MaxPerUser > 0 }

// queue is how many runs may wait for a place.
func (l *Limits) queue() int {
	if l.QueueMax == 0 {
		return defaultQueue
	}
	return l.QueueMax
}

// pool is the pool that an entry means. A pool that is declared is there for
// root's tables, and for the tables of the accounts that it lists. Other
// accounts have a pool of that name for themselves: nobody may hold up the jobs
// of others by a word.
func (l *Limits) pool(entry *crontab.Entry, name string) (key string, p Pool, declared bool) {
	p, declared = l.Pools[name]
	by := entry.Hand()
	if declared && (by == "root" || slices.Contains(p.Users, by) || slices.Contains(p.Users, "*")) {
		return name, p, true
	}
	return by + "\x00" + name, Pool{Size: 1}, declared
}

// judgePools finds the entries that can never start, as they ask for more
// slots than their pool has.
func (s *jobs) judgePools(l Limits) {
	for _, slot := range s.pooled {
		entry := s.entry(slot)
		o := entry.Options()
		key, p, declared := l.pool(entry, o.Pool)
		if o.Slots <= p.Size {
			continue
		}
		if s.short == nil {
			s.short = map[int32]string{}
		}
		why := fmt.Sprintf("pool=%s asks for %d slots, and there are %d", o.Pool, o.Slots, p.Size)
		switch {
		case declared && key != o.Pool:
			why += ": the pool that the configuration declares is not for tables of " + entry.Hand()
		case !declared:
			why += ": the configuration declares no such pool"
		}
		s.short[slot] = why
	}
}

// watchedFirst puts runs that are watched before others: they hold their
// places when the others ask.
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

// place is the last gate. Nothing passes it while the daemon drains.
func (e *Engine) place(r *run) answer {
	p := &e.places
	switch {
	case r == p.chosen:
		return passes
	case e.draining:
		e.lineUp(r)
		e.wait(r, job.RunQueued, job.WaitsForPlace, "the daemon is about to be replaced")
		return waits
	case r.forced || !p.bounded && r.options.Pool == "":
		return passes
	}
	e.lineUp(r)
	if e.dispatch(r) {
		return passes
	}
	if r.claim == nil || r.claim.line == nil { // its turn came while one before it was dropped and another took up its job
		return waits
	}
	e.wait(r, job.RunQueued, job.WaitsForPlace, e.crowd(r))
	return e.overflow(r)
}

// overflow drops a run if too many wait: the newest of the least priority of
// the account of which most wait, so that no account crowds out another.
func (e *Engine) overflow(r *run) answer {
	p := &e.places
	most := p.limits.queue()
	if p.waiting <= most {
		return waits
	}
	victim := p.victim(r)
	p.over = Overflow{p.over.Count + 1, e.now.Wall}
	e.dropFor(victim, job.QueueOverflow, fmt.Sprintf("queue-max is %d", most))
	if victim == r {
		return refused
	}
	e.promote(victim.Job)
	return waits
}

func (p *places) victim(r *run) *run {
	largest := p.accounts[r.User]
	for _, a := range p.accounts {
		if a.waiting > largest.waiting || a.waiting == largest.waiting && largest.name != r.User && a.name < largest.name {
			largest = a
		}
	}
	if largest.name == r.User {
		return r
	}
	var last *run
	for _, t := range largest.turns {
		if t == nil {
			continue
		}
		for _, l := range t.lines {
			for _, c := range l.runs {
				if last == nil || c.run.ID > last.ID {
					last = c.run
				}
			}
		}
		if last != nil {
			break
		}
	}
	return last
}

// lineUp lets a run wait for what it needs.
func (e *Engine) lineUp(r *run) {
	e.vacate(r)
	p := &e.places
	c := &claim{run: r}
	if slot, ok := e.slotOf(r); ok && r.options.Pool != "" {
		c.pool = p.poolOf(e.jobs.entry(slot), r.options.Pool)
		c.slots = min(r.options.Slots, c.pool.Size) // more is asked for only if the entry is held by now, which its turn will tell
		c.pool.waiting++
	}
	r.claim = c
	p.waiting++
	a := p.account(r.User)
	a.waiting++
	p.join(c, p.turn(a, r.options.Priority))
	if c.pool != nil && c.pool.taken < c.pool.Size {
		p.wake(c.pool)
	}
}

func (p *places) account(name string) *account {
	a := p.accounts[name]
	if a == nil {
		a = &account{name: name}
		p.accounts[name] = a
	}
	return a
}

func (p *places) turn(a *account, priority int) *turn {
	if a.turns[priority] == nil {
		key := turnKey{a.name, priority}
		a.turns[priority] = &turn{account: a, key: key, served: p.served[key], lines: map[*pool]*line{}, at: -1}
	}
	return a.turns[priority]
}

func (p *places) poolOf(entry *crontab.Entry, name string) *pool {
	key, declared, _ := p.limits.pool(entry, name)
	return p.poolBy(key, name, declared)
}

func (p *places) poolBy(key, name string, what Pool) *pool {
	if p.pools[key] == nil {
		p.pools[key] = &pool{key: key, name: name, Pool: what, parked: map[*line]bool{}}
	}
	return p.pools[key]
}

// join puts a claim into its line.
func (p *places) join(c *claim, t *turn) {
	l := t.lines[c.pool]
	if l == nil {
		l = &line{turn: t, pool: c.pool, at: -1}
		t.lines[c.pool] = l
	}
	c.line = l
	heap.Push(&l.runs, c)
	if !l.parked() {
		p.show(l)
	}
}

func (l *line) parked() bool { return l.pool != nil && l.pool.parked[l] }

// show lets a line take part, at the place that is its.
func (p *places) show(l *line) {
	t := l.turn
	if l.at < 0 {
		heap.Push(&t.ready, l)
	} else {
		heap.Fix(&t.ready, l.at)
	}
	p.seat(t)
}

// hide takes a line out of the order.
func (p *places) hide(l *line) {
	if l.at >= 0 {
		heap.Remove(&l.turn.ready, l.at)
		p.seat(l.turn)
	}
}

// seat puts a turn where it belongs in its tier.
func (p *places) seat(t *turn) {
	tier := &p.tiers[t.key.priority]
	takesPart := len(t.ready) > 0 && !t.account.full
	switch {
	case takesPart && t.at < 0:
		heap.Push(tier, t)
	case takesPart:
		heap.Fix(tier, t.at)
	case t.at >= 0:
		heap.Remove(tier, t.at)
	}
}

// leave takes a claim out of its line.
func (p *places) leave(c *claim) {
	l, t := c.line, c.line.turn
	heap.Remove(&l.runs, c.at)
	switch {
	case len(l.runs) == 0:
		p.hide(l)
		delete(t.lines, l.pool)
		if l.pool != nil {
			delete(l.pool.parked, l)
		}
	case l.at >= 0:
		p.show(l)
	}
	if len(t.lines) == 0 {
		t.account.turns[t.key.priority] = nil
	}
	if c.pool != nil {
		c.pool.waiting--
		if c.pool.taken < c.pool.Size { // it may have kept others back
			p.wake(c.pool)
		}
		p.forgetPool(c.pool)
	}
	t.account.waiting--
	p.forgetAccount(t.account)
	p.waiting--
	if p.waiting == 0 {
		clear(p.served)
	}
}

func (p *places) forgetAccount(a *account) {
	if a.waiting == 0 && len(a.holders) == 0 {
		delete(p.accounts, a.name)
	}
}

func (p *places) forgetPool(x *pool) {
	if x.waiting == 0 && len(x.holders) == 0 && len(x.starts) == 0 {
		delete(p.pools, x.key)
	}
}

// wake lets all lines of a pool be asked again.
func (p *places) wake(x *pool) {
	for l := range x.parked {
		delete(x.parked, l)
		p.show(l)
	}
}

// first is the line whose turn it is, or nil.
func (p *places) first() *line {
	for priority := topPriority; priority > 0; priority-- {
		if tier := p.tiers[priority]; len(tier) > 0 {
			return tier[0].ready[0]
		}
	}
	return nil
}

// dispatch lets those who wait go on, in order, as far as there are places. It
// ends at asker, whose turn has come then.
func (e *Engine) dispatch(asker *run) bool {
	p := &e.places
	if p.chosen != nil || p.waiting == 0 || e.draining {
		return false
	}
	p.hurry(e.now.Up)
	for p.left > 0 && p.roomy() {
		l := p.first()
		if l == nil {
			return false
		}
		c := l.runs[0]
		switch {
		case p.isFull(l.turn.account):
			p.bench(l.turn.account)
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
		stays := e.goOn(c.run, job.RanAfterPlace)
		p.chosen = nil
		if !stays {
			e.promote(c.run.Job)
		}
	}
	return false
}

// hasMore tells whether dispatch left something to the next step.
func (p *places) hasMore() bool { return p.left == 0 && p.roomy() && p.first() != nil }

// roomy tells whether the host has a place left.
func (p *places) roomy() bool { return p.limits.MaxRunning == 0 || p.running < p.limits.MaxRunning }

func (p *places) isFull(a *account) bool {
	return p.limits.MaxPerUser > 0 && len(a.holders) >= p.limits.MaxPerUser
}

// bench keeps an account out of the order until one of its runs has ended.
func (p *places) bench(a *account) {
	a.full = true
	for _, t := range a.turns {
		if t != nil {
			p.seat(t)
		}
	}
}

// serve takes the run whose turn it is out of its line, and puts its account
// behind the others.
func (p *places) serve(c *claim) {
	t := c.line.turn
	p.rounds++
	p.served[t.key], t.served = p.rounds, p.rounds
	p.leave(c)
	if a := t.account; a.turns[t.key.priority] == t {
		p.seat(t)
	}
	c.run.claim = nil
}

// fits tells whether a claim's pool has room for it and nobody before it waits
// for the pool.
func (p *places) fits(c *claim, now time.Duration) bool {
	x := c.pool
	if len(x.parked) > 0 || x.taken+c.slots > x.Size {
		return false
	}
	x.forgetStarts(now)
	if x.Rate > 0 && len(x.starts) >= x.Rate {
		if x.until == 0 {
			p.slow = append(p.slow, x)
		}
		x.until = x.starts[len(x.starts)-x.Rate] + x.Per
		return false
	}
	return true
}

func (x *pool) forgetStarts(now time.Duration) {
	old := 0
	for old < len(x.starts) && x.starts[old]+x.Per <= now {
		old++
	}
	x.starts = x.starts[old:]
}

// hurry wakes the pools whose rate allows another start.
func (p *places) hurry(now time.Duration) {
	p.slow = slices.DeleteFunc(p.slow, func(x *pool) bool {
		if x.until > now {
			return false
		}
		x.until = 0
		p.wake(x)
		return true
	})
}

// next is when a pool's rate allows another start.
func (p *places) next() (at time.Duration, ok bool) {
	for _, x := range p.slow {
		if !ok || x.until < at {
			at, ok = x.until, true
		}
	}
	return at, ok
}

// occupy gives a run that starts, or is found running, what it holds from now on.
func (e *Engine) occupy(r *run) {
	if !e.places.bounded && r.options.Pool == "" {
		return
	}
	var x *pool
	if slot, ok := e.slotOf(r); ok && r.options.Pool != "" {
		x = e.places.poolOf(e.jobs.entry(slot), r.options.Pool)
	}
	e.hold(r, x)
}

func (e *Engine) hold(r *run, x *pool) {
	p := &e.places
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
	return e.now.Up - e.now.Wall.Sub(r.Run.Started)
}

func (x *pool) noteStart(at time.Duration) {
	x.starts = append(x.starts, at)
	slices.Sort(x.starts)
}

// vacate gives up what a run holds or waits for.
func (e *Engine) vacate(r *run) {
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
		a.full = false
		p.bringBack(a)
	}
	p.forgetAccount(a)
	if x := c.pool; x != nil {
		x.taken -= c.slots
		x.holders = without(x.holders, r)
		p.wake(x)
		p.forgetPool(x)
	}
}

func (p *places) bringBack(a *account) {
	for _, t := range a.turns {
		if t != nil {
			p.seat(t)
		}
	}
}

func without(runs []*run, r *run) []*run {
	return slices.DeleteFunc(runs, func(x *run) bool { return x == r })
}

// measure applies the limits of a load. Who runs keeps what it holds, even if
// that is more than there is now; who waits stands in line anew, for what its
// entry says today.
func (e *Engine) measure(l Limits) {
	before := e.places
	e.places = places{
		limits: l, bounded: l.bounds(), accounts: map[string]*account{}, pools: map[string]*pool{},
		served: before.served, rounds: before.rounds, left: before.left, over: before.over,
	}
	if before.served == nil {
		e.places.served = map[turnKey]int{}
	}
	if !l.bounds() && len(before.accounts) == 0 {
		return
	}
	for _, r := range e.sorted() {
		c := r.claim
		r.claim = nil
		slot, known := e.slotOf(r)
		switch {
		case r.hasProcess() && c != nil && c.pool != nil && !known:
			e.hold(r, e.places.poolBy(c.pool.key, c.pool.name, c.pool.Pool))
		case r.hasProcess():
			e.occupy(r)
		case c != nil:
			if known {
				r.options = e.jobs.options(slot)
			}
			e.lineUp(r)
		}
	}
	for key, x := range before.pools {
		if now := e.places.pools[key]; now != nil && now.Rate > 0 {
			now.starts = x.starts
		}
	}
}

// hasProcess tells whether a run has a process, or is to have one now.
func (r *run) hasProcess() bool { return r.State == job.RunDecided || r.State == job.RunRunning }

// crowd says what keeps a run waiting, and who. Of the jobs of other accounts
// an account learns no more than that they are there.
func (e *Engine) crowd(r *run) string {
	p, c := &e.places, r.claim
	a := p.accounts[r.User]
	switch x := c.pool; {
	case !p.roomy():
		return fmt.Sprintf("%d of %d places of the host are taken, %d by %s", p.running, p.limits.MaxRunning, len(a.holders), r.User)
	case p.isFull(a):
		return fmt.Sprintf("%d of %d places of %s are taken%s", len(a.holders), p.limits.MaxPerUser, r.User, takers(a.holders, r.User))
	case x == nil:
		return "others come first"
	case x.taken+c.slots > x.Size:
		asks := ""
		if c.slots > 1 {
			asks = fmt.Sprintf(", and it asks for %d", c.slots)
		}
		return fmt.Sprintf("pool %s: %d of %d slots are taken%s%s", x.name, x.taken, x.Size, takers(x.holders, r.User), asks)
	case x.until > e.now.Up:
		return fmt.Sprintf("pool %s: %d starts in %s are all that its rate allows, the next in %s", x.name, x.Rate, x.Per, x.until-e.now.Up)
	default:
		return fmt.Sprintf("pool %s: others come first", x.name)
	}
}

// takers names those who hold something, as far as an account may know.
func takers(holders []*run, user string) string {
	const few = 3
	var names []string
	for _, h := range holders {
		if len(names) < few && (h.User == user || user == "root") {
			names = append(names, fmt.Sprintf("run %d (%s)", h.ID, h.Job))
		}
	}
	if more := len(holders) - len(names); more > 0 && len(names) > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	} else if more > 0 {
		names = append(names, "runs of other accounts")
	}
	if len(names) == 0 {
		return ""
	}
	return " by " + strings.Join(names, ", ")
}

// ranked is what knows who comes first, and where it stands itself.
type ranked[T any] interface {
	before(T) bool
	stand(int)
}

var (
	_ ranked[*claim] = (*claim)(nil)
	_ ranked[*line]  = (*line)(nil)
	_ ranked[*turn]  = (*turn)(nil)
)

// order is a heap of such, the first on top.
type order[T ranked[T]] []T

func (c *claim) before(x *claim) bool { return c.run.ID < x.run.ID }
func (c *claim) stand(at int)         { c.at = at }
func (l *line) before(x *line) bool   { return l.runs[0].before(x.runs[0]) }
func (l *line) stand(at int)          { l.at = at }
func (t *turn) stand(at int)          { t.at = at }
func (t *turn) before(x *turn) bool {
	if t.served != x.served {
		return t.served < x.served
	}
	return t.ready[0].before(x.ready[0])
}

// Len, Less, Swap, Push and Pop are heap.Interface.
func (o order[T]) Len() int           { return len(o) }
func (o order[T]) Less(i, j int) bool { return o[i].before(o[j]) }
func (o order[T]) Swap(i, j int) {
	o[i], o[j] = o[j], o[i]
	o[i].stand(i)
	o[j].stand(j)
}
func (o *order[T]) Push(x any) {
	x.(T).stand(len(*o))
	*o = append(*o, x.(T))
}
func (o *order[T]) Pop() any {
	old := *o
	last := old[len(old)-1]
	var none T
	old[len(old)-1] = none
	last.stand(-1)
	*o = old[:len(old)-1]
	return last
}

package engine

import (
	"container/heap"

	"github.com/cronring/cronring/daemon/engine/order"
)

// account holds the slots and the waiting runs of one user.
type account struct {
	name    string
	holders []*run
	waiting int
	turns   [topPriority + 1]*turn
	full    bool // all its slots are taken, so its turns are not in the order
}

// turnKey identifies the runs of a user with one priority.
type turnKey struct {
	account  string
	priority int
}

// turn is the lines of a user at one priority. The turns of all users are served
// round-robin.
type turn struct {
	account *account
	key     turnKey
	served  int
	lines   map[*pool]*line
	ready   order.Heap[*line] // lines that are not parked
	at      int               // index in its tier; -1: not in it
}

// line is a queue of runs with the same user, priority and pool: if the first run cannot
// continue, none of them can.
type line struct {
	turn *turn
	pool *pool // nil: no pool
	runs order.Heap[*claim]
	at   int // index in its turn; -1: its pool has parked it
}

// claim is the slots that a run holds or waits for.
type claim struct {
	run   *run
	pool  *pool
	slots int
	line  *line // nil: the run holds the slots
	at    int   // index in the line
}

// lineUp puts a run into the queue for the slots that it needs.
func (e *Engine) lineUp(r *run) {
	e.releaseSlots(r)
	p := &e.places
	c := &claim{run: r}
	if c.pool = e.poolOf(r); c.pool != nil {
		c.slots = min(r.options.Slots, c.pool.Size) // slots= exceeds the pool only if the entry is held by now, which is found when the run is served
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

// join adds a claim to its line.
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

// show puts a line into the order, or updates its position there.
func (p *places) show(l *line) {
	t := l.turn
	if l.at < 0 {
		heap.Push(&t.ready, l)
	} else {
		heap.Fix(&t.ready, l.at)
	}
	p.reorder(t)
}

// hide removes a line from the order.
func (p *places) hide(l *line) {
	if l.at >= 0 {
		heap.Remove(&l.turn.ready, l.at)
		p.reorder(l.turn)
	}
}

// reorder puts a turn at its position in its tier, or removes it from the tier.
func (p *places) reorder(t *turn) {
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

// first returns the next line to be served, or nil.
func (p *places) first() *line {
	for priority := topPriority; priority > 0; priority-- {
		if tier := p.tiers[priority]; len(tier) > 0 {
			return tier[0].ready[0]
		}
	}
	return nil
}

// setFull removes a user's turns from the order, or puts them back.
func (p *places) setFull(a *account, full bool) {
	a.full = full
	for _, t := range a.turns {
		if t != nil {
			p.reorder(t)
		}
	}
}

// serve removes the next run from its line, and moves its user behind the others.
func (p *places) serve(c *claim) {
	t := c.line.turn
	p.rounds++
	p.served[t.key], t.served = p.rounds, p.rounds
	p.leave(c)
	if a := t.account; a.turns[t.key.priority] == t {
		p.reorder(t)
	}
	c.run.claim = nil
}

// leave removes a claim from its line.
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
		if c.pool.taken < c.pool.Size { // it may have blocked other runs
			p.wake(c.pool)
		}
		p.forgetPool(c.pool)
	}
	t.account.waiting--
	p.forgetAccount(t.account)
	p.waiting--
}

func (p *places) forgetAccount(a *account) {
	if a.waiting == 0 && len(a.holders) == 0 {
		delete(p.accounts, a.name)
	}
}

func (c *claim) Before(x *claim) bool { return c.run.ID < x.run.ID }
func (c *claim) Stand(at int)         { c.at = at }
func (l *line) Before(x *line) bool   { return l.runs[0].Before(x.runs[0]) }
func (l *line) Stand(at int)          { l.at = at }
func (t *turn) Stand(at int)          { t.at = at }
func (t *turn) Before(x *turn) bool {
	if t.served != x.served {
		return t.served < x.served
	}
	return t.ready[0].Before(x.ready[0])
}

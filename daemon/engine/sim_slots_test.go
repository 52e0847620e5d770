package engine

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/engine/backfill"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/slots"
	"github.com/cronring/cronring/daemon/job"
)

// queueing is the state that the invariants about slots and backfills are checked
// against, following the rules in the manual.
type queueing struct {
	held   map[job.RunID]slotNeed // runs that have a process, or will have one
	waits  map[job.RunID]slotNeed // runs that wait for a slot
	waited map[string]int         // how many runs waited when the engine last slept, by user
	fills  map[int64]*filling
	rates  map[string][]time.Duration
	used   *usage          // the slots used by held; nil: not counted yet
	turns  map[turnKey]int // when users were served, while runs wait; unsure: not known
	taken  int             // number of runs served until now
}

// unsure is a turn that may have led to no start.
const unsure = -1

// slotNeed is the slots that a run needs.
type slotNeed struct {
	job                  job.ID
	account, owner, pool string
	slots, priority      int
}

// filling is the known state of a backfill.
type filling struct {
	job.Backfill
	cursor  time.Time
	decided int
}

func newQueueing() queueing {
	return queueing{
		held: map[job.RunID]slotNeed{}, waits: map[job.RunID]slotNeed{}, fills: map[int64]*filling{}, rates: map[string][]time.Duration{},
		turns: map[turnKey]int{},
	}
}

// turnKey identifies the runs of a user with one priority.
type turnKey struct {
	account  string
	priority int
}

// randomLimits sets limits for some hosts.
func randomLimits(rng *rand.Rand) slots.Limits {
	l := slots.Limits{Pools: map[string]slots.Pool{}}
	if rng.IntN(3) == 0 {
		l.MaxRunning = 1 + rng.IntN(4)
	}
	if rng.IntN(3) == 0 {
		l.MaxPerUser = 1 + rng.IntN(3)
	}
	l.QueueMax = 1 + rng.IntN(20)
	if rng.IntN(2) == 0 {
		l.Pools["p"] = slots.Pool{Size: 1 + rng.IntN(3), Users: []string{"ann"}}
	}
	if rng.IntN(2) == 0 {
		l.Pools["q"] = slots.Pool{Size: 2, Rate: 1 + rng.IntN(3), Per: time.Duration(1+rng.IntN(20)) * time.Minute}
	}
	return l
}

var placeOptions = []string{"pool=p", "pool=p:2", "pool=q", "priority=4", "priority=2", "preempt priority=8", "preemptible priority=3", "preempt preemptible priority=6", "max-instances=2"}

// randomFill starts or stops a backfill.
func (h *history) randomFill(rng *rand.Rand) {
	w := h.w
	v := w.engine.View()
	if v.Len() == 0 {
		return
	}
	if going := v.Backfills(); len(going) > 0 && rng.IntN(4) == 0 {
		w.step(event.StopBackfill{ID: going[rng.IntN(len(going))].ID, By: "ann"})
		return
	}
	to := w.now.Wall.Add(-time.Duration(rng.Int64N(int64(48 * time.Hour))))
	b := job.Backfill{
		Job: v.ID(rng.IntN(v.Len())), By: "ann", To: to, From: to.Add(-time.Duration(rng.Int64N(int64(6 * time.Hour)))),
		Overlap: []string{"allow", "queue-all"}[rng.IntN(2)], MaxActive: 1 + rng.IntN(3),
		Reprocess: []job.Reprocess{job.ReprocessNone, job.ReprocessFailed, job.ReprocessAll}[rng.IntN(3)],
	}
	h.say("backfill %+v", b)
	w.step(event.Backfill{Request: b, Ran: w.store.RanIn(b.Job, b.From, b.To)})
}

// checkSlots checks the invariants about slots for one step, effect by eff.
func (h *history) checkSlots(effects []effect.Effect) {
	loaded := !loads(effects)
	for _, eff := range effects {
		switch eff := eff.(type) {
		case effect.Fact:
			loaded = loaded || eff.Record.Kind == job.Loaded
			h.preempted(eff.Record)
			h.filling(eff.Record)
			h.queue(eff.Record)
		case effect.Start:
			h.takesPlace(eff.Run, loaded)
		}
	}
	h.allServed()
	h.fillsBounded()
}

// preempted checks invariant 37.
func (h *history) preempted(r job.Record) {
	if r.Kind != job.Stopping || r.Reason != job.Preempted {
		return
	}
	victim, urgent := h.w.engine.live[r.Run.ID], h.w.engine.live[r.Run.Stop.For]
	switch {
	case victim == nil || urgent == nil:
		h.w.t.Errorf("invariant 37: run %d is preempted by run %d, and one of them is not live", r.Run.ID, r.Run.Stop.For)
	case !victim.Options.Preemptible || !urgent.Options.Preempt || victim.Options.Priority >= urgent.Options.Priority || victim.Lost >= job.MaxReruns:
		h.w.t.Errorf("invariant 37: run %d must not be preempted by run %d", victim.ID, urgent.ID)
	case victim.User != urgent.User && h.slotNeedOf(urgent.Run).owner != "root":
		h.w.t.Errorf("invariant 37: run %d of %s is preempted by run %d of %s", victim.ID, victim.User, urgent.ID, urgent.User)
	}
}

// updateSlotNeeds updates the needs of waiting runs to the current entries.
func (h *history) updateSlotNeeds() {
	for id, s := range h.queueing.waits {
		h.queueing.waits[id] = h.slotNeedOf(job.Run{Job: s.job, User: s.account})
	}
}

func (h *history) queue(r job.Record) {
	q := &h.queueing
	if r.Run == nil {
		return
	}
	id := r.Run.ID
	switch {
	case r.Run.State == job.RunQueued && r.Run.Reason == job.WaitsForSlot:
		q.waits[id] = h.slotNeedOf(*r.Run)
		return
	case r.Kind == job.Ended:
		if s, holds := q.held[id]; holds {
			delete(q.held, id)
			h.count(s, -1)
		}
	}
	if s, waited := q.waits[id]; waited && r.Kind != job.Ready {
		q.turns[turnKey{s.account, s.priority}] = unsure
	}
	delete(q.waits, id)
}

// slotNeedOf returns the slots that a run needs according to its entry.
func (h *history) slotNeedOf(r job.Run) slotNeed {
	s := slotNeed{job: r.Job, account: r.User, priority: 5}
	slot, ok := h.find(r.Job)
	if !ok {
		return s
	}
	entry := h.w.engine.jobs.Entry(slot)
	o := entry.Options()
	s.priority, s.pool, s.slots, s.owner = o.Priority, o.Pool, o.Slots, entry.File().Owner()
	return s
}

// poolOf returns the name of the pool of a need and its limits.
func (h *history) poolOf(s slotNeed) (string, slots.Pool) {
	p, declared := h.w.engine.slots.Limits.Pools[s.pool]
	if declared && (s.owner == "root" || slices.Contains(p.Users, s.owner)) {
		return s.pool, p
	}
	return s.owner + "'s " + s.pool, slots.Pool{Size: 1}
}

// usage is the total of all used slots.
type usage struct {
	running  int
	accounts map[string]int
	slots    map[string]int // by pool
}

func (h *history) usage() *usage {
	if h.queueing.used == nil {
		h.queueing.used = &usage{accounts: map[string]int{}, slots: map[string]int{}}
		for _, x := range h.queueing.held {
			h.count(x, 1)
		}
	}
	return h.queueing.used
}

// count adds a need to the usage, or subtracts it.
func (h *history) count(x slotNeed, by int) {
	u := h.queueing.used
	if u == nil {
		return
	}
	u.running += by
	u.accounts[x.account] += by
	if x.pool != "" {
		name, _ := h.poolOf(x)
		u.slots[name] += by * x.slots
	}
}

// waiting counts the waiting runs of each account.
func (q *queueing) waiting() map[string]int {
	n := map[string]int{}
	for _, s := range q.waits {
		n[s.account]++
	}
	return n
}

// forget drops the state that belongs to other limits or to another daemon. What waits
// may continue to wait, also if less can from now on.
func (q *queueing) forget() {
	q.used, q.waited = nil, q.waiting()
	clear(q.rates)
	clear(q.turns)
}

// takesPlace checks invariants 20 and 21 at a start. Before the crontabs are loaded in a step,
// the limits are others, and the start is only counted.
func (h *history) takesPlace(r job.Run, loaded bool) {
	q, l, t := &h.queueing, h.w.engine.slots.Limits, h.w.t
	mine := h.slotNeedOf(r)
	q.held[r.ID] = mine
	h.count(mine, 1)
	defer q.takesTurn(mine) // even if it needs no slot
	if !loaded || mine.pool == "" && l.MaxRunning == 0 && l.PerUser(mine.account) == 0 {
		return // it needs no slot, so it overtakes no other run
	}
	u := h.usage()
	name, pool := h.poolOf(mine)
	running, account, slots := u.running, u.accounts[mine.account], u.slots[name]
	if exceeds(l.MaxRunning, running) || exceeds(l.PerUser(r.User), account) || mine.pool != "" && slots > pool.Size {
		t.Errorf("invariant 20: with run %d there are %d runs, %d of %s, and %d slots of pool %s in use: %+v", r.ID, running, account, r.User, slots, name, l)
	}
	if mine.pool != "" && pool.Rate > 0 {
		now := h.w.now.Up
		q.rates[name] = append(slices.DeleteFunc(q.rates[name], func(at time.Duration) bool { return at+pool.Per <= now || at > now }), now)
		if len(q.rates[name]) > pool.Rate {
			t.Errorf("invariant 20: run %d is start %d of pool %s in %s, and %d are allowed", r.ID, len(q.rates[name]), name, pool.Per, pool.Rate)
		}
	}
	for id, other := range q.waits {
		if other.owner == "" {
			continue // its job is gone in the same step, and it is about to be dropped
		}
		otherName, _ := h.poolOf(other)
		if other.pool != "" && (mine.pool == "" || otherName != name) {
			continue // it waits for something else
		}
		canGo := !exceeds(l.PerUser(other.account), u.accounts[other.account]+1) || other.account == r.User
		first := other.priority > mine.priority ||
			other.priority == mine.priority && other.account == mine.account && other.pool == mine.pool && id < r.ID
		if last, turn := q.turns[turnKey{other.account, other.priority}], q.turns[turnKey{mine.account, mine.priority}]; canGo &&
			other.priority == mine.priority && other.pool == mine.pool && last != unsure && turn > last {
			t.Errorf("invariant 21: run %d of %s starts before run %d of %s, whose last turn was before", r.ID, mine.account, id, other.account)
		}
		if canGo && first {
			t.Errorf("invariant 21: run %d (%+v) starts before run %d (%+v)", r.ID, mine, id, other)
		}
	}
}

// takesTurn moves a user behind the others.
func (q *queueing) takesTurn(s slotNeed) {
	q.taken++
	if q.turns[turnKey{s.account, s.priority}] = q.taken; len(q.waits) == 0 {
		clear(q.turns)
	}
}

// allServed checks invariant 22 once the engine sleeps.
func (h *history) allServed() {
	w, l := h.w, h.w.engine.slots.Limits
	if !h.sleeps() {
		return
	}
	if len(h.queueing.waits) == 0 {
		h.queueing.waited = nil
		return
	}
	u := h.usage()
	for id, s := range h.queueing.waits {
		name, pool := h.poolOf(s)
		busy := exceeds(l.MaxRunning, u.running+1) || exceeds(l.PerUser(s.account), u.accounts[s.account]+1)
		if !busy && (s.pool == "" || u.slots[name] == 0 && pool.Rate == 0) {
			w.t.Errorf("invariant 22: run %d (%+v) waits, and nothing is in its way: %+v, held %+v", id, s, l, h.queueing.held)
		}
	}
	waiting := h.queueing.waiting()
	for account, n := range waiting {
		if n > max(l.QueueMax, h.queueing.waited[account]) { // as many as before, if the queue was longer then
			w.t.Errorf("invariant 22: %d runs of %s wait, %d can", n, account, l.QueueMax)
		}
	}
	h.queueing.waited = waiting
}

// exceeds reports whether n is more than a limit, where 0 is none.
func exceeds(limit, n int) bool { return limit > 0 && n > limit }

// filling checks invariant 23: a backfill decides each of its occurrences once, in order.
func (h *history) filling(r job.Record) {
	q, t := &h.queueing, h.w.t
	if r.Kind == job.Filled {
		b := *r.Backfill
		f := q.fills[b.ID]
		if f == nil {
			f = &filling{cursor: b.From.Add(-1)}
			q.fills[b.ID] = f
		}
		f.Backfill = b
		if !b.Cursor.Equal(f.cursor) {
			t.Errorf("invariant 23: backfill %d is at %s by its own count, and has decided up to %s", b.ID, b.Cursor, f.cursor)
		}
		if b.Started+b.Skipped != f.decided {
			t.Errorf("invariant 23: backfill %d counts %d and %d occurrences, and has decided %d", b.ID, b.Started, b.Skipped, f.decided)
		}
		if s := h.schedule(b.Job); b.State == job.BackfillDone && s != nil {
			if next := s.Next(f.cursor); !next.IsZero() && !next.After(b.To) {
				t.Errorf("invariant 23: backfill %d is done, and %s is not decided", b.ID, next)
			}
		}
		return
	}
	var id int64
	switch {
	case r.Kind != job.Decided:
		return
	case r.Run != nil:
		id = r.Run.Backfill
	case r.Backfill != nil:
		id = r.Backfill.ID
	}
	if id == 0 {
		return
	}
	f := q.fills[id]
	first, count := r.Due, max(r.Count, 1)
	if r.Count > 1 {
		first = r.First
	}
	s := h.schedule(r.Job)
	for range count {
		want := s.Next(f.cursor)
		if first.After(f.cursor) && !want.Equal(first) {
			t.Errorf("invariant 23: backfill %d decides %s after %s, and %s is between them", id, first, f.cursor, want)
		}
		if !want.After(f.cursor) || want.After(r.Due) {
			t.Errorf("invariant 23: backfill %d decides %s again", id, r.Due)
		}
		f.cursor, first = want.UTC(), s.Next(want)
		f.decided++
	}
}

// fillsBounded checks that no backfill has more live runs than its limit.
func (h *history) fillsBounded() {
	going := h.w.engine.fills.List()
	if len(going) == 0 {
		return
	}
	live := map[int64]int{}
	for _, r := range h.w.engine.live {
		live[r.Backfill]++
	}
	for _, b := range going {
		most := b.MaxActive
		if b.Overlap == backfill.QueueAll {
			most = 1
		}
		if live[b.ID] > most {
			h.w.t.Errorf("invariant 23: %d runs of backfill %d live, and %d may", live[b.ID], b.ID, most)
		}
	}
}

// placesKept updates the state for the next daemon: only the processes that it watches
// hold slots, according to their current entries.
func (h *history) placesKept() {
	for id := range h.queueing.held {
		if !h.watched(id) {
			delete(h.queueing.held, id)
			continue
		}
		h.queueing.held[id] = h.slotNeedOf(h.w.store.Live[id])
	}
	h.queueing.forget()
}

package jobstate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
)

// memory caches the newest ended run of every job, for boards and lists. Reading the history each
// time takes long for many jobs, so the first board or list reads it once, and later ends update
// the cache. Until then the cache is empty.
type memory struct {
	store     Store
	view      func() *view.View
	semaphore chan struct{} // held while updating; the updater has all of it

	mu        sync.Mutex
	recent    recentRuns
	numbering *Numbering // nil: not used yet
	pastCache
	filling  bool
	missed   update // updates that arrived during filling
	ends     int    // of runs
	watchers map[*Watcher]struct{}
}

// pastCache holds the past of jobs, by number.
type pastCache struct {
	lasts   []lastRun
	endings map[int]string // of failed runs
	own     map[int]Past   // if the newest run was another user's: the newest of its own
}

func newPastCache(jobs int) *pastCache {
	return &pastCache{lasts: make([]lastRun, jobs), endings: map[int]string{}, own: map[int]Past{}}
}

// lastRun is the newest ended run of a job. A job.Summary has only Success and Streak of it: it is about
// the newest occurrence that is over, which may have another run, and it has no times of runs.
type lastRun struct {
	Run     job.RunID // 0: none
	Began   int64     // Unix nanoseconds; 0: it could not be started
	Ended   int64     // 0: not known, of a run of another cron
	Success int64     // end of the newest success of its account; 0: none is known
	Streak  int32
	Failed  bool
	Unknown bool // its outcome: another cron ran it
	foreign bool // it was the run of another account
}

// lastOf is a run as the newest of its job.
func lastOf(r *job.Run) lastRun {
	return lastRun{Run: r.ID, Began: nanosOf(r.Started), Ended: nanosOf(r.Ended), Failed: r.Failed(), Unknown: r.Outcome.IsZero()}
}

// At returns when it began, or ended if it could not begin; the zero time if there is none.
func (l *lastRun) At() time.Time {
	if l.Began != 0 {
		return TimeOf(l.Began)
	}
	return TimeOf(l.Ended)
}

// Numbering assigns numbers to jobs. It is immutable, and valid until the crontabs change.
type Numbering struct {
	View  *view.View // one with these numbers
	Order []int      // by name
}

// update is an update of a memory.
type update struct {
	ended   []*job.Run
	streaks []job.Summary
}

func newMemory(s Store, view func() *view.View) *memory {
	return &memory{store: s, view: view, semaphore: make(chan struct{}, 1), watchers: map[*Watcher]struct{}{}}
}

// Tap receives the results of each step; see Backend.Tap.
func (m *memory) Tap(facts []job.Record, summaries []job.Summary) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range facts {
		if r := facts[i].Run; r != nil && r.State == job.RunEnded {
			m.recent.add(r)
		}
	}
	if m.numbering == nil && !m.filling {
		return
	}
	for i := range facts {
		f := &facts[i]
		if f.Run != nil && f.Run.State == job.RunEnded {
			m.takeEnd(f.Run)
		}
		switch {
		case f.Job != "":
			m.touch(f.Job)
		case f.Kind == job.Loaded || f.Kind == job.Stepped:
			m.touchAll()
		}
	}
	for i := range summaries {
		m.takeStreak(summaries[i])
		m.touch(summaries[i].Job)
	}
}

func (m *memory) takeEnd(r *job.Run) {
	m.ends++
	if m.filling {
		m.missed.ended = append(m.missed.ended, r)
	}
	if m.numbering != nil {
		m.numbering.takeEnd(r, &m.pastCache)
	}
}

func (m *memory) takeStreak(l job.Summary) {
	if m.filling {
		m.missed.streaks = append(m.missed.streaks, l)
	}
	if m.numbering != nil {
		m.numbering.takeStreak(l, &m.pastCache)
	}
}

// takeEnd stores the end of a run, unless a newer one is known. So the order of ends does not
// matter.
func (n *Numbering) takeEnd(r *job.Run, k *pastCache) {
	slot, ok := n.View.Find(r.Job)
	if !ok {
		return
	}
	before, streak := k.past(slot), k.lasts[slot].Streak
	now := Past{lastRun: lastOf(r)}
	now.Success, now.Streak, now.foreign = before.Success, streak, r.User != n.View.Entry(slot).User()
	if r.OK() && !now.foreign {
		now.Success = max(now.Success, now.Ended)
		k.lasts[slot].Success = now.Success
	}
	if now.Failed {
		now.Ending = job.OneLine(r.Ending())
	}
	switch {
	case r.ID >= before.Run && now.foreign && !before.foreign && before.Run != 0:
		k.own[slot] = before
	case r.ID >= before.Run && !now.foreign:
		delete(k.own, slot)
	case r.ID < before.Run && before.foreign && !now.foreign && r.ID >= k.own[slot].Run:
		k.own[slot] = now
	}
	if r.ID >= before.Run {
		k.put(slot, now)
	}
}

// past returns the newest ended run of a job.
func (k *pastCache) past(slot int) Past {
	p := Past{lastRun: k.lasts[slot]}
	if p.Failed {
		p.Ending = k.endings[slot]
	}
	return p
}

func (k *pastCache) put(slot int, p Past) {
	k.lasts[slot] = p.lastRun
	if p.Failed {
		k.endings[slot] = p.Ending
	} else {
		delete(k.endings, slot)
	}
}

func (n *Numbering) takeStreak(l job.Summary, k *pastCache) {
	if slot, ok := n.View.Find(l.Job); ok && l.User == n.View.Entry(slot).User() {
		k.lasts[slot].Streak, k.lasts[slot].Success = int32(l.Bad), max(k.lasts[slot].Success, nanosOf(l.Success))
	}
}

func nanosOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func TimeOf(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos).UTC()
}

// Past describes a job's newest ended run.
type Past struct {
	lastRun
	Ending string // how it failed
}

// Last returns the run with its number and times only.
func (p *Past) Last() job.Run {
	return job.Run{ID: p.Run, Started: TimeOf(p.Began), Ended: TimeOf(p.Ended)}
}

// read appends what an admin, or else their account, may know of some jobs,
// unless the numbers are no longer good.
func (m *memory) read(to []Past, numbering *Numbering, slots []int, admin bool) (all []Past, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.numbering != numbering {
		return to, false
	}
	for _, slot := range slots {
		to = append(to, m.pastFor(slot, admin))
	}
	return to, true
}

// pastFor is past as an admin, or else the account of the job, may know it.
func (k *pastCache) pastFor(slot int, admin bool) Past {
	p := k.past(slot)
	if p.foreign && !admin {
		streak, success := p.Streak, p.Success
		p = k.own[slot]
		p.Streak, p.Success = streak, success
	}
	return p
}

// newest returns the past of some jobs as an admin, or else their account, may know it.
func (m *memory) newest(ctx context.Context, ids []job.ID, admin bool) ([]Past, error) {
	if _, err := m.Follow(ctx); err != nil {
		return nil, err
	}
	pasts := make([]Past, len(ids))
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, id := range ids {
		if slot, ok := m.numbering.View.Find(id); ok {
			pasts[k] = m.pastFor(slot, admin)
		}
	}
	return pasts, nil
}

// Ended returns the number of runs whose end was received.
func (m *memory) Ended() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ends
}

// Follow updates the memory to the current crontabs, and returns its numbers.
func (m *memory) Follow(ctx context.Context) (*Numbering, error) {
	select {
	case m.semaphore <- struct{}{}:
		defer func() { <-m.semaphore }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	view := m.view()
	m.mu.Lock()
	before := m.numbering
	m.mu.Unlock()
	if before != nil && before.View.SameJobs(view) {
		return before, nil
	}
	next := number(view)
	if err := m.refill(ctx, before, next); err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	return next, nil
}

func number(view *view.View) *Numbering {
	n := view.Len()
	ids := make([]job.ID, n)
	next := &Numbering{View: view, Order: make([]int, n)}
	for i := range n {
		ids[i], next.Order[i] = view.ID(i), i
	}
	slices.SortFunc(next.Order, func(a, b int) int { return cmp.Compare(ids[a], ids[b]) })
	return next
}

// refill moves from one numbering to another. It keeps what it has, and reads the rest from the
// history. Updates that arrive meanwhile are stored separately.
func (m *memory) refill(ctx context.Context, before, next *Numbering) error {
	m.mu.Lock()
	m.filling = true
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		m.filling, m.missed = false, update{}
		m.mu.Unlock()
	}()
	k := newPastCache(len(next.Order))
	missing := m.keep(before, next, k)
	if err := m.ask(ctx, next, missing, k); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.recent.byID {
		next.takeEnd(r, k)
	}
	for _, r := range m.missed.ended {
		next.takeEnd(r, k)
	}
	for _, l := range m.missed.streaks {
		next.takeStreak(l, k)
	}
	m.numbering, m.pastCache = next, *k
	for w := range m.watchers {
		clear(w.dirty) // its numbers are those of before
	}
	m.touchAll()
	return nil
}

// keep copies the data of remaining jobs, and returns the numbers of the others. It releases the
// lock from time to time, so that the loop can proceed.
func (m *memory) keep(before, next *Numbering, k *pastCache) (missing []int) {
	const some = 4096
	type pair struct{ from, to int }
	var pairs []pair
	for _, to := range next.Order {
		from, known := 0, false
		if before != nil {
			from, known = before.View.Find(next.View.ID(to))
		}
		if !known || before.View.Entry(from).User() != next.View.Entry(to).User() {
			missing = append(missing, to)
			continue
		}
		pairs = append(pairs, pair{from, to})
	}
	for part := range slices.Chunk(pairs, some) {
		m.mu.Lock()
		for _, p := range part {
			k.put(p.to, m.past(p.from))
			if own, ok := m.own[p.from]; ok {
				k.own[p.to] = own
			}
		}
		m.mu.Unlock()
	}
	return missing
}

// ask reads the history of some jobs; it looks at all if they are many.
func (m *memory) ask(ctx context.Context, next *Numbering, slots []int, k *pastCache) error {
	const many, some = 10_000, 2000
	if len(slots) == 0 {
		return nil
	}
	missing := slots
	end := func(r job.Run) { next.takeEnd(&r, k) }
	err := m.store.Streaks(ctx, func(l job.Summary) { next.takeStreak(l, k) })
	if err == nil && len(slots) > many {
		err = m.store.Last(ctx, end)
		slots = nil
	}
	for part := range slices.Chunk(slots, some) {
		if err == nil {
			ids := make([]job.ID, len(part))
			for i, slot := range part {
				ids[i] = next.View.ID(slot)
			}
			err = m.store.LastOf(ctx, ids, end)
		}
	}
	for _, slot := range missing { // few: names that have passed from one account to another
		if err == nil && k.lasts[slot].foreign {
			err = m.store.LastBy(ctx, next.View.ID(slot), next.View.Entry(slot).User(), end)
		}
	}
	return err
}

package monitoring

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
)

// counts counts events since the daemon started. The loop waits while it is updated, so it only
// adds.
type counts struct {
	store Store
	view  func() *view.View

	mu      sync.Mutex
	total   totalCounts
	jobs    map[job.Owned]*jobCounts
	doubles []time.Time // when occurrences were found that two members ran, the newest maxDoubles
	begun   time.Time   // from then on it has them
	read    bool        // and those before, too
}

// totalCounts is of all jobs together.
type totalCounts struct {
	ended   [len(outcomes)]uint64
	skips   map[job.Reason]uint64
	lags    [len(lagBounds) + 1]uint64
	lag     float64 // of all starts together, in seconds
	doubled uint64
	steps   uint64
}

// jobCounts counts the events of one user's job.
type jobCounts struct {
	ended [len(outcomes)]uint32
	skips map[job.Reason]uint64 // nil: none
}

// outcomes are the classes of ended runs; outcomeOf returns the index.
var outcomes = [...]string{"ok", "failed", "retried", "skipped", "lost"}

func outcomeOf(r *job.Run) int {
	switch {
	case r.OK():
		return 0
	case r.Verdict == job.VerdictRetry:
		return 2
	case r.Verdict == job.VerdictSkip:
		return 3
	case r.Outcome.Kind == job.Lost:
		return 4
	}
	return 1
}

// lagBounds are the buckets of how late runs start, in seconds.
var lagBounds = [...]float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 60, 600}

const (
	maxDoubles = 10_000
	countRoom  = 1024 // jobs that are gone may be counted, beside as many as there are
)

func newCounts(s Store, view func() *view.View, now time.Time) *counts {
	return &counts{
		store: s, view: view, total: totalCounts{skips: map[job.Reason]uint64{}},
		jobs: map[job.Owned]*jobCounts{}, begun: now,
	}
}

// Tap receives the facts of each step of the loop, which waits for it.
func (c *counts) Tap(facts []job.Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range facts {
		switch f := &facts[i]; {
		case f.Kind == job.Ended && f.Run != nil:
			c.end(f.Run)
		case f.Kind == job.Started && f.Run != nil && f.Run.Trigger == job.TriggerClock && f.Run.Attempt == 1:
			c.start(f.Run)
		case f.Kind == job.Decided && f.Run == nil:
			c.skip(f, uint64(max(1, f.Count)))
		case f.Kind == job.Dropped && f.Run != nil && f.Run.Attempt <= 1:
			c.skip(f, 1)
		case f.Kind == job.Doubled:
			c.total.doubled++
			c.doubles = append(c.doubles, f.At)
			c.doubles = c.doubles[max(0, len(c.doubles)-maxDoubles):]
		case f.Kind == job.Stepped:
			c.total.steps++
		}
	}
}

func (c *counts) end(r *job.Run) {
	how := outcomeOf(r)
	c.total.ended[how]++
	c.of(r.Job, r.User).ended[how]++
}

func (c *counts) start(r *job.Run) {
	lag := max(0, r.Started.Sub(r.Due)).Seconds()
	at, _ := slices.BinarySearch(lagBounds[:], lag)
	c.total.lags[at]++
	c.total.lag += lag
}

func (c *counts) skip(f *job.Record, n uint64) {
	c.total.skips[f.Reason] += n
	view := c.view()
	i, ok := view.Find(f.Job)
	if !ok {
		return
	}
	j := c.of(f.Job, view.Entry(i).User())
	if j.skips == nil {
		j.skips = map[job.Reason]uint64{}
	}
	j.skips[f.Reason] += n
}

// of returns the counts of a job.
func (c *counts) of(id job.ID, user string) *jobCounts {
	key := job.Owned{Job: id, User: user}
	j := c.jobs[key]
	if j == nil {
		c.makeRoom()
		j = &jobCounts{}
		c.jobs[key] = j
	}
	return j
}

// makeRoom removes the counts of jobs that are no longer installed, once there are as many counts of
// other jobs.
func (c *counts) makeRoom() {
	view := c.view()
	if len(c.jobs) < 2*view.Len()+countRoom {
		return
	}
	stay := make(map[job.Owned]*jobCounts, view.Len())
	for i := range view.Len() {
		key := job.Owned{Job: view.ID(i), User: view.Entry(i).User()}
		if j := c.jobs[key]; j != nil {
			stay[key] = j
		}
	}
	c.jobs = stay
}

// job returns the counts of a user's job.
func (c *counts) job(id job.ID, user string) (ended [len(outcomes)]uint32, skips map[job.Reason]uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	j := c.jobs[job.Owned{Job: id, User: user}]
	if j == nil {
		return ended, nil
	}
	return j.ended, maps.Clone(j.skips)
}

// totals returns the counts of all jobs.
func (c *counts) totals() totalCounts {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.total
	t.skips = maps.Clone(t.skips)
	return t
}

// DoubledSince counts the occurrences that were found to be doubled since an
// instant, which is no more than a day ago. Those of before the daemon started are
// read from the history once.
func (c *counts) DoubledSince(ctx context.Context, t time.Time) (n int, err error) {
	if err := c.readDoubles(ctx, t); err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range c.doubles {
		if !at.Before(t) {
			n++
		}
	}
	return n, nil
}

func (c *counts) readDoubles(ctx context.Context, since time.Time) error {
	c.mu.Lock()
	read := c.read
	c.mu.Unlock()
	if read {
		return nil
	}
	records, err := c.store.Records(ctx, since, c.begun, maxDoubles)
	if err != nil {
		return fmt.Errorf("read history: %w", err)
	}
	var before []time.Time
	for i := range records {
		if records[i].Kind == job.Doubled {
			before = append(before, records[i].At)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.read { // no other goroutine was faster
		c.doubles, c.read = append(before, c.doubles...), true
	}
	return nil
}

package slots

import (
	"iter"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// pool is a set of slots that runs share.
type pool struct {
	key, name string
	Pool
	taken   int
	waiting int
	holders []*Claim
	starts  []time.Duration // starts within the last Per, if Rate limits them; oldest first
	until   time.Duration   // time since boot at which Rate allows another start; 0: now
}

// poolOf returns the pool that a claim needs slots of; nil: none. A run of a job that
// was removed keeps its slots in the pool that its pool= means now.
func (q *Queue) poolOf(c *Claim) *pool {
	if c.PoolName == "" {
		return nil
	}
	key, limits, _ := q.Limits.pool(c.Job.Owner(), c.PoolName)
	return q.pool(key, c.PoolName, limits)
}

func (q *Queue) pool(key, name string, limits Pool) *pool {
	if q.pools[key] == nil {
		q.pools[key] = &pool{key: key, name: name, Pool: limits}
	}
	return q.pools[key]
}

func (q *Queue) forgetPool(x *pool) {
	if x.waiting == 0 && len(x.holders) == 0 && len(x.starts) == 0 {
		delete(q.pools, x.key)
	}
}

// keepStarts keeps the starts of the pools of the previous queue.
func (q *Queue) keepStarts(before map[string]*pool) {
	for key, x := range before {
		if limits, declared := q.Limits.Pools[key]; declared && limits.Rate > 0 && len(x.starts) > 0 {
			q.pool(key, x.name, limits).starts = x.starts
		}
	}
}

// fits reports whether the pool has free slots for a claim.
func (x *pool) fits(c *Claim, now time.Duration) bool {
	if x.taken+c.Slots > x.Size {
		return false
	}
	return !x.isPaced(now)
}

// isPaced reports whether the pool's rate does not allow another start now.
func (x *pool) isPaced(now time.Duration) bool {
	x.forgetStarts(now)
	if x.Rate == 0 || len(x.starts) < x.Rate {
		return false
	}
	x.until = job.Sum(x.starts[len(x.starts)-x.Rate], x.Per)
	return true
}

func (x *pool) forgetStarts(now time.Duration) {
	old := 0
	for old < len(x.starts) && job.Sum(x.starts[old], x.Per) <= now {
		old++
	}
	x.starts = x.starts[old:]
}

func (x *pool) noteStart(at time.Duration) {
	x.starts = append(x.starts, at)
	slices.Sort(x.starts)
}

// limited returns the pools whose rate does not allow another start. Only declared pools
// have a rate.
func (q *Queue) limited() iter.Seq[*pool] {
	return func(yield func(*pool) bool) {
		for key := range q.Limits.Pools {
			if x := q.pools[key]; x != nil && x.until > 0 && !yield(x) {
				return
			}
		}
	}
}

// forgetWaits notes that rates allow another start by now.
func (q *Queue) forgetWaits(now time.Duration) {
	for x := range q.limited() {
		if x.until <= now {
			x.until = 0
		}
	}
}

// Wake returns when a pool's rate allows another start.
func (q *Queue) Wake() (at time.Duration, ok bool) {
	for x := range q.limited() {
		if !ok || x.until < at {
			at, ok = x.until, true
		}
	}
	return at, ok
}

package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// pool is a set of slots that runs share.
type pool struct {
	key, name string
	Pool
	taken   int
	waiting int
	holders []*run
	parked  map[*line]bool  // lines that found too few slots
	starts  []time.Duration // starts within the last Per, if Rate limits them; oldest first
	until   time.Duration   // time since boot at which Rate allows another start; 0: now
}

// pool returns the pool that pool=name refers to in the crontabs of an owner, and its
// key. A declared pool is for root's crontabs and those of its listed users. Other users
// have a private pool of that name, so that no user can make the jobs of another one
// wait.
func (l *Limits) pool(owner, name string) (key string, p Pool, declared bool) {
	p, declared = l.Pools[name]
	if declared && (owner == "root" || slices.Contains(p.Users, owner) || slices.Contains(p.Users, "*")) {
		return name, p, true
	}
	return owner + "\x00" + name, Pool{Size: 1}, declared
}

// demand is an entry's use of a pool.
type demand struct {
	owner, pool string
	slots       int
}

// shortOf returns why an entry can never start, because it needs more slots than its pool
// has, or "". A pool has at least one slot. known caches the results.
func (l *Limits) shortOf(entry *crontab.Entry, known map[demand]string) string {
	o := entry.Options()
	if o.Pool == "" || o.Slots <= 1 {
		return ""
	}
	d := demand{entry.File().Owner(), o.Pool, o.Slots}
	why, ok := known[d]
	if !ok {
		why = l.shortage(d)
		known[d] = why
	}
	return why
}

func (l *Limits) shortage(d demand) string {
	key, p, declared := l.pool(d.owner, d.pool)
	if d.slots <= p.Size {
		return ""
	}
	why := fmt.Sprintf("pool=%s asks for %d slots, and there are %d", d.pool, d.slots, p.Size)
	switch {
	case declared && key != d.pool:
		why += ": the pool that the configuration declares is not for crontabs of " + d.owner
	case !declared:
		why += ": the configuration declares no such pool"
	}
	return why
}

// poolOf returns the pool that a run needs slots of; nil: none. A run of a job that
// was removed keeps its slots in the pool that its pool= means now.
func (e *Engine) poolOf(r *run) *pool {
	name, p := r.options.Pool, &e.places
	if name == "" {
		return nil
	}
	key, limits, _ := p.limits.pool(r.Job.Owner(), name)
	if p.pools[key] == nil {
		p.pools[key] = &pool{key: key, name: name, Pool: limits, parked: map[*line]bool{}}
	}
	return p.pools[key]
}

func (p *places) forgetPool(x *pool) {
	if x.waiting == 0 && len(x.holders) == 0 && len(x.starts) == 0 {
		delete(p.pools, x.key)
	}
}

// wake makes dispatch consider all lines of a pool again.
func (p *places) wake(x *pool) {
	for l := range x.parked {
		delete(x.parked, l)
		p.show(l)
	}
}

// fits reports whether a claim's pool has room for it and no earlier run waits for the
// pool.
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
		x.until = job.Sum(x.starts[len(x.starts)-x.Rate], x.Per)
		return false
	}
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

// next returns when a pool's rate allows another start.
func (p *places) next() (at time.Duration, ok bool) {
	for _, x := range p.slow {
		if !ok || x.until < at {
			at, ok = x.until, true
		}
	}
	return at, ok
}

// Package slots owns the queue of runs that wait for a slot: how many runs may have a process at once
// on a host, for each user and in each pool, and which waiting run is next.
package slots

import (
	"slices"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// defaultQueue is the limit of waiting runs of one user if queue-max is not set.
const defaultQueue = 10_000

// Limits are the bounds of the host's configuration on what runs at once. The
// zero value bounds nothing.
type Limits struct {
	MaxRunning int             // runs at once; 0: no limit
	MaxPerUser int             // runs of each user other than root at once; 0: no limit
	QueueMax   int             // limit of waiting runs of each user; 0: 10,000
	Pools      map[string]Pool // the pools in the configuration
}

// Pool is a number of slots that runs share. A pool that is not declared has a single
// slot; in a user's crontab, such a pool is private to that user.
type Pool struct {
	Size  int           // at least 1
	Rate  int           // starts in each Per; 0: no limit
	Per   time.Duration // at least a second
	Users []string      // users whose crontabs may use it; root's crontabs always may
}

// PerUser returns how many runs of a user can have a slot at once; 0: no limit.
func (l *Limits) PerUser(user string) int {
	if user == "root" {
		return 0
	}
	return l.MaxPerUser
}

// Queue returns how many runs of one user can wait for a slot.
func (l *Limits) Queue() int {
	if l.QueueMax == 0 {
		return defaultQueue
	}
	return l.QueueMax
}

// Bind reports whether a run of a user starts only with a slot. pool is its pool=, or "".
func (l *Limits) Bind(user, pool string) bool {
	return l.MaxRunning > 0 || l.PerUser(user) > 0 || pool != ""
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

// Shortage returns a function that returns why an entry can never start, because it needs
// more slots than its pool has, or "". A pool has at least one slot. The function caches
// its results.
func (l *Limits) Shortage() func(*crontab.Entry) string {
	known := map[demand]string{}
	return func(entry *crontab.Entry) string {
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
}

func (l *Limits) shortage(d demand) string {
	key, p, declared := l.pool(d.owner, d.pool)
	if d.slots <= p.Size {
		return ""
	}
	switch {
	case !declared:
		return job.HeldUndeclaredPool(d.pool, d.slots, p.Size)
	case key != d.pool:
		return job.HeldForeignPool(d.pool, d.slots, p.Size, d.owner)
	}
	return job.HeldPool(d.pool, d.slots, p.Size)
}

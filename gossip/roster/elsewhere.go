package roster

import (
	"sync"
	"time"

	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
)

// Elsewhere stores, for display, the newest occurrence of each job of this member that another
// member took.
type Elsewhere struct {
	mu    sync.Mutex
	taken map[job.Key]taken // by key
}

type taken struct {
	due int64
	by  string // its host
}

// Note records that a host took an occurrence, if it is the newest of one of the jobs.
func (e *Elsewhere) Note(jobs *Roster, o exchange.Occurrence, by string) {
	if _, has := jobs.Find(o.Key); !has || by == "" {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.taken == nil {
		e.taken = map[job.Key]taken{}
	}
	if t, ok := e.taken[o.Key]; !ok || o.Due > t.due {
		e.taken[o.Key] = taken{o.Due, by}
	}
}

// Keep removes all jobs that are not in the roster.
func (e *Elsewhere) Keep(jobs *Roster) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for key := range e.taken {
		if _, has := jobs.Find(key); !has {
			delete(e.taken, key)
		}
	}
}

// Newest returns the newest known occurrence of a job that another member took, and the name of
// that member's host.
func (e *Elsewhere) Newest(key job.Key) (due time.Time, by string, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t, ok := e.taken[key]
	if !ok {
		return time.Time{}, "", false
	}
	return time.Unix(0, t.due).UTC(), t.by, true
}

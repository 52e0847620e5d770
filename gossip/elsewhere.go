package gossip

import (
	"cmp"
	"sync"
	"time"

	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
)

// elsewhere stores, for display, the newest occurrence of each job of this member that another
// member took.
type elsewhere struct {
	mu    sync.Mutex
	taken map[job.Key]taken // by key
}

type taken struct {
	due int64
	by  string // its host
}

// note records that a host took an occurrence, if it is the newest of one of the jobs.
func (e *elsewhere) note(jobs *roster, o exchange.Occurrence, by string) {
	if _, has := jobs.find(o.Key); !has || by == "" {
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

// keep removes all jobs that are not in the roster.
func (e *elsewhere) keep(jobs *roster) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for key := range e.taken {
		if _, has := jobs.find(key); !has {
			delete(e.taken, key)
		}
	}
}

// Newest returns the newest known occurrence of a job that another member took, and the name of
// that member's host. It does not wait for Run.
func (r *Ring) Newest(key job.Key) (due time.Time, by string, ok bool) {
	r.elsewhere.mu.Lock()
	defer r.elsewhere.mu.Unlock()
	t, ok := r.elsewhere.taken[key]
	if !ok {
		return time.Time{}, "", false
	}
	return time.Unix(0, t.due).UTC(), t.by, true
}

// hostOf returns the host name of a member, or its ID if the name is not known.
func (r *Ring) hostOf(id string) string {
	if m := r.members[id]; m != nil {
		return m.meta.name
	}
	return cmp.Or(r.search.peers[id].Name, id)
}

package gossip

import (
	"cmp"
	"sync"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/register"
)

// elsewhere is the newest occurrences that others took of the jobs that this
// member has, as they are shown.
type elsewhere struct {
	mu    sync.Mutex
	taken map[job.Key]taken // by key
}

type taken struct {
	due int64
	by  string // its host
}

// note takes in that a host took an occurrence, if it is of one of the jobs and
// the newest.
func (e *elsewhere) note(jobs *roster, o register.Occurrence, by string) {
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

// keep forgets all but some jobs.
func (e *elsewhere) keep(jobs *roster) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for key := range e.taken {
		if _, has := jobs.find(key); !has {
			delete(e.taken, key)
		}
	}
}

// Newest is the newest occurrence of a job that another member took, as far as is
// known, and what names that one's host. It never waits for Run.
func (r *Ring) Newest(key job.Key) (due time.Time, by string, ok bool) {
	r.elsewhere.mu.Lock()
	defer r.elsewhere.mu.Unlock()
	t, ok := r.elsewhere.taken[key]
	if !ok {
		return time.Time{}, "", false
	}
	return time.Unix(0, t.due).UTC(), t.by, true
}

// hostOf names the host of a member; one that is not known has its ID alone.
func (r *Ring) hostOf(id string) string {
	if m := r.members[id]; m != nil {
		return m.meta.name
	}
	return cmp.Or(r.peers[id].Name, id)
}

package server

import (
	"time"

	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
)

// whereabouts finds where ring jobs run. If a job failed here and another member has since claimed
// an occurrence, that member reports its state: here it would be failing forever.
type whereabouts struct {
	view  *engine.View
	ring  Ring // nil: this host is not in a ring
	owner func(i int, at time.Time) string
}

// whereabouts is for one goroutine.
func (s *Server) whereabouts(v *engine.View) *whereabouts {
	w := &whereabouts{view: v, ring: s.backend.Ring()}
	if w.ring != nil {
		w.owner = v.Owners()
	}
	return w
}

// of returns the host name of the owner of an occurrence of job i; "": it has none, or
// the job is this host's alone.
func (w *whereabouts) of(i int, at time.Time) string {
	if w.ring == nil || at.IsZero() {
		return ""
	}
	return w.owner(i, at)
}

// since is the newest occurrence of job i, if another member took it later than at
// an instant: the start or the end of what ran here.
func (w *whereabouts) since(i int, last time.Time) *job.Elsewhere {
	if w.ring == nil {
		return nil
	}
	key, shared := w.view.RingKey(i)
	if !shared {
		return nil
	}
	due, by, ok := w.ring.Taken(key)
	if !ok || !due.After(last) {
		return nil
	}
	return &job.Elsewhere{Node: by, Due: due}
}

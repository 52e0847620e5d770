package jobstate

import (
	"time"

	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
)

// Whereabouts finds where ring jobs run. If a job failed here and another member has since claimed
// an occurrence, that member reports its state: here it would be failing forever.
type Whereabouts struct {
	view  *view.View
	ring  Ring
	owner func(i int, at time.Time) string
}

// Ring is what other members of the ring have claimed.
type Ring interface {
	// Taken is the newest occurrence of a job, by its View.RingKey, that another
	// member took, and what names that one's host. It never blocks.
	Taken(key job.Key) (due time.Time, by string, ok bool)
}

// Whereabouts is for one goroutine.
func (s *Jobs) Whereabouts(v *view.View) *Whereabouts {
	return &Whereabouts{v, s.ring, v.Owners()}
}

// Of returns the host name of the owner of an occurrence of job i; "": it has none, or
// the job is this host's alone.
func (w *Whereabouts) Of(i int, at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return w.owner(i, at)
}

// Since is the newest occurrence of job i, if another member took it later than at
// an instant: the start or the end of what ran here.
func (w *Whereabouts) Since(i int, last time.Time) *job.Elsewhere {
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

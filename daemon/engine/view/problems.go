package view

import (
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// Problems describes the problems of a job beyond its newest run, and what else views
// show of its summary.
type Problems struct {
	Broken time.Time // breaker= holds the job until then; zero: it does not
	Bad    int       // failures in a row
	Late   bool      // a run started later than max-late= or took longer than max-run=, and none has been on time since
	Unseen bool      // no success within expect=
	Done   time.Time // of a job with once-per=: due time of its newest success
	Ack    *job.Ack  // acknowledgement of its failures
}

// Words returns the warning of max-late=, max-run= or expect=, or "".
func (t Problems) Words() string {
	switch {
	case t.Unseen:
		return job.WarnNoSuccess
	case t.Late:
		return job.WarnLate
	}
	return ""
}

// Problems returns the problems of job i beyond its newest run. Its current options
// decide: if breaker= was removed, the job is not held.
func (v *View) Problems(i int) Problems {
	t := v.problems[job.Owned{Job: v.ID(i), User: v.Entry(i).User()}]
	o := v.jobs.Options(i)
	if !o.Enabled {
		return Problems{}
	}
	if o.Breaker.Failures == 0 || !v.now.Wall.Before(t.Broken) {
		t.Broken = time.Time{}
	}
	t.Late = t.Late && (o.MaxLate > 0 || o.MaxRun > 0)
	t.Unseen = t.Unseen && o.Expect > 0
	return t
}

// brokenHold returns an open breaker as a pause, or nil.
func (v *View) brokenHold(i int) *job.Hold {
	if len(v.problems) == 0 {
		return nil
	}
	t := v.Problems(i)
	if t.Broken.IsZero() {
		return nil
	}
	b := v.jobs.Options(i).Breaker
	return &job.Hold{
		Since: t.Broken.Add(-b.Hold), Until: t.Broken, By: "cronring",
		Reason: job.DetailBreaker(t.Bad),
	}
}

// PlannedPause returns the pause of job i that begins later, or nil.
func (v *View) PlannedPause(i int) *job.Hold {
	if len(v.holds) == 0 {
		return nil
	}
	h, ok := v.holds.Of(v.ID(i), v.Entry(i).User())
	if !ok || !v.now.Wall.Before(h.From) {
		return nil
	}
	h.User = ""
	return &h
}

// Hold returns the pause of job i, or nil. An open breaker counts as a pause.
func (v *View) Hold(i int) *job.Hold {
	if len(v.holds) == 0 {
		return v.brokenHold(i)
	}
	h, ok := v.holds.Of(v.ID(i), v.Entry(i).User())
	if !ok || !h.Covers(v.now.Wall) {
		return v.brokenHold(i)
	}
	h.User = "" // the caller knows the job
	return &h
}

// Ack returns the acknowledgement of job i's failures, or nil.
func (v *View) Ack(i int) *job.Ack {
	if len(v.problems) == 0 {
		return nil
	}
	return v.problems[job.Owned{Job: v.ID(i), User: v.Entry(i).User()}].Ack
}

// Marked lists the jobs that have a pause, a problem or an acknowledgement, for any user.
// For all other jobs, Hold, Problems and Ack return nothing.
func (v *View) Marked() []job.ID {
	ids := make([]job.ID, 0, len(v.holds)+len(v.problems))
	for id := range v.holds {
		ids = append(ids, id)
	}
	for o := range v.problems {
		ids = append(ids, o.Job)
	}
	return ids
}

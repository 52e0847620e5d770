package overview

import (
	"math"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/jobstate"
)

// painter makes rows of the current states of jobs.
type painter struct {
	*jobstate.Look
	own  string  // crontab that the peer may change, if it is not an admin
	last job.Run // of the row that is being made
}

// row returns a job as the board shows it, and the time when the row changes without an event.
func (p *painter) row(i int, l *jobstate.Past) (r api.Row, due int64) {
	var last *job.Run
	if l.Run != 0 {
		p.last = l.Last()
		last = &p.last
	}
	st := p.Status(i, p.View.Brief(i), l, last)
	r = api.NewRow(&st)
	r.Ending, r.Fixed = l.Ending, !p.Peer.Admin && (p.own == "" || r.Crontab != p.own)
	due = p.firstOf(math.MaxInt64, r.Next, r.HeldUntil)
	if r.State == job.StateFailing && r.Node != "" { // no event reports that another member claims it
		due = p.firstOf(due, p.Now.Add(LongIdle))
	}
	for k := range st.Running {
		if run := &st.Running[k]; run.State == job.RunQueued || run.State == job.RunDecided {
			due = p.firstOf(due, jobstate.LateAt(p.View, i, run).Add(1))
		}
	}
	return r, due
}

// firstOf returns the earliest future instant, of due in nanoseconds and instants.
func (p *painter) firstOf(due int64, instants ...time.Time) int64 {
	for _, t := range instants {
		if t.After(p.Now) {
			due = min(due, t.UnixNano())
		}
	}
	return due
}

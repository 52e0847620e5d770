package overview

import (
	"math"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/jobstate"
)

// painter makes rows of the current states of jobs.
type painter struct {
	*jobstate.Look
	own string // crontab that the peer may change, if it is not an admin
}

// row returns a job as the board shows it, and the time when the row changes without an event.
func (p *painter) row(i int, l *jobstate.Past) (r api.Row, due int64) {
	c, s := p.Condition(i, l)
	e, o := p.View.Entry(i), p.View.Options(i)
	r = api.Row{
		Job: p.View.ID(i), User: e.User(), Crontab: e.File().Name, Line: e.Line(), Schedule: job.OneLine(startsOn(e, o)),
		Zone: e.Zone().String(), Command: job.OneLine(e.Command()), State: c.State(), Protected: o.Protect, Acked: s.Ack != nil,
		Fixed: !p.Peer.Admin && (p.own == "" || e.File().Name != p.own),
		Next:  p.View.Next(i, p.Now).UTC(), Live: len(p.Live[i]), LastRun: l.Run, Ending: l.Ending, Streak: int(l.Streak),
		Why: job.OneLine(s.Why(c, p.Waiting(i))),
	}
	if l.Run != 0 {
		r.Last = l.At()
		if l.Began != 0 {
			r.Took = time.Duration(l.Ended - l.Began)
		}
	}
	r.Node = p.Where.Of(i, r.Next)
	r.Labels, r.Contact = job.OneLine(o.Text("labels")), job.OneLine(o.Contact)
	if s.Away != nil {
		r.Elsewhere = s.Away.Node
	}
	if s.Hold != nil {
		r.Paused, r.HeldUntil = true, s.Hold.Until.UTC()
	}
	due = p.firstOf(math.MaxInt64, r.Next, r.HeldUntil)
	if c.Failed && r.Node != "" { // no event reports that another member claims it
		due = p.firstOf(due, p.Now.Add(LongIdle))
	}
	for _, run := range p.Live[i] {
		switch {
		case run.State == job.RunQueued || run.State == job.RunDecided:
			due = p.firstOf(due, jobstate.LateAt(p.View, i, run).Add(1))
		case !run.Started.IsZero() && (r.Began.IsZero() || run.Started.Before(r.Began)):
			r.Began = run.Started.UTC()
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

// startsOn returns what starts the job of an entry, for lists.
func startsOn(e *crontab.Entry, o *option.Options) string {
	if len(o.Items) == 0 {
		return e.Spec()
	}
	return job.StartsOn(e.Spec(), o.Text)
}

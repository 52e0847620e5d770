package server

import (
	"math"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
)

// painter makes rows of what jobs are now.
type painter struct {
	memory *memory
	names  *numbering
	view   *engine.View
	now    time.Time
	peer   peer
	own    string // crontab that the peer may change, if it is not an admin
	pasts  []past
	live   map[int32][]*job.Run // live runs that the reader sees
	marked map[int32]bool       // jobs that a pause or a trouble is known of; nil: any may be one
	where  *whereabouts
}

// painter makes one for some jobs, or for all.
func (b *board) painter(slots []int32) *painter {
	p := &painter{
		memory: b.s.boards, names: b.names, view: b.view, now: b.now, peer: b.peer, own: b.own, live: map[int32][]*job.Run{},
		where: b.s.whereabouts(b.view),
	}
	var wanted map[int32]bool
	if slots == nil {
		p.marked = map[int32]bool{}
		for _, id := range b.view.Marked() {
			if slot, ok := p.slot(id); ok {
				p.marked[slot] = true
			}
		}
	} else {
		wanted = make(map[int32]bool, len(slots))
		for _, slot := range slots {
			wanted[slot] = true
		}
	}
	b.view.EachRun(func(r *job.Run) {
		if slot, ok := p.slot(r.Job); ok && (wanted == nil || wanted[slot]) && p.peer.sees(r.User) {
			p.live[slot] = append(p.live[slot], r)
		}
	})
	return p
}

func (p *painter) slot(id job.ID) (int32, bool) {
	slot, ok := p.names.slots[p.memory.key(id)]
	return slot, ok
}

// read reads the past of jobs, valid until the next call.
func (p *painter) read(slots []int32) (pasts []past, ok bool) {
	p.pasts, ok = p.memory.read(p.pasts[:0], p.names, slots, p.peer.keeper)
	return p.pasts, ok
}

// condition returns the condition of a job and the reasons for it.
func (p *painter) condition(slot int32, l *past) (condition, standing) {
	c, s := conditionOf(p.view, int(slot), &l.last, p.where, p.marked == nil || p.marked[slot])
	for _, r := range p.live[slot] {
		c.add(p.view, int(slot), r, p.now)
	}
	return c, s
}

// row is a job as the board shows it, and when that will be otherwise though
// nothing happens.
func (p *painter) row(slot int32, l *past) (r api.Row, due int64) {
	i := int(slot)
	c, s := p.condition(slot, l)
	e, o := p.view.Entry(i), p.view.Options(i)
	r = api.Row{
		Job: p.view.ID(i), User: e.User(), Table: e.Table().Name, Line: e.Line(), Schedule: oneLine(startsOn(e, o)),
		Zone: e.Zone().String(), Command: oneLine(e.Command()), State: c.state(), Protected: o.Protect, Acked: s.ack != nil,
		Fixed: !p.peer.keeper && (p.own == "" || e.Table().Name != p.own),
		Next:  p.view.Next(i, p.now).UTC(), Live: len(p.live[slot]), LastRun: l.run, Ending: l.ending, Streak: int(l.streak),
		Why: oneLine(s.why(c, p.waiting(slot))),
	}
	if l.run != 0 {
		r.Last = l.at()
		if l.began != 0 {
			r.Took = time.Duration(l.ended - l.began)
		}
	}
	r.Node = p.where.of(i, r.Next)
	if s.away != nil {
		r.Elsewhere = s.away.Node
	}
	if s.hold != nil {
		r.HeldUntil = s.hold.Until.UTC()
	}
	due = p.firstOf(math.MaxInt64, r.Next, r.HeldUntil)
	if c.failed && r.Node != "" { // no event reports that another member claims it
		due = p.firstOf(due, p.now.Add(longIdle))
	}
	for _, run := range p.live[slot] {
		switch {
		case run.State == job.RunQueued || run.State == job.RunDecided:
			due = p.firstOf(due, lateAt(p.view, i, run).Add(1))
		case !run.Started.IsZero() && (r.Began.IsZero() || run.Started.Before(r.Began)):
			r.Began = run.Started.UTC()
		}
	}
	return r, due
}

// firstOf returns the earliest future instant, of due in nanoseconds and instants.
func (p *painter) firstOf(due int64, instants ...time.Time) int64 {
	for _, t := range instants {
		if t.After(p.now) {
			due = min(due, t.UnixNano())
		}
	}
	return due
}

// waiting is the oldest live run of a job that has no process, or nil.
func (p *painter) waiting(slot int32) *job.Run {
	var oldest *job.Run
	for _, r := range p.live[slot] {
		if r.State != job.RunRunning && (oldest == nil || r.ID < oldest.ID) {
			oldest = r
		}
	}
	return oldest
}

// why describes briefly what prevents a job from running.
func (s *standing) why(c condition, waiting *job.Run) string {
	switch {
	case s.trouble != "":
		return s.trouble
	case waiting != nil && waiting.State != job.RunDecided:
		return clause(waiting.Reason.Sentence())
	case waiting != nil && c.late:
		return "it is decided, but not started yet"
	case s.hold != nil && s.hold.Reason != "":
		return "paused by " + s.hold.By + ": " + s.hold.Reason
	case s.hold != nil:
		return "paused by " + s.hold.By
	}
	return s.held
}

// at returns when it began, or ended if it could not begin; the zero time if there is none.
func (l *last) at() time.Time {
	if l.began != 0 {
		return timeOf(l.began)
	}
	return timeOf(l.ended)
}

// startsOn returns what starts the job of an entry, for lists.
func startsOn(e *crontab.Entry, o *crontab.Options) string {
	if len(o.Items) == 0 {
		return e.Spec()
	}
	return job.StartsOn(e.Spec(), func(key string) (value string) {
		for _, item := range o.Items {
			if item.Key == key {
				value = item.Value
			}
		}
		return value
	})
}

// oneLine is a text as a row has room for it.
func oneLine(text string) string {
	if strings.IndexByte(text, '\n') >= 0 {
		text = strings.ReplaceAll(text, "\n", " ")
	}
	return job.CutText(text)
}

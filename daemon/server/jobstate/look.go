package jobstate

import (
	"cmp"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
)

// Look reads the conditions of jobs, as a user sees them at one moment.
type Look struct {
	memory *memory
	View   *view.View
	Now    time.Time
	Peer   call.Peer
	Where  *Whereabouts
	pasts  []Past
	live   map[int][]job.Run // live runs that the user sees, by job, oldest first
	marked map[int]bool      // jobs that may have a pause, a problem or an acknowledgement; nil: any may
}

// Look returns what the caller sees of some jobs, or of all if slots is nil.
func (s *Jobs) Look(c *call.Call, slots []int) *Look {
	p := &Look{memory: s.memory, View: c.View, Now: c.Now, Peer: c.Peer, Where: s.Whereabouts(c.View), live: map[int][]job.Run{}}
	var wanted []bool
	if slots == nil {
		p.marked = map[int]bool{}
		for _, id := range c.View.Marked() {
			if slot, ok := c.View.Find(id); ok {
				p.marked[slot] = true
			}
		}
	} else {
		wanted = make([]bool, c.View.Len())
		for _, slot := range slots {
			wanted[slot] = true
		}
	}
	c.View.EachRun(func(r *job.Run) {
		if slot, ok := c.View.Find(r.Job); ok && (slots == nil || wanted[slot]) && c.SeesRun(r) {
			p.live[slot] = append(p.live[slot], *r)
		}
	})
	for _, runs := range p.live {
		slices.SortFunc(runs, func(a, b job.Run) int { return cmp.Compare(a.ID, b.ID) })
	}
	return p
}

// Read reads the past of jobs, valid until the next call. ok is false if the crontabs have changed
// since.
func (p *Look) Read(numbering *Numbering, slots []int) (pasts []Past, ok bool) {
	p.pasts, ok = p.memory.read(p.pasts[:0], numbering, slots, p.Peer.Admin)
	return p.pasts, ok
}

// Condition returns the condition of a job and the reasons for it.
func (p *Look) Condition(slot int, l *Past) (Condition, Attention) {
	c, s := conditionOf(p.View, slot, &l.lastRun, p.Where, p.marked == nil || p.marked[slot])
	for k := range p.live[slot] {
		c.add(p.View, slot, &p.live[slot][k], p.Now)
	}
	return c, s
}

// Status returns the status of job j, whose number is slot. last is its newest ended run, and l what
// the memory has of that.
func (p *Look) Status(slot int, j job.Job, l *Past, last *job.Run) job.Status {
	c, s := p.Condition(slot, l)
	st := job.Status{
		Job: j, State: c.State(), Next: p.View.Next(slot, p.Now), Hold: s.Hold, Planned: p.View.PlannedPause(slot),
		Running: p.live[slot], Last: last, Streak: int(l.Streak), Problem: s.Problem, Ack: s.Ack, Elsewhere: s.Away,
	}
	st.Node = p.Where.Of(slot, st.Next)
	st.Why = s.why(c, st.Running)
	return st
}

package jobstate

import (
	"time"

	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
)

// Look reads the conditions of jobs, as a user sees them at one moment.
type Look struct {
	memory *memory
	names  *Numbering
	View   *view.View
	Now    time.Time
	Peer   call.Peer
	pasts  []Past
	Live   map[int][]*job.Run // live runs that the reader sees
	marked map[int]bool       // jobs that a pause or a trouble is known of; nil: any may be one
	Where  *Whereabouts
}

// Look returns one for some jobs, or for all if slots is nil. The view must have the same jobs as
// names.
func (s *Jobs) Look(names *Numbering, view *view.View, now time.Time, peer call.Peer, slots []int) *Look {
	p := &Look{
		memory: s.memory, names: names, View: view, Now: now, Peer: peer, Live: map[int][]*job.Run{}, Where: s.Whereabouts(view),
	}
	var wanted map[int]bool
	if slots == nil {
		p.marked = map[int]bool{}
		for _, id := range view.Marked() {
			if slot, ok := p.names.View.Find(id); ok {
				p.marked[slot] = true
			}
		}
	} else {
		wanted = make(map[int]bool, len(slots))
		for _, slot := range slots {
			wanted[slot] = true
		}
	}
	view.EachRun(func(r *job.Run) {
		if slot, ok := p.names.View.Find(r.Job); ok && (wanted == nil || wanted[slot]) && p.Peer.MayOf(call.View, view, r.Job, r.User) {
			p.Live[slot] = append(p.Live[slot], r)
		}
	})
	return p
}

// Sees reports whether the user sees a job.
func (p *Look) Sees(i int) bool { return p.Peer.Admin || p.Peer.May(call.View, p.View.Entry(i)) }

// Read reads the past of jobs, valid until the next call.
func (p *Look) Read(slots []int) (pasts []Past, ok bool) {
	p.pasts, ok = p.memory.read(p.pasts[:0], p.names, slots, p.Peer.Admin)
	return p.pasts, ok
}

// Condition returns the condition of a job and the reasons for it.
func (p *Look) Condition(slot int, l *Past) (Condition, Attention) {
	c, s := conditionOf(p.View, slot, &l.lastRun, p.Where, p.marked == nil || p.marked[slot])
	for _, r := range p.Live[slot] {
		c.add(p.View, slot, r, p.Now)
	}
	return c, s
}

// Waiting is the oldest live run of a job that has no process, or nil.
func (p *Look) Waiting(slot int) *job.Run {
	var oldest *job.Run
	for _, r := range p.Live[slot] {
		if r.State != job.RunRunning && (oldest == nil || r.ID < oldest.ID) {
			oldest = r
		}
	}
	return oldest
}

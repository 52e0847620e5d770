package server

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
)

// aStrip is the number of recent runs in a job's strip.
const aStrip = 12

// counted is a job in a census.
type counted struct {
	job.Status
	number int // in the view
}

// How many jobs are looked at at a time: by a census, which describes them, and by
// states.
const (
	censusPage = 512
	statesPage = 4096
)

// jobState is the state of one job.
type jobState struct {
	condition
	number int // in the view
	id     job.ID
}

// states yields the states of jobs, in the order of jobs. It is for lists that are sorted or
// filtered by state: it reads the history only for jobs that the memory lacks, and does not
// describe the jobs. An error is the last item.
func (s *Server) states(ctx context.Context, c *call, jobs []int) iter.Seq2[jobState, error] {
	return func(yield func(jobState, error) bool) {
		live, where := c.liveByJob(), s.whereabouts(c.view)
		for page := range slices.Chunk(jobs, statesPage) {
			ids := make([]job.ID, len(page))
			for k, i := range page {
				ids[k] = c.view.ID(i)
			}
			lasts, err := s.boards.newest(ctx, ids, c.peer.keeper)
			if err != nil {
				yield(jobState{}, err)
				return
			}
			for k, i := range page {
				p, _ := conditionOf(c.view, i, &lasts[k], where, true)
				for r := range live[ids[k]] {
					p.add(c.view, i, &live[ids[k]][r], c.now)
				}
				if !yield(jobState{condition: p, number: i, id: ids[k]}, nil) {
					return
				}
			}
		}
	}
}

// census yields the status of jobs, in the order given. An error is the last item.
func (s *Server) census(ctx context.Context, c *call, jobs []int) iter.Seq2[counted, error] {
	return func(yield func(counted, error) bool) {
		live, where := c.liveByJob(), s.whereabouts(c.view)
		for page := range slices.Chunk(jobs, censusPage) {
			lasts, err := s.lastRuns(ctx, c, page)
			if err != nil {
				yield(counted{}, fmt.Errorf("read history: %w", err))
				return
			}
			for k, i := range page {
				j := c.view.Job(i)
				if !yield(c.count(i, j, live[j.ID], lasts[k], where), nil) {
					return
				}
			}
		}
	}
}

// lastRuns returns the newest ended run that the caller sees of each job, or nil.
func (s *Server) lastRuns(ctx context.Context, c *call, jobs []int) ([]*job.Run, error) {
	ids := make([]job.ID, len(jobs))
	for k, i := range jobs {
		ids[k] = c.view.ID(i)
	}
	known, err := s.boards.newest(ctx, ids, c.peer.keeper)
	if err != nil {
		return nil, err
	}
	places := make(map[job.RunID]int, len(jobs))
	numbers := make([]job.RunID, 0, len(jobs))
	for k := range known {
		if id := known[k].run; id != 0 {
			places[id], numbers = k, append(numbers, id)
		}
	}
	lasts := make([]*job.Run, len(jobs))
	err = s.store.Numbered(ctx, numbers, func(r job.Run) {
		if c.seesRun(r) {
			lasts[places[r.ID]] = &r
		}
	})
	return lasts, err
}

// collect is census as a slice, for a small number of jobs.
func collect(all iter.Seq2[counted, error]) (list []counted, err error) {
	for st, err := range all {
		if err != nil {
			return nil, err
		}
		list = append(list, st)
	}
	return list, nil
}

// liveByJob returns the live runs that the caller sees, oldest first.
func (c *call) liveByJob() map[job.ID][]job.Run {
	live := map[job.ID][]job.Run{}
	for _, r := range c.view.Runs() {
		if c.seesRun(r) {
			live[r.Job] = append(live[r.Job], r)
		}
	}
	return live
}

// recent returns the newest ended runs of a job that the caller sees.
func (s *Server) recent(ctx context.Context, c *call, id job.ID) ([]job.Run, error) {
	ended, err := s.store.Ended(ctx, []job.ID{id}, aStrip)
	if err != nil {
		return nil, err
	}
	seen := slices.DeleteFunc(ended[id], func(r job.Run) bool { return !c.seesRun(r) })
	if len(seen) == 0 { // the name was another account's meanwhile
		return s.ownLast(ctx, id, c.peer.name)
	}
	return seen, nil
}

// ownLast returns the newest ended run of a job as a user, if any.
func (s *Server) ownLast(ctx context.Context, id job.ID, user string) (runs []job.Run, err error) {
	var newest job.RunID
	if err := s.store.LastBy(ctx, id, user, func(r job.Run) { newest = r.ID }); err != nil || newest == 0 {
		return nil, err
	}
	r, ok, err := s.store.Run(ctx, newest)
	if ok {
		runs = append(runs, r)
	}
	return runs, err
}

func (c *call) count(i int, j job.Job, live []job.Run, newest *job.Run, where *whereabouts) counted {
	st := job.Status{Job: j, Next: c.view.Next(i, c.now), Running: live, Last: newest}
	var l last
	if newest != nil {
		l = lastOf(newest)
	}
	p, said := conditionOf(c.view, i, &l, where, true)
	for k := range live {
		p.add(c.view, i, &live[k], c.now)
	}
	st.State, st.Hold, st.Trouble, st.Ack, st.Elsewhere = p.state(), said.hold, said.trouble, said.ack, said.away
	st.Node = where.of(i, st.Next)
	return counted{Status: st, number: i}
}

// condition is what determines a job's state.
type condition struct {
	ended, failed bool // its newest run; a failure that was not acknowledged
	late, running bool
	held          bool
	disabled      bool
}

// standing is the pause, problem or remote state of a job.
type standing struct {
	hold    *job.Hold
	held    string // why its entry must not run
	trouble string
	ack     *job.Ack // of the failure of its newest run
	away    *job.Elsewhere
}

// conditionOf returns the condition of job i apart from its live runs, and the reasons for it.
// marked reports whether the job may have a pause, a problem or an acknowledgement; see
// View.Marked.
func conditionOf(v *engine.View, i int, l *last, where *whereabouts, marked bool) (condition, standing) {
	var s standing
	o := v.Options(i)
	s.held = o.Held
	if b, barred := v.BarOf(i); barred && s.held == "" {
		s.held = b.Detail
	}
	if marked {
		s.hold, s.trouble = v.Hold(i), v.Trouble(i).Words()
		if l.failed {
			if a := v.Ack(i); a.Covers(l.run) {
				s.ack = a
			}
		}
	}
	s.away = where.since(i, l.at())
	return condition{
		ended: l.run != 0 || s.away != nil, failed: l.failed && s.ack == nil && s.away == nil, late: s.trouble != "",
		held: s.hold != nil || s.held != "", disabled: !o.Enabled,
	}, s
}

// add takes a live run of job i into account. It is late when it should have
// started by now: it is due, its grace is over, and it waits behind another or
// for a process.
func (p *condition) add(v *engine.View, i int, r *job.Run, now time.Time) {
	switch r.State {
	case job.RunRunning:
		p.running = true
	case job.RunDecided:
		p.running = true
		p.late = p.late || now.After(lateAt(v, i, r))
	case job.RunQueued:
		p.late = p.late || now.After(lateAt(v, i, r))
	}
}

// lateAt is after when a run of job i that has no process is late.
func lateAt(v *engine.View, i int, r *job.Run) time.Time {
	return r.Due.Add(v.Entry(i).Options().Grace)
}

// state is the worst of what can be said of a job.
func (p condition) state() job.State {
	switch {
	case p.failed:
		return job.StateFailing
	case p.late:
		return job.StateLate
	case p.running:
		return job.StateRunning
	case p.held:
		return job.StateHeld
	case p.disabled:
		return job.StateDisabled
	case p.ended:
		return job.StateOK
	}
	return job.StateNew
}

// severities is the order of lists, worst first.
var severities = []job.State{
	job.StateFailing, job.StateLate, job.StateRunning, job.StateHeld, job.StateDisabled, job.StateOK, job.StateNew,
}

func severity(s job.State) int { return slices.Index(severities, s) }

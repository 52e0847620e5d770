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

// How many recent runs of each job a census shows.
const (
	lastOnly = 1
	aStrip   = 12 // as many as lists draw
)

// counted is a job in a census.
type counted struct {
	job.Status
	number int // in the view
}

// censusRuns is how many runs a census reads from the history at a time, and
// censusPage of how many jobs that is in a list. statesPage is of how many jobs
// states reads the newest run at a time.
const (
	censusRuns = 6144
	censusPage = censusRuns / aStrip
	statesPage = 4096
)

// jobState is the state of one job.
type jobState struct {
	condition
	number int // in the view
	id     job.ID
}

// states yields the states of jobs, in the order given. It is for lists that are
// sorted or chosen by state: it reads less of the history than census and does
// not describe the jobs. An error is the last item.
func (s *Server) states(ctx context.Context, c *call, jobs []int) iter.Seq2[jobState, error] {
	return func(yield func(jobState, error) bool) {
		live, where := c.liveByJob(), s.whereabouts(c.view)
		for page := range slices.Chunk(jobs, statesPage) {
			ids := make([]job.ID, len(page))
			for k, i := range page {
				ids[k] = c.view.ID(i)
			}
			lasts, err := s.lasts(ctx, c, ids)
			if err != nil {
				yield(jobState{}, err)
				return
			}
			for k, i := range page {
				id := ids[k]
				l, runs := lasts[id], live[id]
				p, _ := conditionOf(c.view, i, &l, where, true)
				for r := range runs {
					p.add(c.view, i, &runs[r], c.now)
				}
				if !yield(jobState{condition: p, number: i, id: id}, nil) {
					return
				}
			}
		}
	}
}

// lasts returns the newest ended run that the caller sees of each job that has
// one.
func (s *Server) lasts(ctx context.Context, c *call, jobs []job.ID) (map[job.ID]last, error) {
	lasts := make(map[job.ID]last, len(jobs))
	var foreign []job.ID
	err := s.store.LastOf(ctx, jobs, func(r job.Run) {
		if c.seesRun(r) {
			lasts[r.Job] = lastOf(&r)
		} else {
			foreign = append(foreign, r.Job)
		}
	})
	for _, id := range foreign { // few: another user has had a job with the same ID
		if err == nil {
			err = s.store.LastBy(ctx, id, c.peer.name, func(r job.Run) { lasts[id] = lastOf(&r) })
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	return lasts, nil
}

// census yields the status of jobs, in the order given, with up to n of the
// newest ended runs of each. An error is the last item.
func (s *Server) census(ctx context.Context, c *call, jobs []int, n int) iter.Seq2[counted, error] {
	return func(yield func(counted, error) bool) {
		live, where := c.liveByJob(), s.whereabouts(c.view)
		for page := range slices.Chunk(jobs, censusRuns/n) {
			described := make([]job.Job, len(page))
			for k, i := range page {
				described[k] = c.view.Job(i)
			}
			ended, err := s.ended(ctx, c, described, n)
			if err != nil {
				yield(counted{}, err)
				return
			}
			for k, i := range page {
				id := described[k].ID
				if !yield(c.count(i, described[k], live[id], ended[id], where), nil) {
					return
				}
			}
		}
	}
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

// liveByJob gives the live runs that the caller sees, oldest first.
func (c *call) liveByJob() map[job.ID][]job.Run {
	live := map[job.ID][]job.Run{}
	for _, r := range c.view.Runs() {
		if c.seesRun(r) {
			live[r.Job] = append(live[r.Job], r)
		}
	}
	return live
}

// ended gives the newest ended runs of jobs.
func (s *Server) ended(ctx context.Context, c *call, jobs []job.Job, n int) (map[job.ID][]job.Run, error) {
	ids := make([]job.ID, len(jobs))
	for k, j := range jobs {
		ids[k] = j.ID
	}
	ended, err := s.store.Ended(ctx, ids, n)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	for id, runs := range ended {
		seen := slices.DeleteFunc(runs, func(r job.Run) bool { return !c.seesRun(r) })
		if len(seen) == 0 { // the name was another account's meanwhile
			if seen, err = s.ownLast(ctx, id, c.peer.name); err != nil {
				return nil, fmt.Errorf("read history: %w", err)
			}
		}
		ended[id] = seen
	}
	return ended, nil
}

// ownLast gives the newest ended run that a job had as an account, if any.
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

func (c *call) count(i int, j job.Job, live, ended []job.Run, where *whereabouts) counted {
	st := job.Status{Job: j, Next: c.view.Next(i, c.now), Running: live, Recent: ended}
	var l last
	if len(ended) > 0 {
		st.Last, l = &ended[0], lastOf(&ended[0])
	}
	p, said := conditionOf(c.view, i, &l, where, true)
	for k := range live {
		p.add(c.view, i, &live[k], c.now)
	}
	st.State, st.Hold, st.Trouble, st.Ack, st.Elsewhere = p.state(), said.hold, said.trouble, said.ack, said.away
	st.Node = where.of(i, st.Next)
	return counted{Status: st, number: i}
}

// condition is what a job's state is made of.
type condition struct {
	ended, failed bool // its newest run; a failure that nobody has acknowledged
	late, running bool
	held          bool
	disabled      bool
}

// standing is what pauses, troubles and other members report of a job.
type standing struct {
	hold    *job.Hold
	held    string // why its entry must not run
	trouble string
	ack     *job.Ack // of the failure of its newest run
	away    *job.Elsewhere
}

// conditionOf returns the condition of job i apart from its live runs, and the
// reasons for it. marked is whether there may be a pause, a trouble or an
// acknowledgement of the job; see View.Marked.
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

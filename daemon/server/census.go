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
	late   bool
}

// censusRuns is how many runs a census reads from the history at a time, and
// censusPage of how many jobs that is in a list.
const (
	censusRuns = 6144
	censusPage = censusRuns / aStrip
)

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
	st := job.Status{
		Job: j, Next: c.view.Next(i, c.now), Hold: c.view.Hold(i),
		Running: live, Recent: ended, Trouble: c.view.Trouble(i).Words(),
	}
	if len(st.Recent) > 0 {
		st.Last = &st.Recent[0]
	}
	if st.Last != nil && st.Last.Failed() {
		if a := c.view.Ack(i); a.Covers(st.Last.ID) {
			st.Ack = a
		}
	}
	st.Node, st.Elsewhere = where.of(i, st.Next), where.since(i, lastAt(st.Last))
	p := condition{
		ended: st.Last != nil || st.Elsewhere != nil, failed: st.Last != nil && st.Last.Failed() && st.Ack == nil && st.Elsewhere == nil,
		late: st.Trouble != "", held: st.Hold != nil || st.Job.Held != "", disabled: st.Job.Disabled,
	}
	for k := range live {
		p.add(c.view, i, &live[k], c.now)
	}
	st.State = p.state()
	return counted{Status: st, number: i, late: p.late}
}

// condition is what a job's state is made of.
type condition struct {
	ended, failed bool // its newest run; a failure that nobody has acknowledged
	late, running bool
	held          bool
	disabled      bool
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

func isRunning(st job.Status) bool {
	return slices.ContainsFunc(st.Running, func(r job.Run) bool {
		return r.State == job.RunRunning || r.State == job.RunDecided
	})
}

// severities is the order of lists, worst first.
var severities = []job.State{
	job.StateFailing, job.StateLate, job.StateRunning, job.StateHeld, job.StateDisabled, job.StateOK, job.StateNew,
}

func severity(s job.State) int { return slices.Index(severities, s) }

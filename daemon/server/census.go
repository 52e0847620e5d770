package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"

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

// census tells how jobs are now, in the order given, with up to n of the
// newest ended runs of each.
func (s *Server) census(ctx context.Context, c *call, jobs []int, n int) ([]counted, error) {
	live := c.liveByJob()
	described := make([]job.Job, len(jobs))
	for k, i := range jobs {
		described[k] = c.view.Job(i)
	}
	ended, err := s.ended(ctx, c, described, live, n)
	if err != nil {
		return nil, err
	}
	all := make([]counted, len(jobs))
	for k, i := range jobs {
		id := described[k].ID
		all[k] = c.count(i, described[k], live[id], ended[id])
	}
	return all, nil
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

// ended gives the newest ended runs of jobs. What the store has as newest can
// be live still, so it is asked for more where runs are; for these few jobs
// apart, as there can be a million others.
func (s *Server) ended(ctx context.Context, c *call, jobs []job.Job, live map[job.ID][]job.Run, n int) (map[job.ID][]job.Run, error) {
	const enough = 100
	var idle, busy []job.ID
	more := 0
	for _, j := range jobs {
		if runs := live[j.ID]; len(runs) > 0 {
			busy = append(busy, j.ID)
			more = max(more, min(len(runs), enough))
		} else {
			idle = append(idle, j.ID)
		}
	}
	recent, err := s.store.Recent(ctx, idle, n)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	busyRecent, err := s.store.Recent(ctx, busy, n+more)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	all := make(map[job.ID][]job.Run, len(recent)+len(busyRecent))
	for _, some := range []map[job.ID][]job.Run{recent, busyRecent} {
		for id, runs := range some {
			runs = slices.DeleteFunc(runs, func(r job.Run) bool { return r.State != job.RunEnded || !c.seesRun(r) })
			all[id] = runs[:min(n, len(runs))]
		}
	}
	return all, nil
}

func (c *call) count(i int, j job.Job, live, ended []job.Run) counted {
	st := job.Status{
		Job: j, Next: c.view.Next(i, c.now), Hold: c.view.Hold(i),
		Running: live, Recent: ended, Trouble: c.view.Trouble(i).Words(),
	}
	if len(st.Recent) > 0 {
		st.Last = &st.Recent[0]
	}
	late := st.Trouble != "" || slices.ContainsFunc(live, func(r job.Run) bool { return c.isLate(i, r) })
	st.State = stateOf(st, late)
	return counted{Status: st, number: i, late: late}
}

// isLate tells whether a run should have started by now: it is due, its grace
// is over, and it waits behind another or for a process.
func (c *call) isLate(i int, r job.Run) bool {
	if r.State != job.RunQueued && r.State != job.RunDecided {
		return false
	}
	return c.now.Sub(r.Due) > c.view.Entry(i).Options().Grace
}

// stateOf is the worst of what can be said of a job.
func stateOf(st job.Status, late bool) job.State {
	switch {
	case st.Last != nil && st.Last.Failed():
		return job.StateFailing
	case late:
		return job.StateLate
	case isRunning(st):
		return job.StateRunning
	case st.Hold != nil || st.Job.Held != "":
		return job.StateHeld
	case st.Job.Disabled:
		return job.StateDisabled
	case st.Last != nil:
		return job.StateOK
	}
	return job.StateNew
}

func isRunning(st job.Status) bool {
	return slices.ContainsFunc(st.Running, func(r job.Run) bool {
		return r.State == job.RunRunning || r.State == job.RunDecided
	})
}

// severity is the order of lists, worst first.
var severity = map[job.State]int{
	job.StateFailing: 0, job.StateLate: 1, job.StateRunning: 2, job.StateHeld: 3,
	job.StateDisabled: 4, job.StateOK: 5, job.StateNew: 6,
}

func bySeverity(a, b counted) int {
	return cmp.Or(cmp.Compare(severity[a.State], severity[b.State]), cmp.Compare(a.Job.ID, b.Job.ID))
}

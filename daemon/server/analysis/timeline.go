package analysis

import (
	"context"
	"fmt"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/jobstate"
)

// Bounds of a time line.
const (
	usualReach  = 12 * time.Hour
	usualCell   = 30 * time.Minute
	longestLine = 60 * 24 * time.Hour
	longestLoad = 15 * 24 * time.Hour // beyond which starts are not counted by the minute
	lineJobs    = api.MaxPast
	lineRuns    = 50_000 // of all its jobs
	lineSkips   = 1000   // of each
	mostPlanned = 2000   // occurrences of a job that are counted; of others only whether there is one
)

// Timeline answers with past and planned runs on one axis.
func (s *Analyst) Timeline(ctx context.Context, c *call.Call) error {
	a, err := readAxis(c)
	if err != nil {
		return err
	}
	jobs, err := s.find.Resolve(ctx, c, "report timeline", c.Query["job"])
	if err != nil {
		return err
	}
	if len(jobs) > lineJobs {
		return call.BadRequest("too many jobs for one time line", fmt.Sprintf("%d are named, at most %d can be", len(jobs), lineJobs))
	}
	lines, err := s.lines(ctx, c, a, jobs)
	if err != nil {
		return err
	}
	answer := api.Timeline{V: api.Version, Now: c.Now, From: a.from, To: a.to, Cells: a.cells, Jobs: []api.TimelineJob{}}
	for _, l := range lines {
		answer.Jobs = append(answer.Jobs, l.result())
	}
	if err := s.addLoad(ctx, c, a, &answer); err != nil {
		return err
	}
	return c.Answer(answer)
}

// lines draws the past and the future of jobs.
func (s *Analyst) lines(ctx context.Context, c *call.Call, a axis, jobs []int) ([]*line, error) {
	counts, err := jobstate.Collect(s.states.Statuses(ctx, c, jobs))
	if err != nil {
		return nil, err
	}
	lines := make([]*line, len(jobs))
	ids := make([]job.ID, len(jobs))
	byID := map[job.ID]*line{}
	for k, st := range counts {
		lines[k] = &line{c: c, axis: a, i: jobs[k], state: st.State, grace: c.View.Options(jobs[k]).Grace, cells: make([]api.TimelineCell, a.cells)}
		ids[k], byID[st.Job.ID] = st.Job.ID, lines[k]
	}
	if err := s.drawPast(ctx, c, a, ids, byID); err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	for k, l := range lines {
		live := counts[k].Running
		for r := range live {
			l.run(&live[r])
		}
		if err := l.future(ctx, live); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// drawPast reads the runs of the period, the run of each job before it, because that may have
// lasted into it, and skips.
func (s *Analyst) drawPast(ctx context.Context, c *call.Call, a axis, ids []job.ID, byID map[job.ID]*line) error {
	if len(ids) == 0 || !a.from.Before(a.now) {
		return nil
	}
	draw := func(r *job.Run) {
		if l := byID[r.Job]; c.SeesRun(r) && !r.State.Live() {
			l.run(r)
		}
	}
	if err := s.store.Between(ctx, ids, a.from, a.to, lineRuns, draw); err != nil {
		return err
	}
	if err := s.store.LastBefore(ctx, ids, a.from, draw); err != nil {
		return err
	}
	return s.find.EachSkip(ctx, c, ids, a.from, a.to, lineSkips, func(r job.Record) {
		byID[r.Job].put(r.Due, api.TimelineCell{Kind: api.CellSkipped, Count: max(1, r.Count), Due: r.Due})
	})
}

// addLoad counts the starts of all jobs by cell: past starts until now, and scheduled starts from
// the next minute on. It finds the fullest coming minute.
func (s *Analyst) addLoad(ctx context.Context, c *call.Call, a axis, t *api.Timeline) error {
	t.Load = make([]int, a.cells)
	if a.to.Sub(a.from) > longestLoad {
		return nil
	}
	l, starts, err := s.loads.find(ctx, s, c, a)
	if err != nil {
		return err
	}
	copy(t.Load, starts)
	next := 0
	if !c.Now.Before(l.from) {
		next = l.minute(c.Now) + 1
	}
	for m := next; m < len(l.counts); m++ {
		if k := a.cell(l.at(m)); k >= 0 && k < a.cells {
			t.Load[k] += l.counts[m]
		}
	}
	if m := l.busiest(next, len(l.counts)); m >= 0 {
		t.Peak, t.PeakAt, t.Quiet = l.counts[m], l.at(m), l.quietNear(m)
	}
	return nil
}

// loads caches the newest load of all jobs, because an open time line requests it repeatedly.
type loads struct {
	semaphore chan struct{} // held while using the other fields
	view      *view.View
	axis      axis // its field now: when the load was counted
	load      *load
	starts    []int // runs that began, by cell
}

// loadAge is the maximum age of a load: pauses and new runs change it.
const loadAge = 20 * time.Second

func newLoads() *loads { return &loads{semaphore: make(chan struct{}, 1)} }

func (k *loads) find(ctx context.Context, s *Analyst, c *call.Call, a axis) (*load, []int, error) {
	if !c.Peer.Admin {
		return s.countLoad(ctx, c, a)
	}
	select {
	case k.semaphore <- struct{}{}:
		defer func() { <-k.semaphore }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	same := a
	same.now = k.axis.now
	if k.load != nil && k.axis == same && c.View.SameRules(k.view) && a.now.Sub(k.axis.now).Abs() < loadAge {
		return k.load, k.starts, nil
	}
	l, starts, err := s.countLoad(ctx, c, a)
	if err == nil {
		k.view, k.axis, k.load, k.starts = c.View, a, &load{from: l.from, counts: l.counts}, starts
	}
	return l, starts, err
}

// countLoad counts what schedules have, by the minute, and the runs that have
// begun, by the cells of an axis.
func (s *Analyst) countLoad(ctx context.Context, c *call.Call, a axis) (*load, []int, error) {
	l, err := newLoad(ctx, c.View, c.Visible(), a.from.Truncate(time.Minute), a.to.Add(time.Minute-1).Truncate(time.Minute))
	if err != nil || !a.from.Before(a.now) || !c.Peer.Admin && c.Peer.Name == "" {
		return l, nil, err
	}
	user := c.OnlyUser()
	if len(c.Visible()) < c.View.Len() { // the counts of jobs that access= hides cannot be left out
		user = c.Peer.String()
	}
	starts, err := s.store.Starts(ctx, user, a.from, a.to, a.cells)
	if err != nil {
		return nil, nil, fmt.Errorf("read history: %w", err)
	}
	return l, starts, nil
}

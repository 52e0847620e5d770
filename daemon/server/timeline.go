package server

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/engine"
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

// timeline answers with past and planned runs on one axis.
func (s *Server) timeline(ctx context.Context, c *call.Call) error {
	a, err := readAxis(c)
	if err != nil {
		return err
	}
	var jobs []int
	if refs := c.Query["job"]; len(refs) > 0 {
		if jobs, err = s.find.Resolve(ctx, c, "timeline", refs); err != nil {
			return err
		}
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

// axis is time cut into cells.
type axis struct {
	from, to, now time.Time
	cells         int
}

func readAxis(c *call.Call) (a axis, err error) {
	a.now = c.Now
	if a.from, a.to, err = c.Period("from", "to"); err != nil {
		return a, err
	}
	cells, err := c.Number("cells")
	if err != nil {
		return a, err
	}
	if a.from.IsZero() {
		a.from = c.Now.Add(-usualReach)
	}
	if a.to.IsZero() {
		a.to = c.Now.Add(usualReach)
	}
	a.cells = int(min(cells, math.MaxInt32))
	span := a.to.Sub(a.from)
	if cells == 0 {
		a.cells = min(api.MaxCells, max(1, int(span/usualCell)))
	}
	if span < time.Duration(a.cells) || span > longestLine || a.cells > api.MaxCells {
		return a, call.BadRequest("invalid time line",
			fmt.Sprintf("it must be no longer than %s, and have at most %d cells", display.Length(longestLine), api.MaxCells))
	}
	return a, nil
}

// cell returns the cell of an instant: -1 before the first, and cells after the last. begin of the
// next cell is always later than t, so that loops make progress.
func (a *axis) cell(t time.Time) int {
	d, span := t.Sub(a.from), a.to.Sub(a.from)
	switch {
	case d < 0:
		return -1
	case d >= span:
		return a.cells
	}
	return int(d * time.Duration(a.cells) / span)
}

// begin is the first instant of a cell.
func (a *axis) begin(cell int) time.Time {
	cells := time.Duration(a.cells)
	return a.from.Add((time.Duration(cell)*a.to.Sub(a.from) + cells - 1) / cells)
}

// line is one job on the axis.
type line struct {
	c     *call.Call
	axis  axis
	i     int
	state job.State
	grace time.Duration
	cells []api.TimelineCell // those without a kind are empty
	took  []time.Duration
	ahead int // up to this cell it is drawn how long runs may take
}

// lines draws the past and the future of jobs.
func (s *Server) lines(ctx context.Context, c *call.Call, a axis, jobs []int) ([]*line, error) {
	counts, err := jobstate.Collect(s.states.Census(ctx, c, jobs))
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
func (s *Server) drawPast(ctx context.Context, c *call.Call, a axis, ids []job.ID, byID map[job.ID]*line) error {
	if len(ids) == 0 || !a.from.Before(a.now) {
		return nil
	}
	draw := func(r *job.Run) {
		if l := byID[r.Job]; c.SeesRun(*r) && !r.State.Live() {
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

// run draws a run: where it began, and how long it took.
func (l *line) run(r *job.Run) {
	cell, ok := cellOf(r, l.axis.now, l.grace)
	if !ok {
		return
	}
	begin := at(&cell)
	l.put(begin, api.TimelineCell{Kind: cell.Kind, Count: 1, Due: cell.Due, Run: cell.Run})
	if r.Started.IsZero() {
		return
	}
	end := r.Ended
	if end.IsZero() {
		end = l.axis.now
	} else {
		l.took = append(l.took, end.Sub(r.Started))
	}
	for k := max(0, l.axis.cell(begin)+1); k <= min(l.axis.cell(end), l.axis.cells-1); k++ {
		l.set(k, api.TimelineCell{Kind: api.CellSpan, Due: cell.Due, Run: cell.Run})
	}
}

// put draws something at an instant, if that is on the axis.
func (l *line) put(t time.Time, cell api.TimelineCell) {
	if k := l.axis.cell(t); k >= 0 && k < l.axis.cells {
		l.set(k, cell)
	}
}

// set draws something in a cell. The worst of what is there shows.
func (l *line) set(k int, cell api.TimelineCell) {
	before := &l.cells[k]
	if before.Kind != "" && rank(before.Kind) <= rank(cell.Kind) {
		before.Count += cell.Count
		return
	}
	cell.Cell, cell.Count = k, cell.Count+before.Count
	*before = cell
}

// ranks is the order in which kinds hide each other.
var ranks = []api.CellKind{
	api.CellFailed, api.CellLate, api.CellRunning, api.CellOK, api.CellSkipped, api.CellSpan, api.CellPlanned, api.CellExpected, api.CellHeld,
}

func rank(k api.CellKind) int { return slices.Index(ranks, k) }

// future draws what is planned, what a pause will skip, and how long a run that
// is going may still take.
func (l *line) future(ctx context.Context, live []job.Run) error {
	v, a := l.c.View, l.axis
	slices.Sort(l.took)
	usual := quantiles(l.took, 95)[0]
	for i := range live {
		if r := &live[i]; r.State == job.RunRunning {
			l.expect(a.now, r.Started.Add(usual), r.Due, r.ID)
		}
	}
	start := a.now
	if a.from.After(start) {
		start = a.from.Add(-1)
	}
	l.each(start, func(t time.Time) time.Time { return v.Next(l.i, t) }, func(t time.Time) {
		l.put(t, api.TimelineCell{Kind: api.CellPlanned, Count: 1, Due: t})
		l.expect(t, t.Add(usual), t, 0)
	})
	if h := v.Hold(l.i); h != nil && v.Planned(l.i) {
		until := a.to
		if !h.Until.IsZero() && h.Until.Before(until) {
			until = h.Until
		}
		l.each(start, func(t time.Time) time.Time {
			if t = v.Entry(l.i).Schedule.Next(t); !t.Before(until) {
				return time.Time{}
			}
			return t
		}, func(t time.Time) { l.put(t, api.TimelineCell{Kind: api.CellHeld, Count: 1, Due: t}) })
	}
	return ctx.Err()
}

// each calls f for the occurrences after an instant: of those beyond a number
// for one in each cell.
func (l *line) each(t time.Time, next func(time.Time) time.Time, f func(time.Time)) {
	n := 0
	for t = next(t); !t.IsZero() && t.Before(l.axis.to); t = next(t) {
		f(t)
		if n++; n > mostPlanned {
			t = l.axis.begin(l.axis.cell(t) + 1).Add(-1)
		}
	}
}

// expect draws how long a run may take. Runs must be added in the order in which they begin.
func (l *line) expect(from, to, due time.Time, id job.RunID) {
	last := min(l.axis.cell(to), l.axis.cells-1)
	for k := max(0, l.ahead, l.axis.cell(from)+1); k <= last; k++ {
		l.set(k, api.TimelineCell{Kind: api.CellExpected, Due: due, Run: id})
	}
	l.ahead = max(l.ahead, last+1)
}

func (l *line) result() api.TimelineJob {
	v := l.c.View
	told := api.TimelineJob{
		Job: v.ID(l.i), State: l.state, Zone: v.Entry(l.i).Zone().String(), Next: v.Next(l.i, l.axis.now).UTC(), Cells: []api.TimelineCell{},
	}
	for _, cell := range l.cells {
		if cell.Kind != "" {
			told.Cells = append(told.Cells, cell)
		}
	}
	return told
}

// addLoad counts the starts of all jobs by cell: past starts until now, and scheduled starts from
// the next minute on. It finds the fullest coming minute.
func (s *Server) addLoad(ctx context.Context, c *call.Call, a axis, t *api.Timeline) error {
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
	turn   chan struct{} // held while using the other fields
	view   *engine.View
	axis   axis // now is when it was made
	load   *load
	starts []int // runs that began, by cell
}

// loadAge is the maximum age of a load: pauses and new runs change it.
const loadAge = 20 * time.Second

func newLoads() *loads { return &loads{turn: make(chan struct{}, 1)} }

func (k *loads) find(ctx context.Context, s *Server, c *call.Call, a axis) (*load, []int, error) {
	if !c.Peer.Admin {
		return s.countLoad(ctx, c, a)
	}
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
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
func (s *Server) countLoad(ctx context.Context, c *call.Call, a axis) (*load, []int, error) {
	l, err := newLoad(ctx, c.View, c.Visible(), a.from.Truncate(time.Minute), a.to.Add(time.Minute-1).Truncate(time.Minute))
	if err != nil || !a.from.Before(a.now) || !c.Peer.Admin && c.Peer.Name == "" {
		return l, nil, err
	}
	user := c.Peer.Name
	if c.Peer.Admin {
		user = ""
	}
	starts, err := s.store.Starts(ctx, user, a.from, a.to, a.cells)
	if err != nil {
		return nil, nil, fmt.Errorf("read history: %w", err)
	}
	return l, starts, nil
}

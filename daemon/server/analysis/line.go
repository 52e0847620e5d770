package analysis

import (
	"context"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
)

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

// run draws a run: where it began, and how long it took.
func (l *line) run(r *job.Run) {
	cell, ok := cellOf(r, l.axis.now, l.grace)
	if !ok {
		return
	}
	begin := at(&cell)
	l.put(begin, api.TimelineCell{Kind: cell.Kind, Count: 1, Due: cell.Due, Run: cell.Run})
	if r.Started.IsZero() || r.OnlyStarted() {
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
		}, func(t time.Time) { l.put(t, api.TimelineCell{Kind: api.CellPaused, Count: 1, Due: t}) })
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

// expect draws how long a run may take. Runs must be added in the order that they begin.
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

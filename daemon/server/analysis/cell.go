package analysis

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
)

// cellOf returns the cell of a run; ok is false if the run need not have begun yet.
func cellOf(r *job.Run, now time.Time, grace time.Duration) (cell api.Cell, ok bool) {
	cell = api.Cell{Kind: api.CellOK, Due: r.Due, Began: r.Started, Run: r.ID}
	switch {
	case r.OnlyStarted():
		cell.Kind = api.CellStarted
	case r.State == job.RunEnded:
		if !r.Started.IsZero() {
			cell.Took = r.Length()
		}
		if r.Failed() {
			cell.Kind, cell.Ending = api.CellFailed, job.OneLine(r.Ending())
		} else if r.Verdict == job.VerdictSkip {
			cell.Kind, cell.Ending = api.CellSkipped, job.OneLine(r.Ending())
		}
	case r.State == job.RunDropped:
		cell.Kind, cell.Ending = api.CellSkipped, display.Clause(r.Reason.Sentence())
	case r.State == job.RunRunning:
		cell.Kind = api.CellRunning
	case r.State != job.RunWaiting && now.After(r.Due.Add(grace)):
		cell.Kind, cell.Ending = api.CellLate, display.Clause(r.Reason.Sentence())
	default:
		return cell, false
	}
	return cell, true
}

// at returns the time of a cell.
func at(c *api.Cell) time.Time {
	if !c.Began.IsZero() {
		return c.Began
	}
	return c.Due
}

// ranks is the order in which kinds hide each other.
var ranks = []api.CellKind{
	api.CellFailed, api.CellLate, api.CellRunning, api.CellOK, api.CellStarted, api.CellSkipped, api.CellSpan, api.CellPlanned, api.CellExpected, api.CellPaused,
}

func rank(k api.CellKind) int { return slices.Index(ranks, k) }

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

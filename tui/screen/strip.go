package screen

import (
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
)

// stateLook is how a state is shown: a sign, a word and a role, so that none of
// the three is needed. The words are those of the command line.
func stateLook(w *World, s job.State) (sign, word string, style canvas.Style) {
	g := w.Glyphs
	switch s {
	case job.StateFailing:
		return g.Failed, "FAIL", canvas.Style{Role: canvas.Bad, Bold: true}
	case job.StateLate:
		return g.Late, "LATE", canvas.Style{Role: canvas.Doubt, Bold: true}
	case job.StateRunning:
		return g.Running, "run", canvas.Style{Role: canvas.Busy}
	case job.StateHeld:
		return g.Held, "held", canvas.Style{Role: canvas.Off}
	case job.StateDisabled:
		return g.Held, "off", canvas.Style{Role: canvas.Off}
	case job.StateOK:
		return g.OK, "ok", canvas.Style{Role: canvas.Good}
	}
	return g.New, "new", canvas.Style{Role: canvas.Fresh}
}

// outcomeLook is how what became of an occurrence is shown in one cell.
func outcomeLook(w *World, k api.CellKind) (sign string, style canvas.Style) {
	g := w.Glyphs
	switch k {
	case api.CellFailed:
		return g.Failed, canvas.Style{Role: canvas.Bad, Bold: true}
	case api.CellLate:
		return g.Late, canvas.Style{Role: canvas.Doubt, Bold: true}
	case api.CellRunning:
		return g.Running, canvas.Style{Role: canvas.Busy, Bold: w.pulse()}
	case api.CellOK:
		return g.Ran, canvas.Style{Role: canvas.Good}
	case api.CellSpan:
		return g.Long, canvas.Style{Role: canvas.Good}
	case api.CellSkipped:
		return g.Skipped, canvas.Style{Role: canvas.Off}
	case api.CellHeld:
		return g.Held, canvas.Style{Role: canvas.Off}
	case api.CellPlanned:
		return g.Planned, canvas.Style{}
	case api.CellExpected:
		return g.Expected, canvas.Style{}
	}
	return " ", canvas.Style{}
}

// pulse is true in every other second: what runs shows that it lives, unless
// nothing may move.
func (w *World) pulse() bool { return !w.Still && w.Now.Unix()%2 == 0 }

// drawStrip draws the newest of some occurrences, as many as there are columns,
// oldest left: the height of a run that succeeded is its length against p95, and
// any other has its sign.
func drawStrip(v canvas.View, cells []api.Cell, p95 time.Duration, w *World) {
	cells = cells[max(len(cells)-v.Width(), 0):]
	for x := range cells {
		c := &cells[x]
		if c.Kind == api.CellOK {
			v.Put(x, 0, bar(w.Glyphs, c.Took, p95), canvas.Style{})
			continue
		}
		sign, style := outcomeLook(w, c.Kind)
		v.Put(x, 0, sign, style)
	}
}

// drawLengths draws how long each occurrence ran, on the columns of drawStrip;
// what did not run stays blank.
func drawLengths(v canvas.View, cells []api.Cell, p95 time.Duration, w *World) {
	cells = cells[max(len(cells)-v.Width(), 0):]
	for x := range cells {
		if c := &cells[x]; !c.Began.IsZero() && c.Kind != api.CellRunning {
			v.Put(x, 0, bar(w.Glyphs, c.Took, p95), canvas.Style{})
		}
	}
}

// bar is a length of time as one of eight heights, of which the last is p95 and
// all beyond.
func bar(g *canvas.Glyphs, took, p95 time.Duration) string {
	if p95 <= 0 {
		return g.Bars[0]
	}
	top := len(g.Bars) - 1
	return g.Bars[int(min(max(float64(took)/float64(p95), 0), 1)*float64(top)+0.5)]
}

package jobinfo

import (
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/screen"
)

// DrawStrip draws the newest of some occurrences, as many as there are columns,
// oldest left: the height of a run that succeeded is its length against p95, and
// any other has its sign.
func DrawStrip(v canvas.View, cells []api.Cell, p95 time.Duration, w *screen.World) {
	cells = cells[max(len(cells)-v.Width(), 0):]
	for x := range cells {
		c := &cells[x]
		if c.Kind == api.CellOK {
			v.Put(x, 0, bar(w.Glyphs, c.Took, p95), canvas.Style{})
			continue
		}
		sign, style := screen.OutcomeLook(w, c.Kind)
		v.Put(x, 0, sign, style)
	}
}

// drawLengths draws how long each occurrence ran, in the columns of DrawStrip. An occurrence that did
// not run stays blank.
func drawLengths(v canvas.View, cells []api.Cell, p95 time.Duration, w *screen.World) {
	cells = cells[max(len(cells)-v.Width(), 0):]
	for x := range cells {
		if c := &cells[x]; !c.Began.IsZero() && c.Kind != api.CellRunning && c.Kind != api.CellStarted {
			v.Put(x, 0, bar(w.Glyphs, c.Took, p95), canvas.Style{})
		}
	}
}

// bar returns a duration as one of eight heights. The highest means p95 or longer.
func bar(g *canvas.Glyphs, took, p95 time.Duration) string {
	if p95 <= 0 {
		return g.Bars[0]
	}
	top := len(g.Bars) - 1
	return g.Bars[int(min(max(float64(took)/float64(p95), 0), 1)*float64(top)+0.5)]
}

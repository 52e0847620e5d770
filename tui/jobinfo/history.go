package jobinfo

import (
	"fmt"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// HistoryHeight is the height of DrawHistory.
const HistoryHeight = 6

func historyTitle(w *screen.World, d *Info) string {
	if d.Past == nil || len(d.Past.Cells) == 0 {
		return "History"
	}
	first := d.Past.Cells[0].Due
	return fmt.Sprintf("History: %s, %s", display.Count(len(d.Past.Cells), "occurrence"), display.Brief(w.Since(first)))
}

// DrawHistory draws what became of the newest occurrences above how long they
// took, on the same columns with an axis, and what they came to. The column of
// one cell, counted from the newest, can be marked; -1: none.
func DrawHistory(v canvas.View, w *screen.World, r *api.Row, d *Info, chosen int) {
	past := d.Past
	if past == nil && d.err != nil {
		v.PutCut(0, 0, v.Width()-1, d.err.Error(), w.Glyphs.Ellipsis, canvas.Style{Role: canvas.Bad})
		return
	}
	if past == nil {
		v.Put(0, 0, "Asking cronringd ...", canvas.Style{Role: canvas.Off})
		return
	}
	if len(past.Cells) == 0 {
		v.Put(0, 0, noHistory(w, r), canvas.Style{Role: canvas.Off})
		return
	}
	const label = 4
	v.Put(0, 0, "out", canvas.Style{Role: canvas.Off})
	v.Put(0, 1, "dur", canvas.Style{Role: canvas.Off})
	room := v.Width() - label - 1
	drawOutcomes(v.In(label, 0, room, 1), past.Cells, w)
	drawLengths(v.In(label, 1, room, 1), past.Cells, past.P95, w)
	drawAxis(v.In(label, 2, room, 1), past.Cells, w, r.Zone)
	if x := min(room, len(past.Cells)) - 1 - chosen; chosen >= 0 && x >= 0 {
		v.In(label+x, 0, 1, 2).Restyle(page.Selected)
	}
	if w.IsOfCron(r) {
		v.PutCut(0, 3, v.Width()-1, screen.CronKeeps, w.Glyphs.Ellipsis, canvas.Style{})
		return
	}
	drawFigures(v.Below(3), past)
}

// noHistory is shown in place of the history of a job without one.
func noHistory(w *screen.World, r *api.Row) string {
	if w.IsOfCron(r) {
		return "no start of it is in cron's log"
	}
	return "no history yet"
}

// drawOutcomes draws what became of each occurrence.
func drawOutcomes(v canvas.View, cells []api.Cell, w *screen.World) {
	cells = cells[max(len(cells)-v.Width(), 0):]
	for x := range cells {
		sign, style := screen.OutcomeLook(w, cells[x].Kind)
		v.Put(x, 0, sign, style)
	}
}

// drawAxis draws the times of some columns of the strips: the newest, and others
// at a distance.
func drawAxis(v canvas.View, cells []api.Cell, w *screen.World, zone string) {
	cells = cells[max(len(cells)-v.Width(), 0):]
	const apart = 9
	label := len("20 Nov")
	if w.Clock == display.Clock12 {
		label = len("12:00pm")
	}
	loc := w.In(zone)
	form := w.Clock.Layout("15:04")
	if n := len(cells); n > 0 && cells[n-1].Due.Sub(cells[0].Due) > 36*time.Hour {
		form = "2 Jan"
	}
	for x, free := len(cells)-1, v.Width(); x >= 0; x -= apart {
		if at := min(x, v.Width()-label); at >= 0 && at+label < free+1 {
			v.Put(at, 0, cells[x].Due.In(loc).Format(form), canvas.Style{Role: canvas.Off})
			free = at - 1
		}
	}
}

// drawFigures draws what the last runs came to.
func drawFigures(v canvas.View, past *api.JobPast) {
	skipped := 0
	for i := range past.Cells {
		if c := &past.Cells[i]; c.Kind == api.CellSkipped {
			skipped += max(c.Count, 1)
		}
	}
	row := fmt.Sprintf("ok %d  fail %d  skipped %d  late %d", past.OK, past.Failed, skipped, past.Late)
	x := v.Put(0, 0, row, canvas.Style{})
	if past.Runs == 0 {
		return
	}
	put := func(y, x int, text string) {
		if x = max(x+3, 37); x+page.Width(text) <= v.Width() {
			v.Put(x, y, text, canvas.Style{})
		}
	}
	put(0, x, "ok rate "+page.Percent(past.OK, past.Runs))
	x = v.Put(0, 1, fmt.Sprintf("p50 %s  p95 %s  max %s", display.Brief(past.P50), display.Brief(past.P95), display.Brief(past.Max)), canvas.Style{})
	put(1, x, "lag p99 "+display.Lag(past.LagP99))
}

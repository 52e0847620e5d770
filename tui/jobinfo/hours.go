package jobinfo

import (
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/screen"
)

// hourDays is the number of days that the hours cover, including today.
const hourDays = 6

// HoursHeight is the height of the hours, with the line that names them.
const HoursHeight = hourDays + 1

// heat is the worst that happened in each hour of some days, by their dates.
type heat struct {
	days  [hourDays]time.Time // midnights, the newest first
	hours [hourDays][24]api.CellKind
}

// worstFirst orders outcomes from the worst. Coming runs are not outcomes.
var worstFirst = []api.CellKind{api.CellFailed, api.CellLate, api.CellRunning, api.CellOK, api.CellStarted, api.CellSpan, api.CellSkipped}

// DrawHours draws the worst outcome of each hour, below a title.
func DrawHours(v canvas.View, w *screen.World, r *api.Row, d *Info) {
	section(v, "Last 6 days by hour (worst outcome)", HoursHeight, w, func(v canvas.View) {
		h := newHours(d.Hours, w.Now, w.In(r.Zone))
		h.draw(v, w)
	})
}

// newHours sorts the cells of a time line, of an hour each, by the days and hours
// of a zone. An hour that the clock shows twice is shown once, with the worse of
// both.
func newHours(line *api.Timeline, now time.Time, loc *time.Location) heat {
	var h heat
	for i := range h.days {
		h.days[i] = screen.Midnight(now.In(loc).AddDate(0, 0, -i), loc)
	}
	if len(line.Jobs) == 0 || line.Cells == 0 {
		return h
	}
	step := line.To.Sub(line.From) / time.Duration(line.Cells)
	for _, c := range line.Jobs[0].Cells {
		at := line.From.Add(time.Duration(c.Cell) * step).In(loc)
		day := slices.IndexFunc(h.days[:], func(d time.Time) bool { return d.Equal(screen.Midnight(at, loc)) })
		if day < 0 {
			continue
		}
		place := &h.hours[day][at.Hour()]
		rank := slices.Index(worstFirst, c.Kind)
		if known := slices.Index(worstFirst, *place); rank >= 0 && (known < 0 || rank < known) {
			*place = c.Kind
		}
	}
	return h
}

// draw draws the days below a line with the hours, with a blank between hours
// where there is room.
func (h *heat) draw(v canvas.View, w *screen.World) {
	const label = 7
	step := 2
	if v.Width() < label+step*24 {
		step = 1
	}
	for hour := 0; hour < 24; hour += 3 {
		v.PutBytes(label+hour*step, 0, []byte{byte('0' + hour/10), byte('0' + hour%10)}, canvas.Style{Role: canvas.Off})
	}
	for i, day := range h.days {
		v.Put(0, i+1, day.Format("Mon 02"), canvas.Style{})
		for hour, kind := range h.hours[i] {
			sign, style := screen.OutcomeLook(w, kind)
			v.Put(label+hour*step, i+1, sign, style)
		}
	}
}

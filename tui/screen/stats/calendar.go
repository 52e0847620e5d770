package stats

import (
	"fmt"
	"strconv"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/table"
)

// calendarRows are those of the months and the days of the week.
const calendarRows = 8

// grade rates the runs of a day or job.
type grade uint8

const (
	noRuns grade = iota
	allOK
	mostOK // fewer than one in ten failed
	poor
)

func quality(g *api.StatsGroup) grade {
	switch {
	case g.Runs == 0:
		return noRuns
	case g.OK == g.Runs:
		return allOK
	case g.OK*10 > g.Runs*9:
		return mostOK
	}
	return poor
}

func (q grade) role() canvas.Role {
	return [...]canvas.Role{canvas.Off, canvas.Good, canvas.Doubt, canvas.Bad}[q]
}

func (q grade) sign(g *canvas.Glyphs) string { return [...]string{g.New, g.OK, g.Late, g.Failed}[q] }

// drawCalendar draws a column for each week and a cell for each day, and returns the column of the
// screen behind it.
func (s *Stats) drawCalendar(v canvas.View, w *screen.World) int {
	days := make(map[string]*api.StatsGroup, len(s.sums.days.Groups))
	for i := range s.sums.days.Groups {
		days[s.sums.days.Groups[i].Name] = &s.sums.days.Groups[i]
	}
	const left = 6
	cell, first, today := 2, s.since(w), w.Now.In(w.LoadZone(s.sums.days.Zone))
	if v.Width() >= 120 {
		cell = 3
	}
	monday := func(t time.Time) int { return (int(t.Weekday()) + 6) % 7 }
	for _, row := range []int{0, 2, 4, 6} {
		v.Put(1, row+1, time.Weekday((row + 1) % 7).String()[:3], screen.Dim)
	}
	x, free := left, left
	for day := first; !day.After(today); day = day.AddDate(0, 0, 1) {
		if day.Equal(first) || day.Day() == 1 {
			if x >= free {
				free = v.Put(x, 0, day.Format("Jan"), screen.Dim) + 1
			}
		}
		g, ok := days[day.Format(time.DateOnly)]
		if !ok {
			g = &api.StatsGroup{}
		}
		if day.AddDate(0, 0, 1).After(s.sums.days.Since) {
			v.Put(x, monday(day)+1, quality(g).sign(w.Glyphs), canvas.Style{Role: quality(g).role()})
		}
		if monday(day) == 6 {
			x += cell
		}
	}
	return x + cell + 3
}

// drawLegend explains the signs.
func (s *Stats) drawLegend(row canvas.View, w *screen.World) {
	x := 1
	for _, l := range []struct {
		grade grade
		text  string
	}{{allOK, "all ok"}, {mostOK, "under 10 % failed"}, {poor, "more failed"}, {noRuns, "no run"}} {
		x = row.Put(x, 0, l.grade.sign(w.Glyphs), canvas.Style{Role: l.grade.role()})
		x = row.Put(x+1, 0, l.text, screen.Dim) + 3
	}
	if since := s.sums.days.Since; since.After(s.since(w)) {
		row.PutCut(x, 0, row.Width()-x, "counted since "+w.Stamp(since, ""), w.Glyphs.Ellipsis, canvas.Style{Role: canvas.Doubt})
	}
}

// figure is one number over the time, with whether more of it is better: 1, worse: -1, or neither.
type figure struct {
	name  string
	text  func(g *api.StatsGroup) string
	value func(g *api.StatsGroup) float64
	good  int
}

var figures = []figure{
	{"success", rateText, func(g *api.StatsGroup) float64 { return float64(g.OK) / float64(max(g.Runs, 1)) }, 1},
	{"runs", func(g *api.StatsGroup) string { return strconv.Itoa(g.Runs) }, func(g *api.StatsGroup) float64 { return float64(g.Runs) }, 0},
	{"failed", func(g *api.StatsGroup) string { return strconv.Itoa(g.Failed) }, func(g *api.StatsGroup) float64 { return float64(g.Failed) }, -1},
	{"p50", func(g *api.StatsGroup) string { return lengthText(g, g.P50) }, func(g *api.StatsGroup) float64 { return float64(g.P50) }, -1},
	{"p95", func(g *api.StatsGroup) string { return lengthText(g, g.P95) }, func(g *api.StatsGroup) float64 { return float64(g.P95) }, -1},
	{"slowest", func(g *api.StatsGroup) string { return lengthText(g, g.Max) }, func(g *api.StatsGroup) float64 { return float64(g.Max) }, -1},
	{"wasted", func(g *api.StatsGroup) string { return lengthText(g, g.Waste) }, func(g *api.StatsGroup) float64 { return float64(g.Waste) }, -1},
}

// drawFigures draws the numbers of the whole time and of its two halves.
func (s *Stats) drawFigures(v canvas.View, w *screen.World) {
	const name, number = 8, 10
	if v.Width() < name+number {
		return
	}
	put := func(row canvas.View, column int, text string, style canvas.Style) {
		if end := name + number*(column+1); end <= row.Width() {
			row.In(name+number*column, 0, number-1, 1).PutRight(0, text, style)
		}
	}
	for i, title := range []string{fmt.Sprintf("%d DAYS", s.days), "1ST HALF", "2ND HALF"} {
		put(v.Row(0), i, title, table.TitleStyle)
	}
	before, last := &s.sums.before, &s.sums.last
	for y, f := range figures {
		row := v.Row(y + 1)
		row.Put(0, 0, f.name, screen.Dim)
		put(row, 0, f.text(&s.sums.days.All), canvas.Style{Bold: true})
		put(row, 1, f.text(before), canvas.Style{})
		style, sign := canvas.Style{}, " "
		if change := f.value(last) - f.value(before); f.text(last) != f.text(before) && before.Runs > 0 && last.Runs > 0 {
			better := (change > 0) == (f.good > 0)
			if sign = w.Glyphs.Descends; change > 0 {
				sign = w.Glyphs.Ascends
			}
			switch {
			case f.good == 0:
			case better:
				style.Role = canvas.Good
			default:
				style.Role = canvas.Bad
			}
		}
		put(row, 2, f.text(last), style)
		row.Put(name+3*number, 0, sign, style)
	}
}

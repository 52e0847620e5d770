package output

import (
	"time"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/failure"
	"github.com/cronring/cronring/tui/screen"
)

// Columns before the text.
const (
	stampForm = "15:04:05.000"
	narrowLog = 60 // below this width, times are hidden
)

// draw draws the rows in view. Times are in a zone.
func (l *logView) draw(v canvas.View, w *screen.World, loc *time.Location) {
	gutter := l.gutter(v.Width())
	if width := v.Width() - gutter; width != l.width {
		l.width, l.cache = width, nil
	}
	l.height = v.Height()
	l.mark()
	l.settle()
	if l.goal > 0 {
		l.found = l.goal - 1
		l.reveal(l.found)
		l.goal = 0
	}
	p := l.top
	for y := range v.Height() {
		line := l.line(p.line)
		if line == nil || !l.shows(line) {
			return
		}
		l.foot = p.line
		if p.row == 0 && gutter > 0 {
			l.drawGutter(v.Row(y), line, p.line, w, loc)
		}
		l.drawRow(v.In(gutter, y, v.Width()-gutter, 1), p, w)
		var moved int
		if p, moved = l.down(p, 1); moved == 0 {
			return
		}
	}
}

// gutter returns the width of time and stream before the text.
func (l *logView) gutter(width int) int {
	switch {
	case l.raw:
		return 0
	case l.alone:
		return 1
	case l.bare || width < narrowLog:
		return len(" out  ")
	}
	return len(" " + stampForm + " out  ")
}

func (l *logView) drawGutter(v canvas.View, line *logLine, n int, w *screen.World, loc *time.Location) {
	if l.needle != "" && n == l.found {
		v.Put(0, 0, w.Glyphs.Cursor, canvas.Style{Bold: true})
	}
	if l.alone {
		return
	}
	x := 1
	if !l.bare && v.Width() >= narrowLog {
		x = v.Put(x, 0, line.at.In(loc).Format(stampForm), canvas.Style{Role: canvas.Off}) + 1
	}
	style := canvas.Style{Role: canvas.Off}
	if line.stream == job.Stderr {
		style.Role = canvas.Doubt
	}
	v.Put(x, 0, string(line.stream), style)
}

func (l *logView) drawRow(v canvas.View, p place, w *screen.World) {
	out := l.laid(p.line)
	from, to := out.row(p.row)
	x := 0
	for i, paint := range out.paints {
		end := len(out.text)
		if i+1 < len(out.paints) {
			end = out.paints[i+1].from
		}
		if a, b := max(paint.from, from), min(end, to); a < b {
			x = v.Put(x, 0, out.text[a:b], paint.style)
		}
	}
	if l.cut && x > v.Width() {
		v.Put(v.Width()-1, 0, w.Glyphs.Ellipsis, canvas.Style{Role: canvas.Off})
	}
	l.drawError(v, out, from, to)
	l.drawMatches(v, out, from, to, p.line == l.found)
}

// drawError marks the words of an error message in a row that has no colours of its own.
func (l *logView) drawError(v canvas.View, out *wrappedLine, from, to int) {
	if l.alone || len(out.paints) > 1 || out.paints[0].style != (canvas.Style{}) {
		return
	}
	for _, m := range failure.Complaints(out.text) {
		if begin, end := max(m[0], from), min(m[1], to); begin < end {
			x := display.Width(out.text[from:begin])
			v.In(x, 0, display.Width(out.text[begin:end]), 1).Restyle(func(canvas.Style) canvas.Style { return canvas.Style{Role: canvas.Bad} })
		}
	}
}

// drawMatches marks what a search has found in a row.
func (l *logView) drawMatches(v canvas.View, out *wrappedLine, from, to int, current bool) {
	if l.needle == "" {
		return
	}
	for at := 0; at < len(out.text); {
		m := l.match(out.text[at:])
		if m == nil || at+m[0] >= to {
			return
		}
		begin, end := max(at+m[0], from), min(at+m[1], to)
		if at += max(m[1], 1); begin >= end {
			continue
		}
		x := display.Width(out.text[from:begin])
		v.In(x, 0, display.Width(out.text[begin:end]), 1).Restyle(func(s canvas.Style) canvas.Style {
			return canvas.Style{Role: canvas.Match, Reverse: true, Bold: current}
		})
	}
}

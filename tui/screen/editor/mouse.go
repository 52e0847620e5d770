package editor

import (
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/screen"
)

// clickable makes a row of a line's text answer to a click, which moves the cursor there. The text
// begins in a column of the row, with a column of the line.
func (e *Editor) clickable(row canvas.View, line, begin, left int, w *screen.World) {
	w.OnClick(row, func(x, _ int) []screen.Effect {
		e.buffer.GoTo(line, left+x-begin)
		return e.consider(w)
	})
}

// wheel scrolls the text or the form. The cursor stays in view.
func (e *Editor) wheel(w *screen.World, lines int) []screen.Effect {
	b := e.buffer
	switch {
	case e.form != nil:
		e.form.goTo(min(max(e.form.at+lines, 0), len(e.form.fields)-1))
		return nil
	case lines > 0:
		for ; lines > 0 && e.rows(e.top, b.Len()-1) > e.height; lines-- {
			e.top++
		}
		b.Move(max(e.top-b.Cursor().Line, 0))
	default:
		e.top = max(e.top+lines, 0)
		for b.Cursor().Line > e.top && e.rows(e.top, b.Cursor().Line) > e.height {
			b.Move(-1)
		}
	}
	return e.consider(w)
}

// clickable makes the row of a field answer to a click, which moves to the field. clickableValue makes
// the value of the current field answer to one, which moves the caret.
func (f *form) clickable(row canvas.View, i int, w *screen.World) {
	w.OnClick(row, func(int, int) []screen.Effect {
		f.find = nil
		f.goTo(i)
		return nil
	})
}

func (f *form) clickableValue(value canvas.View, w *screen.World) {
	w.OnClick(value, func(x, _ int) []screen.Effect {
		f.marked = false
		f.fields[f.at].line.GoTo(x)
		return nil
	})
}

package page

import (
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/edit"
	"github.com/cronring/cronring/tui/screen"
)

// TypeInto answers to a key in a line of text. false: it means nothing there.
func TypeInto(line *edit.Line, k screen.Key) bool {
	switch k.Name {
	case "backspace", "ctrl+h":
		line.Backspace()
	case "delete", "ctrl+d":
		line.Delete()
	case "ctrl+w", "alt+backspace":
		line.DeleteWord()
	case "ctrl+u":
		line.DeleteToStart()
	case "ctrl+k":
		line.DeleteToEnd()
	case "left", "ctrl+b":
		line.Left()
	case "right", "ctrl+f":
		line.Right()
	case "ctrl+left", "alt+left", "alt+b":
		line.WordLeft()
	case "ctrl+right", "alt+right", "alt+f":
		line.WordRight()
	case "home", "ctrl+a":
		line.Home()
	case "end", "ctrl+e":
		line.End()
	default:
		if k.Text == "" {
			return false
		}
		line.Insert(k.Text)
	}
	return true
}

// DrawInput draws an input line with its caret into a field, and returns the column
// after it. A click moves the caret.
func DrawInput(v canvas.View, x, y, width int, line *edit.Line, w *screen.World) int {
	shown, cursor := line.View(max(width, 1))
	field := v.In(x, y, width, 1)
	w.OnClick(field, func(x, _ int) []screen.Effect {
		line.GoTo(x)
		return nil
	})
	end := field.Put(0, 0, shown, canvas.Style{})
	field.In(cursor, 0, 1, 1).Restyle(func(s canvas.Style) canvas.Style {
		s.Reverse = true
		return s
	})
	if cursor >= end {
		field.Put(cursor, 0, w.Glyphs.Caret, canvas.Style{})
		end = cursor + 1
	}
	return x + end
}

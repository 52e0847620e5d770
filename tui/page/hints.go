package page

import (
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/screen"
)

// DrawHints draws keys and what they do, in pairs, and returns the column after them. A key with an
// empty text shares that of the next key. A click on one presses the key.
func DrawHints(v canvas.View, x, y int, w *screen.World, style canvas.Style, hints ...string) int {
	gap := 3
	if x+hintsWidth(hints, gap) > v.Width() {
		gap = 2
	}
	for i := 0; i+1 < len(hints); i += 2 {
		text := hintText(hints[i], hints[i+1])
		end := x + Width(text)
		v.PutCut(x, y, v.Width()-x, text, w.Glyphs.Ellipsis, style)
		v.In(x, y, Width(hints[i]), 1).Restyle(func(s canvas.Style) canvas.Style {
			s.Bold = true
			return s
		})
		w.ClickTypes(v.In(x, y, end-x, 1), screen.KeyNamed(hints[i]))
		if x = end + gap; hints[i+1] == "" {
			x = end + 1
		}
	}
	return x
}

func hintText(key, text string) string {
	if text == "" {
		return key
	}
	return key + " " + text
}

// hintsWidth returns the width of hints.
func hintsWidth(hints []string, gap int) (width int) {
	for i := 0; i+1 < len(hints); i += 2 {
		width += Width(hintText(hints[i], hints[i+1])) + gap
	}
	return width - gap
}

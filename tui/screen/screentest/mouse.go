package screentest

import (
	"strings"
	"testing"

	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/screen"
)

// Areas draws a screen, and returns the parts that answer to the mouse.
func Areas(s screen.Screen, w *screen.World, c *canvas.Canvas) (areas []screen.Area) {
	w.Answer = func(a screen.Area) { areas = append(areas, a) }
	defer func() { w.Answer = nil }()
	c.Clear()
	s.Draw(c.View(), w)
	return areas
}

// Click draws a screen, and clicks on a cell of it.
func Click(s screen.Screen, w *screen.World, c *canvas.Canvas, x, y int) []screen.Effect {
	if a, dx, dy := screen.FindArea(Areas(s, w, c), screen.Click, x, y); a != nil {
		return a.Do(dx, dy)
	}
	return nil
}

// ClickOn draws a screen, and clicks on the first place of a text on it.
func ClickOn(t testing.TB, s screen.Screen, w *screen.World, c *canvas.Canvas, text string) []screen.Effect {
	t.Helper()
	Areas(s, w, c)
	for y, line := range strings.Split(c.Text(), "\n") {
		if before, _, found := strings.Cut(line, text); found {
			return Click(s, w, c, len([]rune(before)), y)
		}
	}
	t.Fatalf("no %q on the screen:\n%s", text, c.Text())
	return nil
}

// Drag draws a screen, and drags a cell of it over a distance. It reports whether the cell answers.
func Drag(s screen.Screen, w *screen.World, c *canvas.Canvas, x, y, dx, dy int) bool {
	a, _, _ := screen.FindArea(Areas(s, w, c), screen.Drag, x, y)
	if a != nil {
		a.Do(dx, dy)
	}
	return a != nil
}

// Wheel draws a screen, and turns the wheel on a cell of it. It reports whether the cell answers.
func Wheel(s screen.Screen, w *screen.World, c *canvas.Canvas, x, y, lines int) bool {
	a, _, _ := screen.FindArea(Areas(s, w, c), screen.Wheel, x, y)
	if a != nil {
		a.Do(0, lines)
	}
	return a != nil
}

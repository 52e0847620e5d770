package shell

import (
	"time"

	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
)

// pointer contains the areas of the last frame that react to the mouse, and the screen and overlay of
// that frame. If another screen or overlay is in front meanwhile, they do not react.
type pointer struct {
	areas []screen.Area
	front screen.Screen
	over  overlay
	held  *screen.Area // that is dragged
	x, y  int          // where the drag began
}

// beginAreas forgets the areas before a frame or an overlay is drawn, which adds its own.
func (s *Shell) beginAreas() {
	p := &s.pointer
	p.areas, p.front, p.over = p.areas[:0], s.front(), s.over
	s.w.Answer = p.add
}

func (p *pointer) add(a screen.Area) { p.areas = append(p.areas, a) }

// area returns the area that reacts to a gesture on a cell of the terminal, and the cell in it.
func (s *Shell) area(on screen.Gesture, x, y int) (a *screen.Area, dx, dy int) {
	if s.pointer.front != s.front() || s.pointer.over != s.over {
		return nil, 0, 0
	}
	return screen.FindArea(s.pointer.areas, on, x, y)
}

// onClick makes a part of the frame react to a click.
func (s *Shell) onClick(v canvas.View, do func()) {
	s.w.OnClick(v, func(int, int) []screen.Effect {
		do()
		return nil
	})
}

// Click handles a click of the mouse on a cell of the terminal. While an overlay is open, only its own
// parts react.
func (s *Shell) Click(now time.Time, x, y int) []Order {
	s.at(now)
	s.trigger, s.sought = "", nil
	s.toast = toast{}
	s.welcome = false
	if held, _, _ := s.area(screen.Drag, x, y); held != nil {
		copied := *held // the next frame has other areas
		s.pointer.held, s.pointer.x, s.pointer.y = &copied, x, y
		return s.flush()
	}
	s.pointer.held = nil
	if a, dx, dy := s.area(screen.Click, x, y); a != nil {
		s.moved, s.w.Busy = now, true
		s.perform(s.front(), a.Do(dx, dy))
		s.refresh()
	}
	return s.flush()
}

// Drag handles a movement of the mouse while its button is pressed.
func (s *Shell) Drag(now time.Time, x, y int) []Order {
	s.at(now)
	if p := &s.pointer; p.held != nil && p.front == s.front() && s.over == nil {
		s.perform(s.front(), p.held.Do(x-p.x, y-p.y))
	}
	return s.flush()
}

// wheelLines is the number of lines that the wheel scrolls.
const wheelLines = 3

// Wheel scrolls the part of the frame under the mouse. If that cannot scroll, it moves the cursor.
func (s *Shell) Wheel(now time.Time, down bool, x, y int) []Order {
	s.at(now)
	a, k, lines := keys.Up, screen.KeyNamed("up"), -wheelLines
	if down {
		a, k, lines = keys.Down, screen.KeyNamed("down"), wheelLines
	}
	if area, _, _ := s.area(screen.Wheel, x, y); area != nil {
		s.perform(s.front(), area.Do(0, lines))
		return s.flush()
	}
	for range wheelLines {
		if s.over != nil {
			s.over.key(s, k)
		} else {
			s.act(a)
		}
	}
	return s.flush()
}

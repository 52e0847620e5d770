package shell

import (
	"time"

	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
)

// hit is a part of the last frame that answers to a click.
type hit struct {
	view canvas.View
	do   func()
}

// hitable makes the cells from x to end of a line answer to a click.
func (s *Shell) hitable(v canvas.View, x, end, y int, do func()) {
	s.hits = append(s.hits, hit{v.In(x, y, end-x, 1), do})
}

// Click answers to a click of the mouse on a cell of the terminal. While an overlay is open, only
// its own parts answer.
func (s *Shell) Click(now time.Time, x, y int) []Order {
	s.at(now)
	s.trigger, s.sought = "", nil
	s.toast.hide()
	s.welcome = false
	for _, h := range s.hits {
		if _, _, inside := h.view.Locate(x, y); inside {
			h.do()
			return s.flush()
		}
	}
	if front, ok := s.front().(screen.Clicker); ok && s.over == nil {
		s.moved, s.w.Busy = now, true
		effects, open := front.Click(s.w, x, y)
		s.perform(s.front(), effects)
		s.refresh()
		if open {
			s.act(keys.Open)
		}
	}
	return s.flush()
}

// Drag answers to the mouse that moves while its button is pressed.
func (s *Shell) Drag(now time.Time, x, y int) []Order {
	s.at(now)
	if front, ok := s.front().(screen.Dragger); ok && s.over == nil {
		s.perform(s.front(), front.Drag(s.w, x, y))
	}
	return s.flush()
}

// Wheel moves by some lines.
func (s *Shell) Wheel(now time.Time, down bool) []Order {
	s.at(now)
	a, k := keys.Up, screen.Key{Name: "up"}
	if down {
		a, k = keys.Down, screen.Key{Name: "down"}
	}
	for range 3 {
		switch {
		case s.over != nil:
			s.over.key(s, k)
		case !s.typed(s.front(), k):
			s.act(a)
		}
	}
	return s.flush()
}

// drawHints draws keys of an overlay and what they do, in pairs. A click on one is the key.
func (s *Shell) drawHints(v canvas.View, x, y int, hints ...string) int {
	for i := 0; i < len(hints); i += 2 {
		key := screen.Key{Name: hints[i]}
		if len(key.Name) == 1 {
			key.Text = key.Name
		}
		end := v.Put(x, y, hints[i]+" "+hints[i+1], canvas.Style{})
		s.hitable(v, x, end, y, func() {
			if s.over != nil {
				s.over.key(s, key)
			}
		})
		x = end + 3
	}
	return x
}

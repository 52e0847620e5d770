package shell

import (
	"time"

	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
)

// Click answers to a click of the mouse on a cell of the terminal.
func (s *Shell) Click(now time.Time, x, y int) []Order {
	s.at(now)
	front, clicks := s.front().(screen.Clicker)
	switch {
	case s.over != nil:
	case y == 0:
		s.clickTab(x)
	case clicks && y >= s.bodyTop:
		s.moved, s.w.Busy = now, true
		s.perform(s.front(), front.Click(s.w, x, y-s.bodyTop))
	}
	return s.flush()
}

// clickTab brings the screen to the front whose name was clicked.
func (s *Shell) clickTab(x int) {
	for _, t := range s.tabs {
		if x >= t.from && x < t.to {
			s.act(t.action)
		}
	}
}

// tab is the place of a screen's name on the first line.
type tab struct {
	action   keys.Action
	from, to int
}

// Wheel moves by some lines.
func (s *Shell) Wheel(now time.Time, down bool) []Order {
	s.at(now)
	a := keys.Up
	if down {
		a = keys.Down
	}
	if s.over == nil {
		for range 3 {
			s.act(a)
		}
	}
	return s.flush()
}

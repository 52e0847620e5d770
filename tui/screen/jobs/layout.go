package jobs

import (
	"slices"
	"strings"

	"github.com/cronring/cronring/tui/board"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/jobinfo"
	"github.com/cronring/cronring/tui/screen"
)

// Limits of the details beside the list and below it, and of the list.
const (
	besideFrom = 120 // width of a screen that can have them beside the list
	leastPane  = 40
	leastList  = 60 // columns
	leastRows  = 6
	layoutStep = 2

	// From this size on there is a third pane below both: the output.
	thirdWidth, thirdHeight = 200, 60
	// paneHeight is the height that the details need without the output.
	paneHeight = 32
)

// isBeside reports whether the details are beside the list on a screen of this size.
func (s *Jobs) isBeside(width, height int) bool {
	large := width >= SplitWidth && height >= splitHeight
	switch s.layout.Side {
	case screen.Below:
		large = false
	case screen.Beside:
		large = width >= besideFrom && height >= PeekHeight
	}
	return large && !s.wide
}

// toggleSide moves the details to the other side.
func (s *Jobs) toggleSide() {
	s.layout = screen.Layout{Side: screen.Beside}
	if s.split {
		s.layout.Side = screen.Below
	}
}

// paneWidth returns the width of the details beside the list. It limits the size that the user
// chose to what there is room for.
func (s *Jobs) paneWidth(width int) int {
	usual := jobinfo.PaneWidth + max((width-160)/2, 0)
	pane := max(min(usual+s.layout.More, width-leastList-1), leastPane)
	s.layout.More = pane - usual
	return pane
}

// peekHeight returns the height of the details below the list, on a screen of this size.
func (s *Jobs) peekHeight(width, height int) int {
	least, usual := 4, 4
	if width >= 110 {
		usual = 5
	}
	if height >= splitHeight {
		usual = height / 3
	}
	peek := max(min(usual+s.layout.More, height-2-leastRows), least)
	s.layout.More = peek - usual
	return peek
}

// sortBy sorts by the column of a title, and the other way round if it is sorted by it already.
func (s *Jobs) sortBy(w *screen.World, title string) []screen.Effect {
	order := board.Order(strings.ToLower(title))
	switch {
	case !slices.Contains(s.orders(), order):
		return nil
	case order == s.order():
		s.query.Reverse = !s.query.Reverse
	default:
		s.query.Order, s.query.Reverse = order, false
	}
	s.relist()
	return s.ask(w)
}

// dividable makes the divider between list and details answer to being dragged.
func (s *Jobs) dividable(divider canvas.View, w *screen.World) {
	before := s.layout.More
	w.OnDrag(divider, func(dx, dy int) []screen.Effect {
		if s.layout.More = before - dy; s.split {
			s.layout.More = before - dx
		}
		return s.ask(w)
	})
}

// drawDetails draws the details of the job under the cursor below the list.
func (s *Jobs) drawDetails(v canvas.View, w *screen.World) {
	if row := s.table.Current(); row != nil {
		s.dividable(v.Above(1), w)
		jobinfo.DrawPeek(v, w, row, &s.file, s.pasts.of(row.Job))
	}
}

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

// turnSide moves the details to the other side.
func (s *Jobs) turnSide() {
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

// Click selects a row, sorts by the column of a title, or takes hold of the divider.
func (s *Jobs) Click(w *screen.World, x, y int) (effects []screen.Effect, open bool) {
	if s.rows.List == nil {
		return nil, false
	}
	if _, _, s.dragged = s.divider.Locate(x, y); s.dragged {
		return nil, false
	}
	order := board.Order(strings.ToLower(s.table.TitleAt(x, y)))
	if !slices.Contains(s.orders(), order) {
		s.moved = true
		return s.table.Click(w, x, y)
	}
	if order == s.order() {
		s.query.Reverse = !s.query.Reverse
	} else {
		s.query.Order, s.query.Reverse = order, false
	}
	s.relist()
	return nil, false
}

// Drag moves the divider after a click on it.
func (s *Jobs) Drag(w *screen.World, x, y int) []screen.Effect {
	if !s.dragged {
		return nil
	}
	dx, dy, _ := s.divider.Locate(x, y)
	if s.split {
		s.layout.More -= dx
	} else {
		s.layout.More -= dy
	}
	return s.ask(w)
}

// drawDetails draws the details of the job under the cursor below the list.
func (s *Jobs) drawDetails(v canvas.View, w *screen.World) {
	if row, ok := s.current(); ok {
		s.divider = v.Above(1)
		jobinfo.DrawPeek(v, w, &row, &s.file, s.pasts.of(row.Job))
	}
}

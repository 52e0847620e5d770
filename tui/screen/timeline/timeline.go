// Package timeline owns the screen that shows past and coming runs on one time axis, and the list of
// clashes, which are minutes with several starts.
package timeline

import (
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/jobs"
	"github.com/cronring/cronring/tui/table"
)

// Timeline shows past and coming runs of the listed jobs on one time axis around now,
// and how many jobs start in each cell.
//
// Below it lists what starts together with the selection.
type Timeline struct {
	rows    jobs.Rows
	table   table.Table[job.ID, api.Row]
	settled uint64 // version of the board that the table was settled for

	span  time.Duration
	from  time.Time // the axis begins there; zero: now is in its middle
	cell  time.Time // what the cursor in a row is on; zero: on the job as a whole
	cells int       // how many there is room for, as drawn last
	left  int       // column of the first cell, likewise

	line   lineAnswer
	asked  lineQuestion
	at     time.Time // when it was asked
	asking bool
	err    error

	together minutes     // what together is known about
	clash    api.Clashes // the starts in it
	clashed  bool        // clash is known
}

// New makes the screen.
func New() *Timeline {
	s := &Timeline{span: usualSpan}
	s.table = table.Table[job.ID, api.Row]{Source: &s.rows, Left: 1}
	return s
}

// Scope returns the scope of the time line.
func (*Timeline) Scope() keys.Scope { return keys.Timeline }

// The slots of its questions.
const (
	slotLine     = "line"
	slotTogether = "together"
)

// Open shows the jobs that are listed on their screen, in the same order, and the
// cursor on the same.
func (s *Timeline) Open(w *screen.World) []screen.Effect {
	s.asking = false
	s.list(w)
	s.table.Select(w.At)
	return s.Refresh(w)
}

// list lists the jobs by what lists of jobs go by.
func (s *Timeline) list(w *screen.World) {
	if s.rows.Board != w.Board {
		s.rows.Query = &w.Query
		s.rows.Use(w.Board)
	} else if !jobs.SameQuery(s.rows.List.Query(), w.Query) {
		s.rows.List.Set(w.Query)
	}
	s.table.SetFilter(w.Query.Text)
	s.table.Settle()
}

// Refresh follows the board, and the time. While a range is open, the order stays.
func (s *Timeline) Refresh(w *screen.World) []screen.Effect {
	stale := s.rows.List.Stale()
	s.rows.List.Refresh(w.Frozen() || s.table.Ranged())
	if w.Board.Version() != s.settled || stale != s.rows.List.Stale() {
		s.table.Settle()
		s.settled = w.Board.Version()
	}
	return s.ask(w)
}

// axis returns the current axis.
func (s *Timeline) axis(w *screen.World) axis {
	if s.cells == 0 {
		s.cells = placeLine(w.Width, w).cells
	}
	a := newAxis(w.Now, s.span, s.cells, w.OneZone())
	if !s.from.IsZero() {
		a.from = floorTo(s.from, a.step, w.OneZone())
	}
	return a
}

// Take receives what was asked for.
func (s *Timeline) Take(w *screen.World, a screen.Answer) []screen.Effect {
	switch a.Slot {
	case slotLine:
		s.asking = false
		if s.err = a.Err; a.Err == nil {
			s.line = a.Value.(lineAnswer)
		}
	case slotTogether:
		if a.Err == nil {
			s.clash, s.clashed = a.Value.(api.Clashes), true
		}
	case jobs.SlotSearch:
		s.rows.Take(a)
		s.table.Relist()
		return s.Refresh(w)
	}
	return s.ask(w)
}

// under returns the content of the selected cell, if there is any.
func (s *Timeline) under(w *screen.World) (c api.TimelineCell, ok bool) {
	id, known := s.table.Cursor()
	if !known || s.cell.IsZero() {
		return c, false
	}
	a := s.axis(w)
	for cell, i := range s.line.of(id, a) {
		if i == a.index(s.cell) {
			return *cell, true
		}
	}
	return c, false
}

// Act moves in the list and in time.
func (s *Timeline) Act(w *screen.World, a keys.Action) ([]screen.Effect, bool) {
	switch a {
	case keys.Earlier:
		s.scroll(w, -1)
	case keys.Later:
		s.scroll(w, 1)
	case keys.ZoomIn:
		s.zoom(w, -1)
	case keys.ZoomOut:
		s.zoom(w, 1)
	case keys.Now:
		s.from, s.cell = time.Time{}, time.Time{}
	case keys.NextSlot:
		s.step(w, 1)
	case keys.PreviousSlot:
		s.step(w, -1)
	case keys.Clashes:
		return []screen.Effect{screen.Goto{Screen: newClashes(s)}}, true
	case keys.Open:
		return s.open(w), true
	case keys.Back:
		if !s.back(w) {
			return nil, false
		}
	default:
		if !s.table.Move(a) {
			return nil, false
		}
	}
	return s.ask(w), true
}

// farthest limits the distance from now to which the axis can be scrolled.
const farthest = 366 * day

// scroll moves the axis by a quarter of it.
func (s *Timeline) scroll(w *screen.World, by int) {
	a := s.axis(w)
	from := a.at(by * max(a.cells/4, 1))
	if from.After(w.Now.Add(farthest)) || from.Before(w.Now.Add(-farthest)) {
		return
	}
	s.from = from
	s.dropCell(w)
}

// zoom shows less time, or more, around the cursor, or else around the middle.
func (s *Timeline) zoom(w *screen.World, by int) {
	a := s.axis(w)
	middle := a.at(a.cells / 2)
	if !s.cell.IsZero() {
		middle = s.cell
	}
	s.span = zoomed(s.span, s.cells, by)
	if s.from.IsZero() && s.cell.IsZero() {
		return
	}
	s.from = newAxis(middle, s.span, s.cells, w.OneZone()).from
	s.dropCell(w)
}

// dropCell unselects a cell that is no longer in view.
func (s *Timeline) dropCell(w *screen.World) {
	if a := s.axis(w); !s.cell.IsZero() && (s.cell.Before(a.from) || !s.cell.Before(a.to())) {
		s.cell = time.Time{}
	}
}

// step selects the next or previous cell of the row that is not empty, beginning at
// now.
func (s *Timeline) step(w *screen.World, by int) {
	if at, ok := s.neighbour(w, by); ok {
		s.cell = at
	}
}

func (s *Timeline) neighbour(w *screen.World, by int) (at time.Time, ok bool) {
	id, known := s.table.Cursor()
	if !known {
		return at, false
	}
	a := s.axis(w)
	here := a.index(s.cell)
	if s.cell.IsZero() {
		if here = a.index(w.Now); by < 0 {
			here++
		} else {
			here--
		}
	}
	for _, i := range s.line.of(id, a) {
		if by > 0 && i > here {
			return a.at(i), true
		}
		if by < 0 && i < here {
			at, ok = a.at(i), true
		}
	}
	return at, ok
}

// open shows the run or the occurrence under the cursor, or the job.
func (s *Timeline) open(w *screen.World) []screen.Effect {
	id, ok := s.table.Cursor()
	if !ok {
		return nil
	}
	c, ok := s.under(w)
	about := screen.Subject{Jobs: []job.ID{id}, Run: c.Run, At: c.Due}
	switch {
	case ok && c.Run != 0 && c.Kind != api.CellLate: // a late run has no output yet
		return []screen.Effect{screen.Show{Action: keys.ShowOutput, Subject: about}}
	case ok && !c.Due.IsZero():
		return []screen.Effect{screen.Show{Action: keys.Explain, Subject: about}}
	}
	return []screen.Effect{screen.Show{Action: keys.Open, Subject: screen.Subject{Jobs: []job.ID{id}}}}
}

// back takes back one thing: the cursor in the row, marks, the filter, the
// choice of states.
func (s *Timeline) back(w *screen.World) bool {
	switch {
	case !s.cell.IsZero():
		s.cell = time.Time{}
	case s.table.Move(keys.Back):
	case len(w.Query.States) > 0:
		w.Query.States = nil
		s.list(w)
	default:
		return false
	}
	return true
}

// Typing reports that keys go to the filter.
func (s *Timeline) Typing() bool { return s.table.Typing() }

// Type answers to a key of the filter.
func (s *Timeline) Type(w *screen.World, k screen.Key) ([]screen.Effect, bool) {
	_, ok := s.table.Type(w, k)
	return s.ask(w), ok
}

// click moves the cursor to a row, and to a cell in it. It opens what is under the cursor if the cursor
// was there already.
func (s *Timeline) click(w *screen.World, x, y int) []screen.Effect {
	ok, again := s.table.SelectLine(y)
	if !ok {
		return nil
	}
	a, before := s.axis(w), s.cell
	cell := x - s.left
	if present := a.index(w.Now); present >= 0 && cell > present {
		cell-- // the line of now takes a column
	}
	if cell >= 0 && cell < a.cells {
		s.cell = a.at(cell)
	}
	if again && s.cell.Equal(before) {
		return []screen.Effect{screen.Act{Action: keys.Open}}
	}
	return s.ask(w)
}

// Seek puts the cursor on a job.
func (s *Timeline) Seek(w *screen.World, id job.ID) []screen.Effect {
	s.table.Select(id)
	return s.ask(w)
}

// Subject returns the marked jobs, or the job under the cursor with the run or
// occurrence of the selected cell.
func (s *Timeline) Subject(w *screen.World) screen.Subject {
	if s.rows.List == nil {
		return screen.Subject{}
	}
	jobs, marked := s.table.Chosen()
	subject := screen.Subject{Jobs: jobs, Marked: marked}
	if row := s.table.Current(); row != nil && !marked {
		subject.File, subject.Line = row.Crontab, row.Line
		if c, ok := s.under(w); ok {
			subject.Run, subject.At = c.Run, c.Due
		}
	}
	return subject
}

// Refuses returns why a key does nothing here.
func (s *Timeline) Refuses(w *screen.World, a keys.Action) string {
	switch a {
	case keys.Sort, keys.Reverse, keys.States, keys.Views, keys.Wide:
		return "the rows are those of the jobs (1), in the same order"
	case keys.NextMatch, keys.PrevMatch:
		return "a filter shows only what matches"
	case keys.NextSlot:
		if _, ok := s.neighbour(w, 1); !ok {
			return "nothing later in view; l scrolls"
		}
	case keys.PreviousSlot:
		if _, ok := s.neighbour(w, -1); !ok {
			return "nothing earlier in view; h scrolls"
		}
	case keys.PreviousRun, keys.NextRun:
		return "tab and shift+tab go from run to run"
	case keys.ZoomIn, keys.ZoomOut:
		by := 1
		if a == keys.ZoomIn {
			by = -1
		}
		if s.cells > 0 && stepFor(zoomed(s.span, s.cells, by), s.cells) == stepFor(s.span, s.cells) {
			return "it goes from an hour to 14 days"
		}
	case keys.Open:
		if _, ok := s.table.Cursor(); !ok {
			return "nothing is selected"
		}
	}
	return ""
}

// Foot returns the keys of a time line.
func (*Timeline) Foot(*screen.World) []keys.Action {
	return []keys.Action{keys.Open, keys.Explain, keys.Run, keys.NextSlot, keys.Filter, keys.Palette, keys.Help,
		keys.Clashes, keys.Earlier, keys.Later, keys.ZoomIn, keys.ZoomOut, keys.Now, keys.Times, keys.Leave}
}

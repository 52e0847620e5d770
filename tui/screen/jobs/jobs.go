// Package jobs owns the screen that lists all jobs, the worst first, with details of
// the job under the cursor.
package jobs

import (
	"slices"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/board"
	"github.com/cronring/cronring/tui/jobinfo"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/table"
)

// Jobs lists all jobs, the worst first, with details of the job under the cursor.
type Jobs struct {
	rows    Rows
	table   table.Table[job.ID, api.Row]
	query   board.Query
	settled uint64 // version of the board that the table was settled for
	moved   bool   // the cursor was moved, or all jobs have arrived: it stays on its job
	pasts   pasts
	file    jobinfo.Info
	menu    bool // the states to show are being chosen, or the columns
	chooser *chooser
	chosen  []choice // of columns; nil: the usual ones
	wide    bool     // all columns
	shift   int      // columns that are scrolled out
	split   bool     // drawn last with details of the job beside the list
	sums    sums
	layout  screen.Layout
	detail  bool // drawn last with all parts of the details
	age     Age  // on a board of several hosts; nil: on that of one
}

// Age returns how old the data of a host is; empty: it is current.
type Age func(w *screen.World, host string) string

// New makes the screen.
func New() *Jobs { return NewMerged(nil) }

// NewMerged makes the screen of a merged board, with a column of hosts.
func NewMerged(age Age) *Jobs {
	s := &Jobs{age: age}
	s.rows.Query = &s.query
	s.table = table.Table[job.ID, api.Row]{Source: &s.rows, Left: 1, Titles: table.TitleStyle, ToFirst: true, OnTitle: s.sortBy}
	s.table.OnRow = func(w *screen.World) []screen.Effect {
		s.moved = true
		return s.ask(w)
	}
	return s
}

// Scope returns the scope of the jobs.
func (*Jobs) Scope() keys.Scope { return keys.Jobs }

// Open lists the jobs, and requests details of those in view.
func (s *Jobs) Open(w *screen.World) []screen.Effect {
	s.adopt(w)
	s.pasts.asking, s.sums.asking = false, false
	s.file.Reopen()
	return s.Refresh(w)
}

// Refresh follows the board. While the person moves or a range is open, nothing moves under them.
func (s *Jobs) Refresh(w *screen.World) []screen.Effect {
	if s.rows.Board != w.Board {
		s.rows.Use(w.Board)
	}
	stale := s.rows.List.Stale()
	s.rows.List.Refresh(w.Frozen() || s.table.Ranged())
	if w.Board.Version() != s.settled || stale != s.rows.List.Stale() {
		s.table.Settle()
		s.settled = w.Board.Version()
	}
	if !s.moved {
		s.table.Move(keys.First)
		s.moved = w.Board.Complete() && s.age == nil // what is first is known when all have come
	}
	return s.ask(w)
}

// adopt lists the jobs as another screen does that has narrowed them, and goes to
// the job that the cursor was on there.
func (s *Jobs) adopt(w *screen.World) {
	if s.rows.List == nil {
		if SameQuery(s.query, board.Query{}) { // a view that was chosen already counts more
			s.query = w.Query
			s.table.SetFilter(s.query.Text)
		}
		return
	}
	if !SameQuery(w.Query, s.query) {
		s.query = w.Query
		s.table.SetFilter(s.query.Text)
		s.relist()
	}
	s.table.Select(w.At)
}

// ask requests unknown details of the jobs in view.
func (s *Jobs) ask(w *screen.World) []screen.Effect {
	w.Query = s.query
	if id, ok := s.table.Cursor(); ok {
		w.At = id
	}
	effects := append(s.rows.Ask(), s.pasts.ask(w, s.reachable(w))...)
	id, _ := s.table.Cursor()
	effects = append(effects, s.file.Ask(w, id, s.detail)...)
	return append(effects, s.sums.ask(w, s.split && s.age == nil)...) // runs of other hosts have the same numbers
}

// reachable yields the rows in view but those of hosts that are not reached.
func (s *Jobs) reachable(w *screen.World) func(yield func(*api.Row) bool) {
	return func(yield func(*api.Row) bool) {
		first, last := s.table.Seen()
		for i := first; i < last; i++ {
			if r := s.rows.Row(i); s.ageMark(w, r.Node) == "" && !yield(r) {
				return
			}
		}
	}
}

// Take receives what was asked for.
func (s *Jobs) Take(w *screen.World, a screen.Answer) []screen.Effect {
	switch a.Slot {
	case slotPast:
		s.pasts.take(w, a)
	case jobinfo.Slot:
		s.file.Take(w, a)
	case slotSums:
		s.sums.take(w, a)
	case SlotSearch:
		s.rows.Take(a)
		s.table.Relist()
		return s.Refresh(w)
	}
	return s.ask(w)
}

// Act answers to the keys of lists.
func (s *Jobs) Act(w *screen.World, a keys.Action) ([]screen.Effect, bool) {
	if s.rows.List == nil {
		return nil, false
	}
	switch a {
	case keys.Open:
		return s.open(), true
	case keys.Sort:
		orders := s.orders()
		i := slices.Index(orders, s.order())
		s.query.Order = orders[(i+1)%len(orders)]
		s.relist()
	case keys.Reverse:
		s.query.Reverse = !s.query.Reverse
		s.relist()
	case keys.States:
		s.menu = true
	case keys.Columns:
		s.openChooser(w)
	case keys.Wide:
		s.wide, s.shift = !s.wide, 0
	case keys.ScrollLeft:
		s.shift = max(s.shift-1, 0)
	case keys.ScrollRight:
		s.shift = min(s.shift+1, max(len(s.chosenColumns(w))-fixedColumns-1, 0))
	case keys.Side:
		s.toggleSide()
	case keys.Enlarge:
		s.layout.More += layoutStep
	case keys.Reduce:
		s.layout.More -= layoutStep
	case keys.Back:
		return s.back(w)
	default:
		if !s.table.Move(a) {
			return nil, false
		}
		s.moved = true
	}
	return s.ask(w), true
}

func (s *Jobs) open() []screen.Effect {
	if id, ok := s.table.Cursor(); ok {
		return []screen.Effect{screen.Show{Action: keys.Open, Subject: screen.Subject{Jobs: []job.ID{id}}}}
	}
	return nil
}

// back takes back what narrows the list or is marked in it.
func (s *Jobs) back(w *screen.World) ([]screen.Effect, bool) {
	if s.table.Move(keys.Back) {
		return s.ask(w), true
	}
	if len(s.query.States) > 0 {
		s.query.States = nil
		s.relist()
		return s.ask(w), true
	}
	return nil, false
}

// orders are the orders that the list can have.
func (s *Jobs) orders() []board.Order {
	if s.age == nil {
		return board.Orders
	}
	return append(slices.Clone(board.Orders), board.ByHost)
}

func (s *Jobs) order() board.Order {
	if s.query.Order == "" {
		return board.ByState
	}
	return s.query.Order
}

// relist lists the jobs again after the query has changed.
func (s *Jobs) relist() {
	s.rows.List.Set(s.query)
	s.table.Relist()
}

// Typing reports that a filter is typed or states are chosen.
func (s *Jobs) Typing() bool { return s.menu || s.table.Typing() }

// Type answers to a key of the filter or of the menu of states.
func (s *Jobs) Type(w *screen.World, k screen.Key) ([]screen.Effect, bool) {
	if s.chooser != nil {
		effects := s.chooseColumns(k)
		return append(effects, s.ask(w)...), true
	}
	if s.menu {
		s.choose(k)
		return s.ask(w), true
	}
	_, ok := s.table.Type(w, k)
	return s.ask(w), ok
}

type stateKey struct {
	key   string
	state job.State
}

// stateKeys are the states of the menu with their letters.
var stateKeys = []stateKey{
	{"f", job.StateFailing}, {"l", job.StateLate}, {"r", job.StateRunning}, {"p", job.StatePaused}, {"h", job.StateHeld},
	{"d", job.StateDisabled}, {"o", job.StateOK}, {"n", job.StateNew},
}

// choose answers to a key of the menu of states: a letter adds a state to those
// shown or takes it away, a shows all, and any other key closes the menu.
func (s *Jobs) choose(k screen.Key) {
	if k.Name == "a" {
		s.query.States = nil
		s.relist()
		return
	}
	for _, c := range stateKeys {
		if c.key != k.Name {
			continue
		}
		if i := slices.Index(s.query.States, c.state); i >= 0 {
			s.query.States = slices.Delete(slices.Clone(s.query.States), i, i+1)
		} else {
			s.query.States = append(slices.Clone(s.query.States), c.state)
		}
		s.relist()
		return
	}
	s.menu = false
}

// Subject returns the marked jobs, or the job under the cursor.
func (s *Jobs) Subject(*screen.World) screen.Subject {
	if s.rows.List == nil {
		return screen.Subject{}
	}
	jobs, marked := s.table.Chosen()
	subject := screen.Subject{Jobs: jobs, Marked: marked}
	if row := s.table.Current(); row != nil && !marked {
		subject.File, subject.Line = row.Crontab, row.Line
	}
	return subject
}

// View returns the current filter, order and width.
func (s *Jobs) View() screen.View {
	return screen.View{Text: s.query.Text, States: s.query.States, Order: s.order(), Reverse: s.query.Reverse, Wide: s.wide, Layout: s.layout, Columns: columnsOf(s.chosen)}
}

// SetView applies a saved view. It ignores unknown states and orders, because the
// view comes from a file.
func (s *Jobs) SetView(w *screen.World, v screen.View) []screen.Effect {
	known := func(state job.State) bool {
		return slices.ContainsFunc(stateKeys, func(c stateKey) bool { return c.state == state })
	}
	s.table.SetFilter(v.Text)
	s.query = board.Query{Text: s.table.Filter(), Reverse: v.Reverse}
	for _, state := range v.States {
		if known(state) {
			s.query.States = append(s.query.States, state)
		}
	}
	if slices.Contains(s.orders(), v.Order) {
		s.query.Order = v.Order
	}
	s.wide, s.shift, s.layout, s.chosen = v.Wide, 0, v.Layout, choicesOf(v.Columns)
	if s.rows.List == nil {
		return nil // Open goes by the query
	}
	s.relist()
	return s.ask(w)
}

// Seek puts the cursor on a job, once that has come.
func (s *Jobs) Seek(w *screen.World, id job.ID) []screen.Effect {
	if s.rows.List == nil || !s.table.Select(id) {
		return nil
	}
	s.moved = true
	return s.ask(w)
}

// Refuses returns why a key does nothing here.
func (s *Jobs) Refuses(w *screen.World, a keys.Action) string {
	switch a {
	case keys.NextMatch, keys.PrevMatch:
		return "a filter shows only what matches"
	case keys.NextPane, keys.PreviousPane:
		return "the pane beside the list follows the cursor; " + w.KeyOf(keys.Open) + " opens it"
	case keys.ScrollLeft, keys.ScrollRight:
		if !s.wide {
			return "only with all columns (" + w.KeyOf(keys.Wide) + ")"
		}
	case keys.PreviousRun, keys.NextRun:
		return "open the job first: " + w.KeyOf(keys.Open)
	}
	return ""
}

func SameQuery(a, b board.Query) bool {
	return a.Text == b.Text && a.Order == b.Order && a.Reverse == b.Reverse && slices.Equal(a.States, b.States)
}

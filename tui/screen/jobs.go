package screen

import (
	"slices"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/board"
	"github.com/cronring/cronring/tui/keys"
)

// Jobs is the list of jobs, the worst first, with what is known of the one under
// the cursor below or beside it.
type Jobs struct {
	rows    jobRows
	listing Listing[job.ID]
	query   board.Query
	settled uint64 // version of the board that the listing knows
	moved   bool   // the cursor was, or all jobs have come: it stays on its job
	pasts   pasts
	file    dossier
	menu    bool // the states to show are being chosen
	wide    bool // all columns
	shift   int  // columns that are scrolled out
	split   bool // drawn last with what is known of the job beside the list
	top     int  // line of the first row, as drawn last
	right   int  // column behind the list, likewise
	sums    sums

	// What drawing and asking go through the rows with, so that a row which was in
	// view before costs no allocation.
	cache  [256]cachedRow
	row    *api.Row
	field  field
	placed []placed
}

// NewJobs makes the screen.
func NewJobs() *Jobs { return new(Jobs) }

// jobRows is a list of the board as items.
type jobRows struct {
	board *board.Board
	list  *board.List
}

// Len is how many jobs are listed, At the one at a place.
func (r *jobRows) Len() int        { return r.list.Len() }
func (r *jobRows) At(i int) job.ID { return r.board.Row(r.list.At(i)).Job }

// Place is where a job stands in the list.
func (r *jobRows) Place(id job.ID) int {
	if slot, ok := r.board.Find(id); ok {
		return r.list.Place(slot)
	}
	return -1
}

// Scope is that of the jobs.
func (*Jobs) Scope() keys.Scope { return keys.Jobs }

// Open lists the jobs, and asks for what is shown of them.
func (s *Jobs) Open(w *World) []Effect {
	s.adopt(w)
	s.pasts.asking, s.sums.asking = false, false
	s.file.reopen()
	return s.Refresh(w)
}

// Refresh follows the board. While the person moves, nothing moves under them.
func (s *Jobs) Refresh(w *World) []Effect {
	if s.rows.board != w.Board {
		s.rows, s.cache = jobRows{w.Board, w.Board.List(s.query)}, [256]cachedRow{}
	}
	stale := s.rows.list.Stale()
	s.rows.list.Refresh(w.holds())
	if w.Board.Version() != s.settled || stale != s.rows.list.Stale() {
		s.listing.Settle(&s.rows)
		s.settled = w.Board.Version()
	}
	if !s.moved {
		s.listing.Act(&s.rows, keys.First)
		s.moved = w.Board.Complete() // what is first is known when all have come
	}
	return s.ask(w)
}

// adopt lists the jobs as another screen does that has narrowed them, and goes to
// the job that the cursor was on there.
func (s *Jobs) adopt(w *World) {
	if s.rows.list == nil {
		if sameQuery(s.query, board.Query{}) { // a view that was chosen already counts more
			s.query = w.Query
			s.listing.SetFilter(s.query.Text)
		}
		return
	}
	if !sameQuery(w.Query, s.query) {
		s.query = w.Query
		s.listing.SetFilter(s.query.Text)
		s.relist()
	}
	s.listing.Select(&s.rows, w.At)
}

// ask asks for what is in view and not known.
func (s *Jobs) ask(w *World) []Effect {
	w.Query = s.query
	if id, ok := s.listing.Cursor(); ok {
		w.At = id
	}
	effects := s.pasts.ask(w, s.inView)
	id, _ := s.listing.Cursor()
	effects = append(effects, s.file.ask(w, id, s.split)...)
	return append(effects, s.sums.ask(w, s.split)...)
}

// cachedRow is a row as it was on a version of the board.
type cachedRow struct {
	slot    board.Slot
	version uint64 // 0: there is none
	row     api.Row
}

// rowAt is the row at a place of the list. It is valid until a row is asked for
// that is not on the same screen.
func (s *Jobs) rowAt(i int) *api.Row {
	slot, version := s.rows.list.At(i), s.rows.board.Version()
	c := &s.cache[i%len(s.cache)]
	if c.slot != slot || c.version != version {
		*c = cachedRow{slot, version, s.rows.board.Row(slot)}
	}
	return &c.row
}

// inView gives the rows that are in view. Each is valid until the next.
func (s *Jobs) inView(yield func(*api.Row) bool) {
	first, last := s.listing.Seen(&s.rows)
	for i := first; i < last; i++ {
		if !yield(s.rowAt(i)) {
			return
		}
	}
}

// Take receives what was asked for.
func (s *Jobs) Take(w *World, a Answer) []Effect {
	switch a.Slot {
	case slotPast:
		s.pasts.take(w, a)
	case slotDossier:
		s.file.take(w, a)
	case slotSums:
		s.sums.take(w, a)
	}
	return s.ask(w)
}

// Act answers to the keys of lists.
func (s *Jobs) Act(w *World, a keys.Action) ([]Effect, bool) {
	if s.rows.list == nil {
		return nil, false
	}
	switch a {
	case keys.Open:
		return s.open(), true
	case keys.Sort:
		i := slices.Index(board.Orders, s.order())
		s.query.Order = board.Orders[(i+1)%len(board.Orders)]
		s.relist()
	case keys.Reverse:
		s.query.Reverse = !s.query.Reverse
		s.relist()
	case keys.States:
		s.menu = true
	case keys.Wide:
		s.wide, s.shift = !s.wide, 0
	case keys.ScrollLeft:
		s.shift = max(s.shift-1, 0)
	case keys.ScrollRight:
		s.shift = min(s.shift+1, len(columns)-fixedColumns-1)
	case keys.Back:
		return s.back(w)
	default:
		if !s.listing.Act(&s.rows, a) {
			return nil, false
		}
		s.moved = true
	}
	return s.ask(w), true
}

func (s *Jobs) open() []Effect {
	if id, ok := s.listing.Cursor(); ok {
		return []Effect{Goto{NewDetail(id)}}
	}
	return nil
}

// back takes back what narrows the list or is marked in it.
func (s *Jobs) back(w *World) ([]Effect, bool) {
	if s.listing.Act(&s.rows, keys.Back) {
		s.refilter()
		return s.ask(w), true
	}
	if len(s.query.States) > 0 {
		s.query.States = nil
		s.relist()
		return s.ask(w), true
	}
	return nil, false
}

func (s *Jobs) order() board.Order {
	if s.query.Order == "" {
		return board.ByState
	}
	return s.query.Order
}

// relist makes the list anew after what it goes by has changed. A cursor on a
// job that is no longer listed goes to the first.
func (s *Jobs) relist() {
	s.rows.list.Set(s.query)
	if id, ok := s.listing.Cursor(); ok && s.rows.Place(id) < 0 {
		s.listing.Act(&s.rows, keys.First)
	}
	s.listing.Settle(&s.rows)
}

func (s *Jobs) refilter() {
	if text := s.listing.Filter(); text != s.query.Text {
		s.query.Text = text
		s.relist()
	}
}

// Typing reports that a filter is typed or states are chosen.
func (s *Jobs) Typing() bool { return s.menu || s.listing.Typing() }

// Type answers to a key of the filter or of the menu of states.
func (s *Jobs) Type(w *World, k Key) ([]Effect, bool) {
	if s.menu {
		s.choose(k)
		return s.ask(w), true
	}
	if !s.listing.Type(&s.rows, k) {
		return nil, false
	}
	s.refilter()
	return s.ask(w), true
}

type stateKey struct {
	key   string
	state job.State
}

// stateKeys are the states of the menu with their letters.
var stateKeys = []stateKey{
	{"f", job.StateFailing}, {"l", job.StateLate}, {"r", job.StateRunning}, {"h", job.StateHeld},
	{"d", job.StateDisabled}, {"o", job.StateOK}, {"n", job.StateNew},
}

// choose answers to a key of the menu of states: a letter adds a state to those
// shown or takes it away, a shows all, and any other key closes the menu.
func (s *Jobs) choose(k Key) {
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

// current is the row under the cursor.
func (s *Jobs) current() (api.Row, bool) {
	id, ok := s.listing.Cursor()
	if !ok {
		return api.Row{}, false
	}
	slot, ok := s.rows.board.Find(id)
	if !ok {
		return api.Row{}, false
	}
	return s.rows.board.Row(slot), true
}

// Subject is the marked jobs, or the one under the cursor.
func (s *Jobs) Subject(*World) Subject {
	if s.rows.list == nil {
		return Subject{}
	}
	jobs, marked := s.listing.Chosen(&s.rows)
	subject := Subject{Jobs: jobs, Marked: marked}
	if row, ok := s.current(); ok && !marked {
		subject.File, subject.Line = row.Table, row.Line
	}
	return subject
}

// View is how the list is looked at now.
func (s *Jobs) View() View {
	return View{Text: s.query.Text, States: s.query.States, Order: s.order(), Reverse: s.query.Reverse, Wide: s.wide}
}

// SetView looks at the list in another way. What the view names and nobody knows
// (it comes from a file) counts for nothing.
func (s *Jobs) SetView(w *World, v View) []Effect {
	known := func(state job.State) bool {
		return slices.ContainsFunc(stateKeys, func(c stateKey) bool { return c.state == state })
	}
	s.listing.SetFilter(v.Text)
	s.query = board.Query{Text: s.listing.Filter(), Reverse: v.Reverse}
	for _, state := range v.States {
		if known(state) {
			s.query.States = append(s.query.States, state)
		}
	}
	if slices.Contains(board.Orders, v.Order) {
		s.query.Order = v.Order
	}
	s.wide, s.shift = v.Wide, 0
	if s.rows.list == nil {
		return nil // Open goes by the query
	}
	s.relist()
	return s.ask(w)
}

// Seek puts the cursor on a job, once that has come.
func (s *Jobs) Seek(w *World, id job.ID) []Effect {
	if s.rows.list == nil || !s.listing.Select(&s.rows, id) {
		return nil
	}
	s.moved = true
	return s.ask(w)
}

// Click moves the cursor to a row, or opens the one that it is on.
func (s *Jobs) Click(w *World, x, y int) []Effect {
	if y -= s.top; x >= s.right || y < 0 || s.rows.list == nil {
		return nil
	}
	first, last := s.listing.Window(&s.rows, s.listing.height)
	switch i := first + y; {
	case i >= last:
		return nil
	case i == s.listing.Index():
		return s.open()
	default:
		s.listing.Select(&s.rows, s.rows.At(i))
	}
	return s.ask(w)
}

// Refuses says what keys of lists do nothing here.
func (s *Jobs) Refuses(_ *World, a keys.Action) string {
	switch a {
	case keys.NextMatch, keys.PrevMatch:
		return "a filter shows only what matches"
	case keys.NextPane, keys.PreviousPane:
		return "what stands beside the list follows the cursor; enter opens it"
	case keys.ScrollLeft, keys.ScrollRight:
		if !s.wide {
			return "only with all columns (ctrl+w)"
		}
	case keys.PreviousRun, keys.NextRun:
		return "open the job first (enter)"
	}
	return ""
}

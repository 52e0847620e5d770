package board

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// Order is what a list is sorted by.
type Order string

// The orders. ByState is severity: failing, late, running, held, ok, new.
const (
	ByState Order = "state"
	ByName  Order = "job"
	ByNext  Order = "next"
	ByLast  Order = "last"
	ByTook  Order = "took"
	ByUser  Order = "user"
	ByTable Order = "source"
)

// Orders is all orders, in the order in which a key goes through them.
var Orders = []Order{ByState, ByName, ByNext, ByLast, ByTook, ByUser, ByTable}

// Query says which jobs a list has, and in which order.
type Query struct {
	Text    string // in name, schedule, user, source or command; letters of any case
	States  []job.State
	Order   Order // empty: ByState
	Reverse bool
}

// List is some jobs of a board in an order.
type List struct {
	board   *Board
	query   Query
	slots   []Slot
	version uint64 // of the board as listed
	stale   bool   // the board has changed since
}

// List makes a list of all jobs.
func (b *Board) List(q Query) *List {
	l := &List{board: b, query: q}
	l.fill()
	return l
}

// Query is what the list goes by.
func (l *List) Query() Query { return l.query }

// Set gives the list another query.
func (l *List) Set(q Query) {
	l.query = q
	l.fill()
}

// Refresh brings the list up to date with the board. With hold it keeps its
// order and its members, so that nothing moves under the cursor; Stale says then
// that it would change.
func (l *List) Refresh(hold bool) {
	if l.version == l.board.version && !l.stale {
		return
	}
	if hold {
		l.drop()
		l.stale, l.version = true, l.board.version
		return
	}
	l.fill()
}

// Stale reports that the order or the members are not what the query asks for,
// as Refresh was told to hold.
func (l *List) Stale() bool { return l.stale }

// Len is the length of the list, At the job at a place of it.
func (l *List) Len() int      { return len(l.slots) }
func (l *List) At(i int) Slot { return l.slots[i] }

// Place is where a job stands in the list, or -1.
func (l *List) Place(s Slot) int { return slices.Index(l.slots, s) }

// drop leaves out jobs that are no more.
func (l *List) drop() {
	l.slots = slices.DeleteFunc(l.slots, func(s Slot) bool { return l.board.gone[s] })
}

func (l *List) fill() {
	l.slots = l.slots[:0]
	text := strings.ToLower(l.query.Text)
	for s := range l.board.rows {
		if !l.board.gone[s] && l.query.holds(&l.board.rows[s], text) {
			l.slots = append(l.slots, Slot(s))
		}
	}
	slices.SortFunc(l.slots, func(a, b Slot) int {
		x, y := &l.board.rows[a], &l.board.rows[b]
		way := 1
		if l.query.Reverse {
			way = -1
		}
		return cmp.Or(way*compare(l.query.Order, x, y), cmp.Compare(x.Job, y.Job))
	})
	l.version, l.stale = l.board.version, false
}

func (q Query) holds(r *api.Row, text string) bool {
	if len(q.States) > 0 && !slices.Contains(q.States, r.State) {
		return false
	}
	return text == "" || strings.Contains(strings.ToLower(strings.Join([]string{string(r.Job), r.Schedule, r.User, r.Table, r.Command}, "\n")), text)
}

func compare(o Order, a, b *api.Row) int {
	switch o {
	case ByName:
		return cmp.Compare(a.Job, b.Job)
	case ByNext:
		return cmp.Or(cmp.Compare(boolRank(a.Next.IsZero()), boolRank(b.Next.IsZero())), a.Next.Compare(b.Next))
	case ByLast:
		return b.Last.Compare(a.Last)
	case ByTook:
		return cmp.Compare(b.Took, a.Took)
	case ByUser:
		return cmp.Compare(a.User, b.User)
	case ByTable:
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Line, b.Line))
	}
	return cmp.Compare(severity[a.State], severity[b.State])
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}

// severity is the order of states, worst first.
var severity = map[job.State]int{
	job.StateFailing: 0, job.StateLate: 1, job.StateRunning: 2, job.StateHeld: 3,
	job.StateDisabled: 4, job.StateOK: 5, job.StateNew: 6,
}

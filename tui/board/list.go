package board

import (
	"maps"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// Order is the order of a list.
type Order string

// The orders. ByState is severity: failing, late, running, held, paused, ok, new; of the
// failing ones, who has failed last is first.
const (
	ByState   Order = "state"
	ByName    Order = "job"
	ByNext    Order = "next"
	ByLast    Order = "last"
	ByTook    Order = "took"
	ByUser    Order = "user"
	ByCrontab Order = "source"
	ByHost    Order = "host" // only on a board of several hosts
)

// Orders are the orders of every board, in the order that a key cycles through them.
var Orders = []Order{ByState, ByName, ByNext, ByLast, ByTook, ByUser, ByCrontab}

// Query selects and sorts the jobs of a list.
type Query struct {
	Text    string      // a filter, such as "etl user:www took>5m"
	States  []job.State // any of them; none: all
	Order   Order       // empty: ByState
	Reverse bool
}

// List is some jobs of a board in an order.
type List struct {
	board   *Board
	query   Query
	terms   []term // of the query's text, or of the last one without an error
	err     error  // of the query's text
	lines   []*line
	search  *Search // that the list waits for
	version uint64  // of the board as listed
	stale   bool    // the board has changed since
	of      int     // number of jobs when it was listed
	whole   bool    // all jobs had arrived by then
}

// List makes a list of all jobs.
func (b *Board) List(q Query) *List {
	l := &List{board: b}
	l.Set(q)
	return l
}

// Query returns the query of the list.
func (l *List) Query() Query { return l.query }

// Set replaces the query of the list. While its filter has an error, the list goes by the one
// before; if that lists nothing, because a word of it was half typed, by what is right.
func (l *List) Set(q Query) {
	terms, err := parseFilter(q.Text)
	if l.query, l.err = q, err; err == nil {
		l.use(terms)
	}
	l.fill()
	if err != nil && len(l.lines) == 0 {
		l.use(terms)
		l.fill()
	}
}

// Err returns the error of the filter, or nil.
func (l *List) Err() error { return l.err }

// Refresh brings the list up to date with the board. With hold it keeps its order and its members,
// so that nothing moves under the cursor, unless they are few of the present jobs; Stale then
// reports that the list would change.
func (l *List) Refresh(hold bool) {
	if l.version == l.board.version && !l.stale {
		return
	}
	if hold && !l.short() {
		l.hold()
		l.stale = true
		return
	}
	l.fill()
}

// short reports that the list contains only the first jobs, and that all have arrived meanwhile, or
// twice as many. A list of a hundred thousand jobs takes long to build, so it is not rebuilt for
// every two thousand that arrive.
func (l *List) short() bool {
	return !l.whole && (l.board.complete || l.board.Len() >= 2*l.of)
}

// Stale reports that the order or the members differ from the query, because Refresh was called
// with hold. It is false before all jobs have arrived, because the list still changes then.
func (l *List) Stale() bool { return l.stale && l.whole }

// Similar reports whether no job contains a text of the filter, so that the list contains jobs with a
// similar name.
func (l *List) Similar() bool {
	return len(l.lines) > 0 && slices.ContainsFunc(l.terms, func(t term) bool { return t.similar })
}

// Len is the length of the list, At the job at a place of it. The row is never changed.
func (l *List) Len() int          { return len(l.lines) }
func (l *List) At(i int) *api.Row { return l.lines[i].row }

// Place returns the position of a job in the list, or -1.
func (l *List) Place(id job.ID) int {
	if x, ok := l.board.lines[id]; ok {
		return slices.Index(l.lines, x)
	}
	return -1
}

// hold keeps the list as it is, but for jobs that no longer exist.
func (l *List) hold() {
	l.lines = slices.DeleteFunc(l.lines, func(x *line) bool { return x.gone })
	l.version = l.board.version
}

// fill finds the jobs and sorts them: by name, and then by the order of the query, which keeps the
// order of names among equal jobs.
func (l *List) fill() {
	b := l.board
	if l.seek(); l.Searching() {
		l.hold()
		return
	}
	l.lines = b.matches(l.lines[:0], l.terms, l.query.States)
	switch {
	case l.query.Order != ByName:
		l.sort()
	case l.query.Reverse:
		slices.Reverse(l.lines)
	}
	l.version, l.stale, l.of, l.whole = b.version, false, b.Len(), b.complete
}

// A sort key is a number of keyBits, so that a key and a place fit in 64 bits: sorting plain numbers
// takes a fraction of the time of sorting rows.
const (
	keyBits   = 40
	placeBits = 64 - keyBits
	maxKey    = 1<<keyBits - 1

	lastSecond = 1<<36 - 1 // times after the year 4147 count as equal
)

// sort sorts jobs by a key. Those with an equal key keep their order.
func (l *List) sort() {
	key := l.board.keyOf(l.query.Order)
	places := make([]uint64, len(l.lines))
	for i, x := range l.lines {
		k := key(x.row) & maxKey
		if l.query.Reverse {
			k = maxKey - k
		}
		places[i] = k<<placeBits | uint64(i)
	}
	slices.Sort(places)
	sorted := make([]*line, len(places))
	for i, place := range places {
		sorted[i] = l.lines[place&(1<<placeBits-1)]
	}
	l.lines = sorted
}

// keyOf returns a function for the sort key of a job: the smallest is first. It is cut to keyBits.
func (b *Board) keyOf(o Order) func(r *api.Row) uint64 {
	switch o {
	case ByNext:
		return func(r *api.Row) uint64 { return seconds(r.Next) - 1 } // none is the largest
	case ByLast:
		return func(r *api.Row) uint64 { return ^seconds(r.Last) }
	case ByTook:
		return func(r *api.Row) uint64 { return maxKey - uint64(min(r.Took.Microseconds(), maxKey)) }
	case ByUser:
		return b.ranks("user")
	case ByHost:
		return b.ranks("host")
	case ByCrontab:
		rank := b.ranks("file")
		return func(r *api.Row) uint64 { return rank(r)<<20 | uint64(min(r.Line, 1<<20-1)) }
	}
	return func(r *api.Row) uint64 {
		key := uint64(r.State.Severity()) * (lastSecond + 1)
		if r.State == job.StateFailing { // the latest failure matters most
			key += lastSecond - seconds(r.Last)
		}
		return key
	}
}

// seconds returns the seconds since 1970, from 1 to lastSecond; 0 for the zero time.
func seconds(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(min(max(t.Unix(), 1), lastSecond))
}

// ranks returns a function for the place of a job's text among those of all jobs, in alphabetical
// order.
func (b *Board) ranks(field string) func(r *api.Row) uint64 {
	text, ranks := fields[field], map[string]uint64{}
	last, rank := "", uint64(0) // neighbours are often alike
	for _, l := range b.index.lines {
		if x := text(l.row); x != last || x == "" {
			ranks[x], last = 0, x
		}
	}
	for i, x := range slices.Sorted(maps.Keys(ranks)) {
		ranks[x] = uint64(i)
	}
	last = ""
	return func(r *api.Row) uint64 {
		if x := text(r); x != last || x == "" {
			last, rank = x, ranks[x]
		}
		return rank
	}
}

package board

import (
	"math"
	"slices"
	"time"

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
	slots   []Slot
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
	if err != nil && len(l.slots) == 0 {
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
	return len(l.slots) > 0 && slices.ContainsFunc(l.terms, func(t term) bool { return t.similar })
}

// Len is the length of the list, At the job at a place of it.
func (l *List) Len() int      { return len(l.slots) }
func (l *List) At(i int) Slot { return l.slots[i] }

// Place returns the position of a job in the list, or -1.
func (l *List) Place(s Slot) int { return slices.Index(l.slots, s) }

// hold keeps the list as it is, but for jobs that no longer exist.
func (l *List) hold() {
	l.slots = slices.DeleteFunc(l.slots, func(s Slot) bool { return l.board.cells[s].state == gone })
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
	found := b.matches(l.terms, l.query.States)
	l.slots = l.slots[:0]
	for _, s := range b.inOrder() {
		if found[s] {
			l.slots = append(l.slots, s)
		}
	}
	switch {
	case l.query.Order != ByName:
		l.sort()
	case l.query.Reverse:
		slices.Reverse(l.slots)
	}
	l.version, l.stale, l.of, l.whole = b.version, false, b.Len(), b.complete
}

// sort computes a numeric sort key for each job, and sorts the jobs by it.
func (l *List) sort() {
	b := l.board
	if len(b.keys) < len(b.cells) {
		b.keys = make([]uint64, cap(b.cells))
	}
	key := b.keyOf(l.query.Order)
	for _, s := range l.slots {
		k := key(s)
		if l.query.Reverse {
			k = ^k
		}
		b.keys[s] = k
	}
	l.slots, b.spare = radix(l.slots, b.spare, b.keys)
}

// keyOf returns a function for the sort key of a job: the smallest is first.
func (b *Board) keyOf(o Order) func(Slot) uint64 {
	c := b.cells
	switch o {
	case ByNext:
		return func(s Slot) uint64 { return ascending(c[s].next) - 1 } // never is the largest
	case ByLast:
		return func(s Slot) uint64 { return ^ascending(c[s].last) }
	case ByTook:
		return func(s Slot) uint64 { return ^ascending(c[s].took) }
	case ByUser:
		ranks := b.ranks(textUser)
		return func(s Slot) uint64 { return uint64(ranks[c[s].words[textUser]]) }
	case ByHost:
		ranks := b.ranks(textNode)
		return func(s Slot) uint64 { return uint64(ranks[c[s].words[textNode]]) }
	case ByCrontab:
		ranks := b.ranks(textCrontab)
		return func(s Slot) uint64 { return uint64(ranks[c[s].words[textCrontab]])<<32 | uint64(uint32(c[s].line)) }
	}
	return func(s Slot) uint64 { return uint64(c[s].state)<<32 | uint64(c[s].newest()) }
}

// newest is smaller the later a failing job has failed, in seconds, because the latest failure
// matters most. Other jobs are sorted by state alone.
func (c *cell) newest() uint32 {
	if job.States[c.state] != job.StateFailing || c.last == never {
		return math.MaxUint32
	}
	return ^uint32(c.last / int64(time.Second))
}

// ascending is a number without a sign in the order of those with one.
func ascending(n int64) uint64 { return uint64(n) ^ 1<<63 }

// radix sorts by key and is stable. It skips bytes in which all keys are equal.
func radix(slots, spare []Slot, keys []uint64) (sorted, other []Slot) {
	spare = append(spare[:0], slots...)
	var counts [8][256]int
	for _, s := range slots {
		for k := range counts {
			counts[k][byte(keys[s]>>(8*k))]++
		}
	}
	for k := range counts {
		count := &counts[k]
		if len(slots) == 0 || count[byte(keys[slots[0]]>>(8*k))] == len(slots) {
			continue
		}
		at := 0
		for digit, n := range count {
			count[digit] = at
			at += n
		}
		for _, s := range slots {
			digit := byte(keys[s] >> (8 * k))
			spare[count[digit]] = s
			count[digit]++
		}
		slots, spare = spare, slots
	}
	return slots, spare
}

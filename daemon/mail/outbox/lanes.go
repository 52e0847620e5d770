package outbox

import (
	"cmp"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/budget"
)

// item is a message in the queue. Its text stays on the disk.
type item struct {
	number uint64
	user   string
	size   int64 // bytes of the message
	output int64 // bytes that the job printed
	born   time.Time
	tries  int
	next   time.Time // not before; zero: at once
	direct *direct   // for a letter that the disk had no room for
	lane   *lane
}

type direct struct {
	envelope envelope
	message  []byte
}

// lanes is the queue in memory: a lane for each user, oldest message first. Users alternate, so
// that a user with much output delays the others by one message at a time.
type lanes struct {
	of    map[string]*lane
	order []string // accounts with letters; the head has its turn

	count int
	bytes int64

	// What letters that are in memory alone take.
	direct      *budget.Budget
	directBytes *budget.Budget
}

type lane struct {
	items []*item
	bytes int64
	busy  bool      // its mailer runs
	slow  time.Time // when a mailer was started that still runs after slowTime
	until time.Time // the account's mailer hung: its letters wait
	why   string    // what the mailer said last, while it fails
}

func newLanes() lanes {
	return lanes{of: map[string]*lane{}, direct: budget.New(maxDirect, maxDirect), directBytes: budget.New(maxDirectBytes, maxDirectBytes)}
}

// fits reports whether there is room for another letter of a user. Root has as
// much as all other users together. Each of those has a quarter at most, and as
// much as is left, so that some is left for the next one.
func (q *lanes) fits(user string, size int64, messages int, bytes int64) bool {
	count, total := q.held(user)
	count, total = count+1, total+size
	if user == budget.Root {
		return count <= messages && total <= bytes
	}
	ofRoot, bytesOfRoot := q.held(budget.Root)
	left, bytesLeft := messages-(q.count-ofRoot)-1, bytes-(q.bytes-bytesOfRoot)-size
	return count <= min(max(1, messages/4), left) && total <= min(bytes/4, bytesLeft)
}

func (q *lanes) held(user string) (letters int, bytes int64) {
	if l := q.of[user]; l != nil {
		return len(l.items), l.bytes
	}
	return 0, 0
}

func (q *lanes) add(it *item) {
	l := q.of[it.user]
	if l == nil {
		l = &lane{}
		q.of[it.user] = l
		q.order = append(q.order, it.user)
	}
	it.lane = l
	l.items = append(l.items, it)
	q.tally(l, it, 1)
}

func (q *lanes) remove(it *item) {
	l := q.of[it.user]
	l.items = slices.DeleteFunc(l.items, func(other *item) bool { return other == it })
	q.tally(l, it, -1)
	if len(l.items) == 0 {
		delete(q.of, it.user)
		q.order = slices.DeleteFunc(q.order, func(user string) bool { return user == it.user })
	}
}

func (q *lanes) tally(l *lane, it *item, n int) {
	q.count += n
	q.bytes += int64(n) * it.size
	l.bytes += int64(n) * it.size
	if it.direct != nil && n < 0 {
		q.direct.Give(it.user, 1)
		q.directBytes.Give(it.user, it.size)
	}
}

// takeDirect takes room for a letter that is in memory alone, if the share of its
// user allows that.
func (q *lanes) takeDirect(user string, size int64) bool {
	if !q.directBytes.Fits(user, size) || !q.direct.Take(user, 1) {
		return false
	}
	q.directBytes.Add(user, size)
	return true
}

// pick is the letter whose turn it is, or else the time at which one is due;
// both are zero where no account has letters except those whose mailer runs. The
// account of the letter is busy until release.
func (q *lanes) pick(now time.Time) (*item, time.Time) {
	var soonest time.Time
	for i, user := range q.order {
		l := q.of[user]
		if l.busy {
			continue
		}
		it, at := l.pick(now)
		if it != nil {
			l.busy = true
			q.order = append(append(q.order[:i:i], q.order[i+1:]...), user)
			return it, time.Time{}
		}
		if soonest.IsZero() || at.Before(soonest) {
			soonest = at
		}
	}
	return nil, soonest
}

// release ends the turn of the user of a letter. If the letter was the last of its
// lane, the user may have another lane by now, whose mailer runs: that one stays busy.
func (q *lanes) release(it *item) { it.lane.busy, it.lane.slow = false, time.Time{} }

func (l *lane) pick(now time.Time) (*item, time.Time) {
	var soonest time.Time
	for _, it := range l.items {
		at := it.next
		if l.until.After(at) {
			at = l.until
		}
		if !at.After(now) {
			return it, time.Time{}
		}
		if soonest.IsZero() || at.Before(soonest) {
			soonest = at
		}
	}
	return nil, soonest
}

// slowMailer is a mailer that has been running for longer than slowTime.
type slowMailer struct {
	user    string
	since   time.Time
	letters int // that it delays
}

func (q *lanes) slow() (slow []slowMailer) {
	for _, user := range slices.Sorted(slices.Values(q.order)) {
		if l := q.of[user]; !l.slow.IsZero() {
			slow = append(slow, slowMailer{user, l.slow, len(l.items)})
		}
	}
	return slow
}

// failing counts the letters of accounts whose mailer failed last, and returns
// what one of them said.
func (q *lanes) failing() (letters int, why string) {
	for _, user := range slices.Sorted(slices.Values(q.order)) {
		if l := q.of[user]; l.why != "" {
			letters += len(l.items)
			why = cmp.Or(why, l.why)
		}
	}
	return letters, why
}

package mail

import (
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/budget"
)

// item is a letter in the queue. What it says stays on the disk.
type item struct {
	number uint64
	user   string
	size   int64 // bytes of the message
	output int64 // bytes that the job printed
	born   time.Time
	tries  int
	next   time.Time // not before; zero: at once
	direct *direct   // for a letter that the disk had no room for
}

type direct struct {
	envelope envelope
	message  []byte
}

// lanes is the queue in memory: a lane for each account, oldest letter first.
// The accounts take turns, so that one that prints much delays the others by
// one letter at a time.
type lanes struct {
	of    map[string]*lane
	order []string // accounts with letters; the head has its turn

	count       int
	bytes       int64
	direct      int
	directBytes int64
}

type lane struct {
	items []*item
	bytes int64
	until time.Time // the account's mailer hung: its letters wait
}

func newLanes() lanes { return lanes{of: map[string]*lane{}} }

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
	if it.direct != nil {
		q.direct += n
		q.directBytes += int64(n) * it.size
	}
}

// pick is the letter whose turn it is, or else the time at which one is due;
// both are zero for an empty queue.
func (q *lanes) pick(now time.Time) (*item, time.Time) {
	var soonest time.Time
	for i, user := range q.order {
		it, at := q.of[user].pick(now)
		if it != nil {
			q.order = append(append(q.order[:i:i], q.order[i+1:]...), user)
			return it, time.Time{}
		}
		if soonest.IsZero() || at.Before(soonest) {
			soonest = at
		}
	}
	return nil, soonest
}

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

package outbox

import (
	"maps"
	"slices"
	"time"
)

// item is a message that waits. Its content stays on disk.
type item struct {
	Key
	number uint64
	size   int64
	held   []byte // the content, if the disk has no room for it
	tries  int
	next   time.Time // not before; zero: at once
}

// lane is a queue of messages of which one is delivered at a time, oldest first. Lanes alternate,
// and within a lane its users, so that a user with many messages delays the others by one at a time.
type lane struct {
	items      []*item
	lastPick   uint64            // its last delivery
	lastPickOf map[string]uint64 // that of each user

	began time.Time // the delivery that runs; zero: none does
	until time.Time // all wait, because the last delivery failed for all
	fails int       // how often that happened
	why   string    // the last error; "": none
}

// add puts a message into its lane.
func (b *Outbox) add(it *item) {
	l := b.lanes[it.Lane]
	if l == nil {
		l = &lane{lastPickOf: map[string]uint64{}}
		b.lanes[it.Lane] = l
	}
	l.items = append(l.items, it)
	b.count++
}

// remove takes a message out of its lane, whose delivery has ended.
func (b *Outbox) remove(l *lane, it *item) {
	b.release(it)
	b.count--
	l.items = slices.DeleteFunc(l.items, func(other *item) bool { return other == it })
	if !slices.ContainsFunc(l.items, func(other *item) bool { return other.User == it.User }) {
		delete(l.lastPickOf, it.User)
	}
	if len(l.items) == 0 {
		delete(b.lanes, it.Lane)
	}
}

// pick starts the turn of a message, or returns when one is due. Both are zero if no
// delivery can start until another one ends, or until a message arrives.
func (b *Outbox) pick(now time.Time) (best *item, soonest time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.options.Parallel > 0 && b.running >= b.options.Parallel {
		return nil, time.Time{}
	}
	var from *lane
	for _, l := range b.lanes {
		if !l.began.IsZero() {
			continue
		}
		it, at := l.pick(now)
		switch {
		case it != nil && (from == nil || l.lastPick < from.lastPick):
			best, from = it, l
		case it == nil && (soonest.IsZero() || at.Before(soonest)):
			soonest = at
		}
	}
	if best == nil {
		return nil, soonest
	}
	b.running++
	b.picks++
	from.lastPick, from.lastPickOf[best.User], from.began = b.picks, b.picks, now
	return best, time.Time{}
}

// pick returns the message to try now, or else when one is due.
func (l *lane) pick(now time.Time) (best *item, soonest time.Time) {
	seen := map[string]bool{}
	for _, it := range l.items {
		if seen[it.Group] {
			continue
		}
		if it.Group != "" {
			seen[it.Group] = true
		}
		at := it.next
		if l.until.After(at) {
			at = l.until
		}
		switch {
		case at.After(now) && (soonest.IsZero() || at.Before(soonest)):
			soonest = at
		case !at.After(now) && (best == nil || l.lastPickOf[it.User] < l.lastPickOf[best.User]):
			best = it
		}
	}
	return best, soonest
}

// Lane is the state of a lane with messages.
type Lane struct {
	Name    string
	Waiting int
	Why     string    // the last error; "": none
	Began   time.Time // the delivery that runs; zero: none does
}

// Lanes returns the lanes by name.
func (b *Outbox) Lanes() (all []Lane) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(b.lanes)) {
		l := b.lanes[name]
		all = append(all, Lane{name, len(l.items), l.why, l.began})
	}
	return all
}

package notify

import (
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// item is a message that waits for its channel.
type item struct {
	number  uint64 // of its file
	kept    bool   // it has one
	born    time.Time
	message Message
	tries   int
	next    time.Time // not before; zero: at once
}

// lane is the queue of one channel, oldest message first.
type lane struct {
	items []*item
	turns map[string]uint64 // by user: when one of its messages was tried last
	turn  uint64
	wake  chan struct{} // new work arrived

	until  time.Time // the channel failed for all messages: all wait
	fails  int       // how often it has failed for all messages
	why    string    // the last error; "": none
	served bool      // a goroutine works on it
}

func newLane() *lane {
	return &lane{turns: map[string]uint64{}, wake: make(chan struct{}, 1)}
}

// count returns the number of a user's messages in the lane.
func (l *lane) count(user string) (n int) {
	for _, it := range l.items {
		if it.message.User == user {
			n++
		}
	}
	return n
}

// pick returns the message to try now, or else the time at which one is due; both are zero for an
// empty lane. Users alternate. The messages about a job stay in order: its recovery must not be
// reported before its failure.
func (l *lane) pick(now time.Time) (best *item, soonest time.Time) {
	type owner struct {
		user string
		job  job.ID
	}
	seen := map[owner]bool{}
	for _, it := range l.items {
		o := owner{it.message.User, it.message.Job}
		if seen[o] {
			continue
		}
		seen[o] = true
		at := it.next
		if l.until.After(at) {
			at = l.until
		}
		switch {
		case at.After(now) && (soonest.IsZero() || at.Before(soonest)):
			soonest = at
		case !at.After(now) && (best == nil || l.turns[it.message.User] < l.turns[best.message.User]):
			best = it
		}
	}
	if best == nil {
		return nil, soonest
	}
	l.turn++
	l.turns[best.message.User] = l.turn
	return best, time.Time{}
}

func (l *lane) remove(it *item) {
	l.items = slices.DeleteFunc(l.items, func(other *item) bool { return other == it })
	if l.count(it.message.User) == 0 {
		delete(l.turns, it.message.User)
	}
}

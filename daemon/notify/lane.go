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

// lane is what waits for one channel, oldest first.
type lane struct {
	items []*item
	turns map[string]uint64 // by account: when one of its messages was tried last
	turn  uint64
	wake  chan struct{} // there is more to do than was known

	until  time.Time // the channel answers nobody: all wait
	fails  int       // how often it has answered nobody
	why    string    // what was wrong when a message was tried last; "": nothing
	served bool      // a goroutine is at it
}

func newLane() *lane {
	return &lane{turns: map[string]uint64{}, wake: make(chan struct{}, 1)}
}

// count is how many messages an account has here.
func (l *lane) count(user string) (n int) {
	for _, it := range l.items {
		if it.message.User == user {
			n++
		}
	}
	return n
}

// pick is the message to be tried now, or else the time at which one is due;
// both are zero for an empty lane. The accounts take turns. What was told of a
// job later waits for what was told earlier: that it has recovered must not be
// heard before that it failed.
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

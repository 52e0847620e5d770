package actions

import (
	"testing"
	"time"
)

// TestEmitLimitOfEachUser: a user who emits too much, or events that start too many jobs, waits, and
// no other user does.
func TestEmitLimitOfEachUser(t *testing.T) {
	var l emitLimit
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	counted := 0
	take := func(user uint32, n int) bool {
		return l.take(user, now, func() int {
			counted++
			return n
		})
	}
	taken := func(user uint32, n int) (times int) {
		for times < 10_000 && take(user, n) {
			times++
		}
		return times
	}
	if n := taken(1, 0); n != eventBurst {
		t.Errorf("%d events at once, want %d", n, eventBurst)
	}
	if counted != eventBurst {
		t.Errorf("the jobs of %d events were counted, want %d: not those of the refused one", counted, eventBurst)
	}
	if !take(2, 10*eventBurst) || take(2, 1) {
		t.Error("an event that starts many jobs is refused, or counts as one")
	}
	now = now.Add(time.Second)
	if n := taken(1, 1); n != eventRate {
		t.Errorf("%d events a second later, want %d", n, eventRate)
	}
	if take(2, 1) {
		t.Error("the jobs of the large event are forgotten after a second")
	}
	if now = now.Add(-time.Hour); take(1, 1) {
		t.Error("a clock that is set back allows more")
	}
	if now = now.Add(time.Hour); taken(3, 1) != eventBurst {
		t.Error("another user waits")
	}
}

package main

import (
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
)

// The clock of one member is set ahead, and later back: nothing starts before its time,
// nothing is lost, and nothing starts twice.
func TestRingWithAClockThatIsSet(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: daemons on networks of their own take half a minute; make ring runs them")
	}
	t.Parallel()
	for _, mode := range []string{api.RingAvailable, api.RingStrict} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			l := newDaemonRing(t, mode, 3, 200)
			from := time.Now()
			offset := l.underOwnClock(2, "0")
			l.wholeAgain("a member got a clock of its own")
			for _, ahead := range []string{"60", "3600"} {
				setClock(t, offset, ahead)
				l.until(2, "it claims nothing", func(r *api.Ring) bool { return r.Held != "" })
				l.pass(5 * time.Second)
				setClock(t, offset, "0")
				l.until(2, "it claims again", func(r *api.Ring) bool { return r.Held == "" })
				l.pass(2 * time.Second)
			}
			setClock(t, offset, "60")
			l.underOwnClock(2, "60")
			l.until(2, "it is there, and claims nothing", func(r *api.Ring) bool { return upIn(r) == 3 && r.Held != "" })
			l.pass(5 * time.Second)
			l.check(l.settle())
			if soonest := l.late(from, time.Now().Add(2*time.Hour))[0]; soonest.lateness() < 0 {
				t.Errorf("%s started %v before it was due, on %s", soonest.job, -soonest.lateness(), soonest.node)
			}
			l.figures("clocks that were set", from, time.Now())
		})
	}
}

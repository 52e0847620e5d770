package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
)

// TestEditAroundTheDueInstant edits a crontab around 03:00. late is the time after 03:00
// at which the daemon steps and reads it.
func TestEditAroundTheDueInstant(t *testing.T) {
	three := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name          string
		before, after string
		saved, late   time.Duration // since 03:00
		inTime        bool          // the loop stepped at 03:00, too
		busy          int           // jobs that come first
		want          int           // starts for 03:00
	}{
		{"times changed at 03:00, before a step", "0 3 * * * x", "0 3,4 * * * x", 0, time.Millisecond, false, 0, 1},
		{"removed at 03:00, before a step", "0 3 * * * x", "0 4 * * * y", 0, time.Millisecond, false, 0, 1},
		{"times changed during a burst", "0 3 * * * x", "0 3,4 * * * x", 50 * time.Millisecond, 100 * time.Millisecond, true, 500, 1},
		{"removed during a burst", "0 3 * * * x", "", 50 * time.Millisecond, 100 * time.Millisecond, true, 500, 1},
		{"written just before 03:00", "", "0 3 * * * x", -50 * time.Millisecond, 150 * time.Millisecond, true, 0, 1},
		{"times changed just before 03:00", "0 2 * * * x", "0 3 * * * x", -50 * time.Millisecond, 150 * time.Millisecond, true, 0, 1},
		{"taken out just before 03:00", "0 3 * * * x", "0 4 * * * x", -50 * time.Millisecond, 150 * time.Millisecond, false, 0, 0},
		{"read when it had run", "0 3 * * * x", "0 3,4 * * * x", -50 * time.Millisecond, 150 * time.Millisecond, true, 0, 1},
		{"command changed, and read when it had run", "0 3 * * * x", "0 3 * * * x --verbose", -50 * time.Millisecond, 150 * time.Millisecond, true, 0, 1},
		{"written just after 03:00", "", "0 3 * * * x", 50 * time.Millisecond, 150 * time.Millisecond, true, 0, 0},
		{"written long before it could be read", "", "0 3 * * * x", -time.Minute, 2 * time.Minute, true, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newSimHost(t, three.Add(-90*time.Second), time.UTC)
			others := h.crontab("a", strings.Repeat("0 3 * * * busy\n", c.busy))
			starts := 0
			h.log = func(e effect.Effect) {
				if s, ok := e.(effect.Start); ok && s.Entry.File().Name == "t" {
					starts++
				}
			}
			h.crontabs = []*crontab.File{others, h.crontab("t", c.before+"\n")}
			h.start()
			h.advance(three.Add(-time.Second))
			if c.inTime {
				h.pass(time.Second)
				h.step(event.Tick{})
			}
			h.pass(three.Add(c.late).Sub(h.now.Wall))
			h.crontabs = []*crontab.File{others, h.crontab("t", c.after+"\n")}
			ev := h.load()
			ev.Saved, ev.Prepared = map[string]time.Time{"t": three.Add(c.saved)}, nil
			h.step(h.engine.View().Prepare(ev))
			h.advance(three.Add(30 * time.Minute))
			if starts != c.want {
				t.Errorf("got %d starts, want %d", starts, c.want)
			}
		})
	}
}

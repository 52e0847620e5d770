package engine

import (
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
)

// TestBlackoutWakesForRingJobs checks that a host steps before the end of its blackout only if it
// can then become a candidate for a ring job.
func TestBlackoutWakesForRingJobs(t *testing.T) {
	until := noon.Add(time.Hour)
	for _, c := range []struct {
		mode  event.RingMode
		scope string
		wakes bool
	}{
		{event.Available, "scope=ring", true},
		{event.Available, "scope=all", false},
		{event.NoRing, "scope=ring", false},
	} {
		file, diagnostics := crontab.Parse("t", "#@ "+c.scope+"\n0 0 1 1 * x\n", crontab.Config{User: "ann", Zone: time.LoadLocation})
		if len(diagnostics) > 0 {
			t.Fatal(diagnostics[0])
		}
		e := New(State{})
		e.Step(job.Moment{Wall: noon, Up: time.Hour}, event.Load{
			Crontabs: []*crontab.File{file}, Ring: c.mode, Blackouts: timetable.Blackouts{{Name: "upgrade", From: noon, Until: until}},
		})
		if wake := e.Wake(); wake.IsZero() || wake.Equal(until.Add(-reopenTime)) != c.wakes {
			t.Errorf("%s in ring mode %d: the next step is at %s; want it before the end of the blackout: %t", c.scope, c.mode, wake, c.wakes)
		}
	}
}

package engine

import (
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// A table whose account nobody knows yet, as its directory service is not up,
// comes minutes after the daemon's start.
func TestAwaitedTableIsTakenAsIfItHadComeFirst(t *testing.T) {
	const text = "#@ name=hourly catchup=once\n0 * * * * x\n#@ name=boot\n@reboot x\n"
	for _, c := range []struct {
		name    string
		awaited map[string]bool
		hourly  job.Trigger // "": none
		boot    bool
	}{
		{"not awaited", nil, "", false},
		{"no such account", map[string]bool{"late": false}, job.TriggerCatchup, false},
		{"no answer", map[string]bool{"late": true}, job.TriggerCatchup, true},
	} {
		w := newWorld(t, noon, time.UTC)
		table := func() *crontab.Table { return w.table("late", text) }
		up := func(at time.Time) Moment { return Moment{Wall: at, Up: at.Sub(noon) + 24*time.Hour} }
		before := New(State{})
		var known []Known
		for _, e := range before.Step(up(noon.Add(-3*time.Hour-time.Minute)), Load{Tables: []*crontab.Table{table()}}) {
			if r, ok := e.(Roster); ok {
				known = r.Known
			}
		}
		e := New(State{Known: known, LastSeen: noon.Add(-3 * time.Hour), Booted: true, NextRun: 1})
		e.Step(up(noon.Add(time.Minute)), Load{Awaited: c.awaited})
		for i := range 3 { // it is there, and goes on to be
			var hourly job.Trigger
			boot := false
			for _, x := range e.Step(up(noon.Add(time.Duration(2+i)*time.Minute)), Load{Tables: []*crontab.Table{table()}}) {
				s, ok := x.(Start)
				switch {
				case ok && s.Run.Job == "hourly":
					hourly = s.Run.Trigger
				case ok && s.Run.Job == "boot":
					boot = s.Run.Trigger == job.TriggerBoot
				}
			}
			wantHourly, wantBoot := c.hourly, c.boot
			if i > 0 {
				wantHourly, wantBoot = "", false
			}
			if hourly != wantHourly || boot != wantBoot {
				t.Errorf("%s, load %d: hourly started by %q, at boot %t; want %q and %t", c.name, i, hourly, boot, wantHourly, wantBoot)
			}
		}
		if e.awaited != nil {
			t.Errorf("%s: something is still awaited", c.name)
		}
	}
}

func TestAwaitedRemembersOnlyWhatHasNotCome(t *testing.T) {
	w := newWorld(t, noon, time.UTC)
	here, late := w.table("here", "* * * * * x\n1 * * * * x\n"), w.table("late", "2 * * * * x\n")
	var known []Known
	for _, e := range New(State{}).Step(Moment{Wall: noon, Up: time.Hour}, Load{Tables: []*crontab.Table{here, late}}) {
		if r, ok := e.(Roster); ok {
			known = r.Known
		}
	}
	e := New(State{Known: known, LastSeen: noon, NextRun: 1})
	e.Step(Moment{Wall: noon.Add(time.Second), Up: time.Hour}, Load{Tables: []*crontab.Table{here}, Awaited: map[string]bool{"late": false}})
	if n := len(e.awaited.past); n != 1 {
		t.Errorf("%d jobs are remembered, want the one of the table that has not come", n)
	}
}

package engine

import (
	"maps"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
)

// A crontab whose user is not known yet, because the directory service is not up, is
// loaded minutes after the daemon's start.
func TestAwaitedCrontabIsTakenAsIfItHadComeFirst(t *testing.T) {
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
		h := newSimHost(t, noon, time.UTC)
		file := func() *crontab.File { return h.crontab("late", text) }
		up := func(at time.Time) job.Moment { return job.Moment{Wall: at, Up: at.Sub(noon) + 24*time.Hour} }
		before := New(State{})
		var known []effect.Known
		for _, e := range before.Step(up(noon.Add(-3*time.Hour-time.Minute)), event.Load{Crontabs: []*crontab.File{file()}}) {
			if r, ok := e.(effect.Roster); ok {
				known = r.All()
			}
		}
		e := New(State{Known: known, LastSeen: noon.Add(-3 * time.Hour), Booted: true, NextRun: 1})
		e.Step(up(noon.Add(time.Minute)), event.Load{Awaited: c.awaited})
		for i := range 3 { // it is loaded, and stays loaded
			var hourly job.Trigger
			boot := false
			for _, x := range e.Step(up(noon.Add(time.Duration(2+i)*time.Minute)), event.Load{Crontabs: []*crontab.File{file()}}) {
				s, ok := x.(effect.Start)
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

// Runs that waited in the previous daemon, and one that was lost with it, continue when the crontab
// of their user is loaded; until then they are not dropped.
func TestRunsOfAwaitedCrontabWaitForIt(t *testing.T) {
	h := newSimHost(t, noon, time.UTC)
	file := h.users("ann", "#@ name=tried retry=3\n0 * * * * x\n#@ name=lost if-lost=rerun\n0 * * * * x\n"+
		"#@ name=ended overlap=queue\n0 * * * * x\n#@ name=child after=parent wait=5m\n0 * * * * x\n#@ name=parent\n0 0 1 1 * x\n")
	at := func(d time.Duration) job.Moment { return job.Moment{Wall: noon.Add(d), Up: time.Hour + d} }
	waiting := func(id job.RunID, name job.ID, attempt int, on job.WaitsOn, until time.Time) job.Run {
		r := job.Run{
			ID: id, Job: "ann/" + name, User: "ann", Due: noon.Add(-time.Hour), Attempt: attempt, Trigger: job.TriggerRetry,
			Decided: noon.Add(-time.Minute), NotBefore: until,
		}
		if attempt == 1 {
			r.Trigger = job.TriggerClock
		}
		r.Wait(on)
		return r
	}
	running := func(id job.RunID, name job.ID) job.Run {
		return job.Run{ID: id, Job: "ann/" + name, User: "ann", Due: noon.Add(-time.Hour), Attempt: 1, State: job.RunRunning, Started: noon.Add(-time.Hour)}
	}
	e := New(State{LastSeen: noon, NextRun: 20, Live: []job.Run{
		waiting(7, "tried", 2, job.WaitsOnRetry, noon.Add(time.Minute)), running(8, "lost"), running(9, "ended"),
		waiting(10, "ended", 1, job.WaitsOnRun, time.Time{}), waiting(11, "child", 1, job.WaitsOnParents, noon.Add(time.Minute)),
	}})
	for _, x := range e.Step(at(time.Second), event.Load{Awaited: map[string]bool{file.Name: true}}) {
		if fact, ok := x.(effect.Fact); ok && fact.Record.Run != nil {
			t.Errorf("before the crontab is loaded: %+v", fact.Record)
		}
	}
	starts, dropped := map[job.ID]int{}, map[job.ID]job.Reason{}
	events := []event.Event{event.Load{Crontabs: []*crontab.File{file}}}
	for _, d := range []time.Duration{2 * time.Second, 3 * time.Second, time.Minute, 61 * time.Second, 62 * time.Second} {
		for _, x := range e.Step(at(d), events...) {
			switch x := x.(type) {
			case effect.Start:
				starts[x.Run.Job] = x.Run.Attempt
			case effect.Fact:
				if x.Record.Kind == job.Dropped {
					dropped[x.Record.Job] = x.Record.Reason
				}
			}
		}
		events = nil
	}
	if want := map[job.ID]int{"ann/tried": 2, "ann/lost": 2, "ann/ended": 1}; !maps.Equal(starts, want) {
		t.Errorf("attempts that started: got %v, want %v", starts, want)
	}
	if want := map[job.ID]job.Reason{"ann/child": job.ParentMissed}; !maps.Equal(dropped, want) {
		t.Errorf("dropped: got %v, want %v", dropped, want)
	}
}

func TestAwaitedRemembersOnlyWhatHasNotCome(t *testing.T) {
	h := newSimHost(t, noon, time.UTC)
	here, late := h.crontab("here", "* * * * * x\n1 * * * * x\n"), h.crontab("late", "2 * * * * x\n")
	var known []effect.Known
	for _, e := range New(State{}).Step(job.Moment{Wall: noon, Up: time.Hour}, event.Load{Crontabs: []*crontab.File{here, late}}) {
		if r, ok := e.(effect.Roster); ok {
			known = r.All()
		}
	}
	e := New(State{Known: known, LastSeen: noon, NextRun: 1})
	e.Step(job.Moment{Wall: noon.Add(time.Second), Up: time.Hour}, event.Load{Crontabs: []*crontab.File{here}, Awaited: map[string]bool{"late": false}})
	if n := e.awaited.Len(); n != 1 {
		t.Errorf("%d jobs are remembered, want the one of the crontab that has not come", n)
	}
}

// Another cron was stopped at 12:00:30, and this daemon begins at 12:02:10.
func TestFirstStartGoesOnWhereAnotherCronEnded(t *testing.T) {
	h := newSimHost(t, noon, time.UTC)
	load := event.Load{Crontabs: []*crontab.File{h.crontab("a", "#@ name=old catchup=all:100 overlap=allow\n* * * * * x\n")}}
	var known []effect.Known
	for _, e := range New(State{}).Step(job.Moment{Wall: noon.Add(-time.Hour), Up: time.Hour}, load) {
		if r, ok := e.(effect.Roster); ok {
			known = r.All()
		}
	}
	load.Crontabs = append(load.Crontabs, h.crontab("b", "#@ name=new catchup=all:100 overlap=allow\n* * * * * x\n"))
	stopped, begins := noon.Add(30*time.Second), noon.Add(2*time.Minute+10*time.Second)
	for _, c := range []struct {
		name  string
		since time.Time
		want  map[job.ID]int
	}{
		{"nobody ran them", time.Time{}, map[job.ID]int{"old": 62}},
		{"until it was stopped", stopped, map[job.ID]int{"old": 2, "new": 2}},
		{"ahead of the clock", begins.Add(time.Hour), map[job.ID]int{}},
	} {
		for _, awaited := range []map[string]bool{nil, {"a": true, "b": true}} {
			e := New(State{Known: known, LastSeen: noon.Add(-time.Hour), Since: c.since})
			if awaited != nil {
				e.Step(job.Moment{Wall: begins, Up: 3 * time.Hour}, event.Load{Awaited: awaited})
			}
			got := map[job.ID]int{}
			for _, x := range e.Step(job.Moment{Wall: begins, Up: 3 * time.Hour}, load) {
				if s, ok := x.(effect.Start); ok {
					got[s.Run.Job]++
				}
			}
			if !maps.Equal(got, c.want) {
				t.Errorf("%s, awaited %v: starts of each job: got %v, want %v", c.name, awaited, got, c.want)
			}
		}
	}
}

package engine

import (
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// successor returns an engine that finds one run of the job j in the store.
func successor(t *testing.T, text string, state job.RunState, a Adopted) (*Engine, []effect.Effect) {
	t.Helper()
	h := newSimHost(t, noon, time.UTC)
	e := New(State{
		LastSeen: noon.Add(-10 * time.Second), NextRun: 8, Adopted: []Adopted{a},
		Live: []job.Run{{ID: 7, Job: "j", Due: noon.Add(-time.Minute), Attempt: 1, State: state, Decided: noon.Add(-time.Minute)}},
	})
	return e, e.Step(job.Moment{Wall: noon, Up: time.Hour}, event.Load{Crontabs: []*crontab.File{h.crontab("t", text)}})
}

func recordsOf(effects []effect.Effect, kind job.RecordKind) []job.Record {
	var found []job.Record
	for _, e := range effects {
		if f, ok := e.(effect.Fact); ok && f.Record.Kind == kind {
			found = append(found, f.Record)
		}
	}
	return found
}

func killsOf(effects []effect.Effect) []effect.Kill {
	var kills []effect.Kill
	for _, e := range effects {
		if k, ok := e.(effect.Kill); ok {
			kills = append(kills, k)
		}
	}
	return kills
}

func TestAdoptedBeforeItsStartWasStored(t *testing.T) {
	for _, state := range []job.RunState{job.RunDecided, job.RunQueued, job.RunWaiting} {
		e, effects := successor(t, "#@ name=j timeout=1m overlap=skip\n0 1 * * * x\n", state, Adopted{Run: 7, PID: 77, Up: time.Hour - 20*time.Second})
		started := recordsOf(effects, job.Started)
		if len(started) != 1 {
			t.Fatalf("%s: got effects %+v, want one record of its start", state, effects)
		}
		if r := started[0].Run; r.PID != 77 || r.State != job.RunRunning || !r.Started.Equal(noon.Add(-20*time.Second)) {
			t.Errorf("%s: got %+v, want it running as 77 for 20 seconds", state, r)
		}
		for _, x := range effects {
			if _, ok := x.(effect.Start); ok {
				t.Errorf("%s: it was started again", state)
			}
		}
		if got := killsOf(e.Step(job.Moment{Wall: noon.Add(39 * time.Second), Up: time.Hour + 39*time.Second})); len(got) > 0 {
			t.Errorf("%s: after 59 of 60 seconds it was stopped: %v", state, got)
		}
		if got := killsOf(e.Step(job.Moment{Wall: noon.Add(40 * time.Second), Up: time.Hour + 40*time.Second})); len(got) != 1 || got[0] != (effect.Kill{Run: 7, Signal: syscall.SIGTERM, Reason: job.OverTime}) {
			t.Errorf("%s: over its limit got %v, want TERM", state, got)
		}
	}
}

func TestAdoptedSinceNobodyKnowsWhen(t *testing.T) {
	h := newSimHost(t, noon, time.UTC)
	e := New(State{Adopted: []Adopted{{Run: 7, PID: 77}}, LastSeen: noon, Live: []job.Run{
		{ID: 7, Job: "j", Attempt: 1, State: job.RunRunning, Decided: noon, Started: noon.Add(-20 * time.Second)},
	}})
	load := event.Load{Crontabs: []*crontab.File{h.crontab("t", "#@ name=j timeout=1m\n0 1 * * * x\n")}}
	if got := killsOf(e.Step(job.Moment{Wall: noon, Up: time.Hour}, load)); len(got) > 0 {
		t.Errorf("after 20 of 60 seconds it was stopped: %v", got)
	}
	if got := killsOf(e.Step(job.Moment{Wall: noon.Add(40 * time.Second), Up: time.Hour + 40*time.Second})); len(got) != 1 {
		t.Errorf("over its limit got %v, want TERM", got)
	}
}

// A run that was started before its entry had watchdog= cannot know of it.
func TestAdoptedWithoutWatchdog(t *testing.T) {
	for _, mute := range []bool{false, true} {
		e, _ := successor(t, "#@ name=j watchdog=1m\n0 1 * * * x\n", job.RunRunning, Adopted{Run: 7, PID: 77, Up: time.Minute, Mute: mute})
		got := killsOf(e.Step(job.Moment{Wall: noon.Add(time.Minute), Up: time.Hour + time.Minute}))
		if stopped := len(got) > 0; stopped == mute {
			t.Errorf("mute %t: stopped %t", mute, stopped)
		}
	}
}

func TestAdoptedOverItsLimitIsStoppedAtOnce(t *testing.T) {
	_, effects := successor(t, "#@ name=j timeout=1m\n0 1 * * * x\n", job.RunRunning, Adopted{Run: 7, PID: 77, Up: time.Minute})
	if got := killsOf(effects); len(got) != 1 || got[0] != (effect.Kill{Run: 7, Signal: syscall.SIGTERM, Reason: job.OverTime}) {
		t.Errorf("got %v, want TERM", got)
	}
}

func TestAdoptedWhileItIsStopped(t *testing.T) {
	for _, c := range []struct {
		state job.RunState
		terms int
	}{{job.RunRunning, 0}, {job.RunDecided, 1}} {
		e, effects := successor(t, "#@ name=j timeout=1m retry=3\n0 1 * * * x\n", c.state, Adopted{Run: 7, PID: 77, Up: time.Hour, Stop: job.StopAsked})
		if got := killsOf(effects); len(got) != c.terms {
			t.Errorf("%s: got %v, want %d of TERM", c.state, got, c.terms)
		}
		if got := e.Stopping(); len(got) != 1 || got[7] != job.StopAsked {
			t.Errorf("%s: Stopping() = %v, want run 7 as asked", c.state, got)
		}
		if got := killsOf(e.Step(job.Moment{Wall: noon.Add(option.ManualStopGrace), Up: time.Hour + option.ManualStopGrace})); len(got) != 1 || got[0].Signal != syscall.SIGKILL {
			t.Errorf("%s: after the grace got %v, want KILL", c.state, got)
		}
		ended := recordsOf(e.Step(job.Moment{Wall: noon.Add(time.Minute), Up: time.Hour + time.Minute}, event.Ended{Run: 7, Outcome: job.Outcome{Kind: job.Signalled, Signal: 9}}), job.Ended)
		if len(ended) != 1 || ended[0].Reason != job.StopAsked || len(e.Stopping()) > 0 || len(e.View().Runs()) > 0 {
			t.Errorf("%s: got %+v, want it ended as asked, and no retry", c.state, ended)
		}
	}
}

// After a crash there was no hand-over: a user's stop request is in the history.
func TestAdoptedAfterACrashIsStoppedAsAPersonAsked(t *testing.T) {
	h := newSimHost(t, noon, time.UTC)
	const up = time.Hour
	e := New(State{
		LastSeen: noon.Add(-time.Second), NextRun: 8, Adopted: []Adopted{{Run: 7, PID: 77, Up: up - time.Minute}},
		Live: []job.Run{{ID: 7, Job: "j", Due: noon.Add(-time.Minute), Attempt: 1, State: job.RunRunning, Decided: noon.Add(-time.Minute),
			Stop: &job.Stop{By: "root", At: noon.Add(-4 * time.Second), Signal: "TERM", Grace: 10 * time.Second}}},
	})
	effects := e.Step(job.Moment{Wall: noon, Up: up}, event.Load{Crontabs: []*crontab.File{h.crontab("t", "#@ name=j retry=3\n0 1 * * * x\n")}})
	effects = append(effects, e.Step(job.Moment{Wall: noon.Add(5 * time.Second), Up: up + 5*time.Second})...)
	if kills := killsOf(effects); len(kills) > 0 {
		t.Errorf("signals %v within the grace, want none", kills)
	}
	kills := killsOf(e.Step(job.Moment{Wall: noon.Add(6 * time.Second), Up: up + 6*time.Second}))
	if len(kills) != 1 || kills[0] != (effect.Kill{Run: 7, Signal: syscall.SIGKILL}) {
		t.Errorf("signals %v at the end of the grace, want KILL", kills)
	}
	effects = e.Step(job.Moment{Wall: noon.Add(7 * time.Second), Up: up + 7*time.Second}, event.Ended{Run: 7, Outcome: job.Outcome{Kind: job.Signalled, Signal: 9}})
	ended := recordsOf(effects, job.Ended)
	if len(ended) != 1 || ended[0].Reason != job.StopAsked || len(e.View().Runs()) != 0 {
		t.Errorf("records %+v, runs %+v; want one end that was asked for, and no retry", ended, e.View().Runs())
	}
}

func TestAdoptedOfARemovedJobRunsOn(t *testing.T) {
	e, effects := successor(t, "0 1 * * * other\n", job.RunRunning, Adopted{Run: 7, PID: 77})
	if got := recordsOf(effects, job.Ended); len(got) > 0 {
		t.Fatalf("it ended: %+v", got)
	}
	ended := recordsOf(e.Step(job.Moment{Wall: noon, Up: time.Hour}, event.Ended{Run: 7, Outcome: job.Outcome{Kind: job.Exited}}), job.Ended)
	if len(ended) != 1 || !ended[0].Run.Outcome.OK() {
		t.Errorf("got %+v, want it ended well", ended)
	}
}

// A lost run over its time limit stays lost: its process might still be running, so it is
// not retried.
func TestAdoptedAndLostStaysLost(t *testing.T) {
	e, _ := successor(t, "#@ name=j timeout=1m retry=3\n0 1 * * * x\n", job.RunRunning, Adopted{Run: 7, PID: 77, Up: time.Minute})
	ended := recordsOf(e.Step(job.Moment{Wall: noon, Up: time.Hour}, event.Ended{Run: 7, Outcome: job.Outcome{Kind: job.Lost}}), job.Ended)
	if len(ended) != 1 || ended[0].Run.Outcome.Kind != job.Lost || len(e.View().Runs()) > 0 {
		t.Errorf("got %+v and %v, want it lost, and no retry", ended, e.View().Runs())
	}
}

func TestBarBeforeTheFirstLoadHoldsBootEntries(t *testing.T) {
	h := newSimHost(t, noon, time.UTC)
	file := h.system("t", "@reboot ghost x\n")
	e := New(State{Booted: true})
	effects := e.Step(h.now, event.BarUsers{Users: map[string]event.Barred{"ghost": {Reason: job.NoUser, Detail: "no such user"}}}, event.Load{Crontabs: []*crontab.File{file}})
	decided := recordsOf(effects, job.Decided)
	if len(decided) != 1 || decided[0].Reason != job.NoUser || decided[0].Detail != "no such user" {
		t.Errorf("got %+v, want it skipped for want of an account", decided)
	}
	if b, barred := e.View().Barred("ghost"); !barred || b.Reason != job.NoUser {
		t.Errorf("Barred(ghost) = %v, %t", b, barred)
	}
	if _, barred := e.View().Barred("root"); barred {
		t.Error("root is barred")
	}
}

// A run that was decided and adopted without a process is neither lost nor started again
// by the engine: the caller that adopted it is about to start it.
func TestAdoptedWithoutAProcessIsStillToStart(t *testing.T) {
	e, effects := successor(t, "#@ name=j overlap=skip\n0 1 * * * x\n", job.RunDecided, Adopted{Run: 7})
	for _, x := range effects {
		switch x := x.(type) {
		case effect.Start:
			t.Errorf("it was started again: %+v", x)
		case effect.Fact:
			if x.Record.Run != nil {
				t.Errorf("something was recorded of it: %+v", x.Record)
			}
		}
	}
	effects = e.Step(job.Moment{Wall: noon.Add(time.Second), Up: time.Hour + time.Second}, event.Started{Run: 7, PID: 77})
	if got := recordsOf(effects, job.Started); len(got) != 1 || got[0].Run.PID != 77 {
		t.Errorf("when it started: %+v, want one record of that", effects)
	}
}

func TestBarredJobIsHeldInTheView(t *testing.T) {
	h := newSimHost(t, noon, time.UTC)
	e := New(State{})
	e.Step(job.Moment{Wall: noon, Up: time.Hour}, event.BarUsers{Users: map[string]event.Barred{"ann": {Reason: job.NoUser, Detail: "unknown user ann"}}}, event.Load{Crontabs: []*crontab.File{h.crontab("t", "* * * * * x\n")}})
	if got := e.View().Job(0).Held; got != "unknown user ann" {
		t.Errorf("held: %q, want the reason of the bar", got)
	}
	e.Step(job.Moment{Wall: noon, Up: time.Hour}, event.BarUsers{})
	if got := e.View().Job(0).Held; got != "" {
		t.Errorf("held: %q although nothing bars the account", got)
	}
}

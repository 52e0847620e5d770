package engine

import (
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
)

// crontabOf parses a crontab of root with entries that run as a user.
func crontabOf(user, text string) *crontab.File {
	t, _ := crontab.Parse(user, text, crontab.Config{User: user, Local: time.UTC, Zone: time.LoadLocation, Seed: 1})
	return t
}

// strangers returns an engine at noon with a live run of zoe's job "backup". After that
// run started, root has given the name to a job that runs as ann, in a crontab that comes
// first.
func strangers(t *testing.T, anns, zoes string) *Engine {
	t.Helper()
	e := New(State{NextRun: 1, Holds: job.Holds{}})
	zoe := crontabOf("zoe", zoes)
	e.Step(job.Moment{Wall: noon.Add(-90 * time.Second), Up: time.Hour}, event.Load{Crontabs: []*crontab.File{zoe}})
	e.Step(job.Moment{Wall: noon.Add(-60 * time.Second), Up: time.Hour + 30*time.Second})
	e.Step(job.Moment{Wall: noon.Add(-50 * time.Second), Up: time.Hour + 40*time.Second}, event.Started{Run: 1, PID: 77, At: noon.Add(-60 * time.Second)})
	e.Step(job.Moment{Wall: noon.Add(-40 * time.Second), Up: time.Hour + 50*time.Second}, event.Load{Crontabs: []*crontab.File{crontabOf("ann", anns), zoe}})
	if got := e.View().Runs(); len(got) != 1 || got[0].User != "zoe" || got[0].State != job.RunRunning {
		t.Fatalf("live runs: %+v, want one of zoe's", got)
	}
	return e
}

const zoesBackup = "#@ name=backup\n* * * * * zoe\n"

func atNoon() job.Moment { return job.Moment{Wall: noon, Up: time.Hour + 90*time.Second} }

func startsOf(effects []effect.Effect) (commands []string) {
	for _, e := range effects {
		if s, ok := e.(effect.Start); ok {
			commands = append(commands, s.Job.Command)
		}
	}
	return commands
}

func TestOverlapMindsNoRunOfAnotherAccount(t *testing.T) {
	for _, overlap := range []string{"kill", "replace", "skip", "queue"} {
		e := strangers(t, "#@ name=backup overlap="+overlap+"\n* * * * * ann\n", "#@ name=backup\n59 11 * * * zoe\n")
		effects := e.Step(atNoon())
		if kills := killsOf(effects); len(kills) > 0 {
			t.Errorf("overlap=%s of ann's job sent %+v, want zoe's run left alone", overlap, kills)
		}
		if got := startsOf(effects); len(got) != 1 || got[0] != "ann" {
			t.Errorf("overlap=%s: started %q, want ann's job, which zoe's run does not concern", overlap, got)
		}
	}
}

func TestStopEndsNoRunOfAnotherAccount(t *testing.T) {
	e := strangers(t, "#@ name=backup\n0 0 1 1 * ann\n", zoesBackup)
	effects := e.Step(atNoon(), event.Asked{Question: event.Stop{Job: "backup", By: "ann"}, Token: 1})
	if kills := killsOf(effects); len(kills) > 0 {
		t.Errorf("ann's stop of her job sent %+v, want zoe's run left alone", kills)
	}
}

func TestPauseBindsNoJobOfAnotherAccount(t *testing.T) {
	e := strangers(t, "#@ name=backup\n0 0 1 1 * ann\n", zoesBackup)
	e.Step(job.Moment{Wall: noon.Add(-30 * time.Second), Up: time.Hour + time.Minute}, event.Asked{Question: event.Pause{Job: "backup", Hold: job.Hold{By: "ann"}}, Token: 1})
	if e.View().Hold(0) == nil {
		t.Fatal("ann's job is not paused")
	}
	e.Step(job.Moment{Wall: noon.Add(-20 * time.Second), Up: time.Hour + 70*time.Second}, event.Load{Crontabs: []*crontab.File{crontabOf("zoe", zoesBackup)}})
	if h := e.View().Hold(0); h != nil {
		t.Errorf("zoe's job is paused by %+v, want it free", h)
	}
	if got := startsOf(e.Step(atNoon())); len(got) != 1 {
		t.Errorf("started %q, want zoe's job", got)
	}
}

func TestQueuedRunStartsNoJobOfAnotherAccount(t *testing.T) {
	e := strangers(t, "0 0 1 1 * ann\n", "#@ name=backup overlap=queue\n* * * * * zoe\n")
	e.Step(atNoon()) // queues the second run
	e.Step(job.Moment{Wall: noon.Add(time.Second), Up: 2 * time.Hour}, event.Load{Crontabs: []*crontab.File{crontabOf("ann", "#@ name=backup\n0 0 1 1 * ann\n")}})
	effects := e.Step(job.Moment{Wall: noon.Add(2 * time.Second), Up: 2 * time.Hour}, event.Ended{Run: 1, Outcome: job.Outcome{Kind: job.Exited}, At: noon})
	if got := startsOf(effects); len(got) > 0 {
		t.Errorf("zoe's queued run started %q, which is ann's", got)
	}
	if got := recordsOf(effects, job.Dropped); len(got) != 1 {
		t.Errorf("records of what was dropped: %+v, want one", got)
	}
}

func TestResumeEndsNoPauseOfAnotherAccount(t *testing.T) {
	e := strangers(t, "0 0 1 1 * ann\n", zoesBackup)
	e.Step(job.Moment{Wall: noon.Add(-30 * time.Second), Up: time.Hour + time.Minute}, event.Asked{Question: event.Pause{Job: "backup", Hold: job.Hold{By: "zoe"}}, Token: 1})
	load := func(second time.Duration, anns string) {
		e.Step(job.Moment{Wall: noon.Add(second * time.Second), Up: time.Hour + 90*time.Second}, event.Load{Crontabs: []*crontab.File{crontabOf("ann", anns), crontabOf("zoe", zoesBackup)}})
	}
	load(-25, "#@ name=backup\n0 0 1 1 * ann\n")
	e.Step(job.Moment{Wall: noon.Add(-20 * time.Second), Up: time.Hour + 90*time.Second}, event.Asked{Question: event.Resume{Job: "backup", By: "ann"}, Token: 2})
	load(-15, "0 0 1 1 * ann\n")
	if e.View().Hold(1) == nil {
		t.Error("ann's resume of a job that she called so ended zoe's pause")
	}
}

// The name of zoe's paused job passes to ann, who pauses and resumes hers, and
// back.
func TestPauseReplacesNoPauseOfAnotherAccount(t *testing.T) {
	const named = "#@ name=backup\n0 0 1 1 * ann\n"
	e := strangers(t, "0 0 1 1 * ann\n", zoesBackup)
	now := job.Moment{Wall: noon.Add(-35 * time.Second), Up: time.Hour + 55*time.Second}
	step := func(events ...event.Event) {
		now.Wall, now.Up = now.Wall.Add(time.Second), now.Up+time.Second
		e.Step(now, events...)
	}
	pass := func(anns, zoes string) {
		step(event.Load{Crontabs: []*crontab.File{crontabOf("ann", anns), crontabOf("zoe", zoes)}})
	}
	by := func(i int) string {
		if h := e.View().Hold(i); h != nil {
			return h.By
		}
		return ""
	}
	step(event.Asked{Question: event.Pause{Job: "backup", Hold: job.Hold{By: "zoe"}}, Token: 1})
	pass(named, "")
	step(event.Asked{Question: event.Pause{Job: "backup", Hold: job.Hold{By: "ann"}}, Token: 2})
	if got := by(0); got != "ann" {
		t.Errorf("ann's job is paused by %q, want ann", got)
	}
	pass("", zoesBackup)
	if got := by(0); got != "zoe" {
		t.Errorf("with ann's pause, zoe's job is paused by %q, want zoe", got)
	}
	pass(named, "")
	step(event.Asked{Question: event.Resume{Job: "backup", By: "ann"}, Token: 3})
	if got := by(0); got != "" {
		t.Errorf("ann's resumed job is paused by %q", got)
	}
	pass("", zoesBackup)
	if got := by(0); got != "zoe" {
		t.Errorf("after ann's resume, zoe's job is paused by %q, want zoe", got)
	}
}

// The options of ann's job do not apply to zoe's runs of that name from before the
// restart.
func TestRunsOfAnotherAccountAreNotJudgedByItsOptions(t *testing.T) {
	anns := "#@ name=backup notify=anns timeout=1m if-lost=rerun max-run=1m max-late=1m retry=5 retry-on=lost,any\n0 0 1 1 * ann\n"
	old := job.Run{ID: 1, Job: "backup", User: "zoe", Due: noon.Add(-time.Hour), Attempt: 1, State: job.RunRunning, Decided: noon.Add(-time.Hour), Started: noon.Add(-time.Hour)}
	waiting := old
	waiting.ID, waiting.State, waiting.Reason, waiting.Started = 2, job.RunWaiting, job.WaitsForRetry, time.Time{}
	for _, adopted := range [][]Adopted{nil, {{Run: 1, PID: 77, Up: time.Minute}}} {
		e := New(State{LastSeen: noon, NextRun: 3, Live: []job.Run{old, waiting}, Adopted: adopted})
		effects := e.Step(atNoon(), event.Load{Crontabs: []*crontab.File{crontabOf("ann", anns)}})
		effects = append(effects, e.Step(atNoon())...)
		if kills := killsOf(effects); len(kills) > 0 {
			t.Errorf("ann's timeout= sent %v to zoe's run", kills)
		}
		if got := recordsOf(effects, job.Queued); len(got) > 0 {
			t.Errorf("ann's options made another attempt of zoe's run: %+v", got)
		}
		for _, x := range effects {
			if n, ok := x.(effect.Notify); ok {
				t.Errorf("ann's channel is told of zoe's run: %+v", n.Notice)
			}
		}
		if got := recordsOf(effects, job.Dropped); len(got) != 1 || got[0].Reason != job.JobRemoved {
			t.Errorf("of the run that waited: %+v, want it dropped as its job is gone", got)
		}
	}
}

// If a name passes to another user and back, the job has its earlier state again.
func TestNameThatComesBackBringsItsStreak(t *testing.T) {
	e := New(State{NextRun: 1})
	const job1 = "#@ name=backup breaker=1/6h max-run=1s expect=1d\n* * * * * zoe\n"
	now := job.Moment{Wall: noon.Add(-90 * time.Second), Up: time.Hour}
	step := func(d time.Duration, events ...event.Event) []effect.Effect {
		now.Wall, now.Up = now.Wall.Add(d), now.Up+d
		return e.Step(now, events...)
	}
	zoes, anns := event.Load{Crontabs: []*crontab.File{crontabOf("zoe", job1)}}, event.Load{Crontabs: []*crontab.File{crontabOf("ann", "#@ name=backup breaker=1/1m\n* * * * * ann\n")}}
	step(0, zoes)
	for run, load := range []event.Load{anns, zoes} {
		if got := startsOf(step(time.Minute)); len(got) != 1 {
			t.Fatalf("started %q, want one run", got)
		}
		step(0, event.Started{Run: job.RunID(run + 1), PID: 77})
		step(time.Second, event.Ended{Run: job.RunID(run + 1), Outcome: job.Outcome{Kind: job.Exited, Code: 1 - run}})
		step(time.Second, load)
	}
	if got := e.View().Problems(0); got.Bad != 1 || got.Broken.IsZero() {
		t.Errorf("trouble of zoe's job: %+v, want its breaker open after one failure", got)
	}
	if got := startsOf(step(time.Minute)); len(got) > 0 {
		t.Errorf("started %q, want zoe's breaker to hold", got)
	}
}

package spawn

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
)

// check starts a check command and waits for its result.
func (r *testSpawner) check(command string, edit ...func(*effect.Start)) job.Outcome {
	r.t.Helper()
	id := r.ask(command, edit...)
	r.until("an answer", func() bool { return r.checked[id].Kind != "" })
	return r.checked[id]
}

func (r *testSpawner) ask(command string, edit ...func(*effect.Start)) job.RunID {
	r.last++
	start := effect.Start{
		Job: job.Job{ID: "test.job", User: ownName(), Zone: "UTC", Command: "exit 99", Stdin: "not for it", Env: []string{"HOME=/"}},
		Run: job.Run{ID: r.last, Attempt: 1, Trigger: job.TriggerClock, Due: time.Unix(1_700_000_000, 0)},
	}
	for _, e := range edit {
		e(&start)
	}
	r.spawner.Check(effect.Check{Start: start, Command: command})
	return r.last
}

func TestCheckAnswers(t *testing.T) {
	r := newTestSpawner(t, Options{Runs: t.TempDir()})
	me := accountOf(t, somebody())
	for command, want := range map[string]job.Outcome{
		"exit 0":  exited(0),
		"exit 7":  exited(7),
		"read x":  exited(1), // standard input is empty
		"kill $$": {Kind: job.Signalled, Signal: int(syscall.SIGTERM)},
		fmt.Sprintf("echo said; test $(id -u) = %d", me.UID) + " && test $PWD = /tmp && test $CRONRING_JOB = test.job && test $X = 1": exited(0),
	} {
		if got := r.check(command, as(me.Name), env("HOME=/tmp", "X=1")); got != want {
			t.Errorf("%s: got %+v, want %+v", command, got, want)
		}
	}
	if len(r.started) > 0 || len(r.ended) > 0 {
		t.Errorf("a check was told of as a run: %v, %v", r.started, r.ended)
	}
}

func TestCheckEndsByKill(t *testing.T) {
	r := newTestSpawner(t, Options{})
	id := r.ask("exec sleep 1000")
	r.spawner.Kill(effect.Kill{Run: id, Signal: syscall.SIGKILL})
	r.until("an answer", func() bool { return r.checked[id].Kind != "" })
	if r.checked[id].OK() {
		t.Errorf("outcome %+v of a check that was ended", r.checked[id])
	}
	if got := r.do("exit 5"); got.Outcome.Code != 5 {
		t.Errorf("the next run ended as %+v", got.Outcome)
	}
}

func TestCheckHasATimeLimit(t *testing.T) {
	r := newTestSpawner(t, Options{})
	r.spawner.checkTime = time.Millisecond
	if got, want := r.check("exec sleep 1000"), (job.Outcome{Kind: job.TimedOut, Signal: 9}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestCheckIsAskedAgainAfterAHold(t *testing.T) {
	r := newTestSpawner(t, Options{})
	g := newGate(t)
	begun := newGate(t)
	id := r.ask("echo >" + begun.path + "; " + g.command() + "; exit 6")
	begun.read("the check's word that it runs")
	starts := r.hold(t.Context())
	if children := r.spawner.Handover(); len(children) > 0 || len(starts) > 0 {
		t.Errorf("a check is handed over: %+v, %+v", children, starts)
	}
	r.spawner.Resume()
	g.open(2) // the killed process may take a line with it
	r.until("an answer", func() bool { return r.checked[id].Kind != "" })
	if got := r.checked[id]; got != exited(6) {
		t.Errorf("got %+v, want that of the second time", got)
	}
}

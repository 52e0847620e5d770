package spawn

import (
	"math"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// lateText is the output of a run's background processes after its end.
func (r *testSpawner) lateText(id job.RunID, name job.Stream) string {
	return text(Ended{Output: r.late[id]}, name)
}

// What a job leaves in the background lives on, as under cron, and what it
// prints is kept.
func TestBackgroundProcessOutlivesTheRun(t *testing.T) {
	r := newTestSpawner(t, Options{Linger: time.Millisecond})
	wait, alive := newGate(t), newGate(t)
	id := r.start("echo early; (" + wait.command() + "; echo late; echo LATE >&2; " + wait.command() + "; echo later; echo alive >" + alive.path + ") & exit 3")
	e := r.await(id)
	wantOutcome(t, e, exited(3))
	if got := text(e, job.Stdout); got != "early\n" || !e.Late {
		t.Fatalf("output %q, late %v; want what came before the end, and more to follow", got, e.Late)
	}
	wait.open(1)
	r.until("its output", func() bool { return r.lateText(id, job.Stdout) != "" && r.lateText(id, job.Stderr) != "" })
	wait.open(1)
	alive.read("a sign of life of the background process")
	r.until("its end", func() bool { return r.over[id] })
	if out, err := r.lateText(id, job.Stdout), r.lateText(id, job.Stderr); out != "late\nlater\n" || err != "LATE\n" {
		t.Errorf("late output %q and %q", out, err)
	}
	if held := r.spawner.tails.Held(ownName()); held != 0 && ownName() != "root" {
		t.Errorf("%d descriptors are still counted", held)
	}
}

// A background process that prints without end is read, so that it does not
// stop, but only a limited part of its output is kept.
func TestBackgroundProcessPrintsMoreThanIsKept(t *testing.T) {
	r := newTestSpawner(t, Options{Linger: time.Millisecond, Output: 4 << 10})
	wait, alive := newGate(t), newGate(t)
	flood := "i=0; while [ $i -lt 50 ]; do printf '%4096s' x; i=$((i+1)); done"
	id := r.start("(" + wait.command() + "; " + flood + "; " + wait.command() + "; " + flood + "; echo alive >" + alive.path + ") &")
	r.await(id)
	wait.open(1)
	r.until("its output", func() bool { return strings.Contains(r.lateText(id, job.System), lateFull) })
	wait.open(1)
	alive.read("a sign of life of the background process")
	r.until("its end", func() bool { return r.over[id] })
	if got := len(r.lateText(id, job.Stdout)); got == 0 || got > 4<<10 {
		t.Errorf("%d bytes of late output are kept, want some and at most 4096", got)
	}
}

// On a busy machine a process may have started, ended and lingered before its start is
// reported. What it left in the background lives on all the same.
func TestBackgroundProcessOfARunThatEndsBeforeItsStartIsReported(t *testing.T) {
	began := make(chan job.RunID, 10)
	r := newTestSpawnerWithQueue(t, Options{Linger: 1, Began: func(id job.RunID, _ int) { began <- id }}, 0)
	other, wait, alive := newGate(t), newGate(t), newGate(t)
	r.start(other.command())
	select { // the reader reports its start until the test receives that
	case <-began:
	case <-time.After(patience):
		t.Fatal("the other run does not start")
	}
	id := r.start("(" + wait.command() + "; echo late; echo alive >" + alive.path + ") &")
	r.awaitLingered()
	if e := r.await(id); !e.Late {
		t.Error("nothing is said to follow")
	}
	wait.open(1)
	alive.read("a sign of life of the background process")
	r.until("its end", func() bool { return r.over[id] })
	if got := r.lateText(id, job.Stdout); got != "late\n" {
		t.Errorf("late output %q", got)
	}
	other.open(1)
}

// awaitLingered waits until the process of a run has ended, and Options.Linger has passed since.
func (r *testSpawner) awaitLingered() {
	poll(r.t, "the end of the process", func() bool {
		r.spawner.mu.Lock()
		defer r.spawner.mu.Unlock()
		l := r.spawner.reader.lingering
		return len(l) == 1 && hasPassed(l[0].until)
	})
}

// On a busy machine, the end of a run's output may be read late, and the reason why its file cannot be written,
// too. No process was left in the background.
func TestRunWhoseOutputIsReadLateIsOver(t *testing.T) {
	g := newGate(t)
	var r *testSpawner
	once := sync.OnceFunc(func() { // while the reader waits
		poll(t, "the end of the process of the file", func() bool {
			r.spawner.mu.Lock()
			defer r.spawner.mu.Unlock()
			return len(r.spawner.logs) == 0
		})
		g.open(1)
		r.awaitLingered()
	})
	r = newTestSpawner(t, Options{Linger: 1, Live: func(job.Chunk) { once() }})
	e := r.do("echo well; "+g.command()+"; echo done", entry(t, "#@ log=file:/no/where", crontab.User))
	if e.Late || text(e, job.Stdout) != "well\ndone\n" || !strings.Contains(text(e, job.System), "no such file") {
		t.Errorf("late %v, output %q and %q; want all of it, and nothing to follow", e.Late, text(e, job.Stdout), text(e, job.System))
	}
}

// The descriptors of background processes are limited, so that those of one user
// do not keep the jobs of others from having their output read. Beyond that they
// are read slowly, and neither stop nor end.
func TestBackgroundProcessesBeyondTheShare(t *testing.T) {
	dir := t.TempDir()
	r := newTestSpawner(t, Options{Linger: time.Millisecond, Runs: dir, Output: 128 << 10})
	r.do("true")
	r.spawner.tails.Add(ownName(), math.MaxInt32)
	wait, alive := newGate(t), newGate(t)
	id := r.start("(" + wait.command() + "; printf '%100000s' x; echo alive >" + alive.path + ") & exit 3")
	e := r.await(id)
	wantOutcome(t, e, exited(3))
	if !e.Late || !strings.Contains(text(e, job.System), lateSlow) {
		t.Errorf("late %v, words %q; want a warning", e.Late, text(e, job.System))
	}
	wait.open(1)
	alive.read("a sign of life of the background process")
	r.until("its end", func() bool { return r.over[id] })
	if got := len(r.lateText(id, job.Stdout)); got < 64<<10 { // what it prints last may be lost
		t.Errorf("%d bytes of late output, want at least what a pipe holds", got)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("files are left: %v", left)
	}
}

// A file of log= has what background processes print as well.
func TestBackgroundProcessPrintsIntoItsLog(t *testing.T) {
	r := newTestSpawner(t, Options{Linger: time.Millisecond})
	g := newGate(t)
	path := t.TempDir() + "/log"
	id := r.start("echo early; ("+g.command()+"; echo late) &", entry(t, "#@ log=file:"+path, crontab.User))
	r.await(id)
	g.open(1)
	r.until("its end", func() bool { return r.over[id] })
	poll(t, "the file", func() bool {
		got, _ := os.ReadFile(path)
		return string(got) == "early\nlate\n"
	})
}

package spawn

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/handed"
	"github.com/cronring/cronring/daemon/spawn/pipe"
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

// A process that collects the pipes of ended runs keeps no more files in Options.Runs than its user's
// share: runs beyond that have pipes without names.
func TestBackgroundProcessesLeaveFewFiles(t *testing.T) {
	dir := t.TempDir()
	r := &testSpawner{t: t, spawner: New(Options{Linger: time.Millisecond, Runs: dir}), started: map[job.RunID]int{}, ended: map[job.RunID]Ended{},
		late: map[job.RunID][]job.Chunk{}, over: map[job.RunID]bool{}}
	r.spawner.slow = budget.New(4, 2) // two of each user
	r.run()
	r.do("true")
	r.spawner.tails.Add(ownName(), math.MaxInt32)
	g := newGate(t)
	var kept []job.RunID
	for i := range 5 {
		id := r.start(g.command() + " & echo early")
		e := r.await(id)
		if e.Late {
			kept = append(kept, id)
		}
		if words := text(e, job.System); e.Late != (i < 2) || strings.Contains(words, lateShut) == e.Late || text(e, job.Stdout) != "early\n" {
			t.Errorf("run %d: late %v, output %q and %q; want two runs with late output, and a warning for the others", id, e.Late, text(e, job.Stdout), words)
		}
	}
	if files, _ := filepath.Glob(dir + "/*.out"); len(files) != 2 {
		t.Errorf("%d runs have pipes with names, want 2: %v", len(files), files)
	}
	g.open(5)
	for _, id := range kept {
		r.until("the ends", func() bool { return r.over[id] })
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("files are left: %v", left)
	}
	r.awaitStart(r.start(g.command()))
	if files, _ := filepath.Glob(dir + "/*.out"); len(files) != 1 {
		t.Errorf("%d runs have pipes with names when the share is free again, want 1", len(files))
	}
	g.open(1)
}

// A user can have many live runs when the share is used up. Their pipes have names, and yet there are no
// more tails than the share allows.
func TestRunsThatEndTogetherDoNotExceedTheShare(t *testing.T) {
	dir := t.TempDir()
	r := &testSpawner{t: t, spawner: New(Options{Linger: time.Millisecond, Runs: dir}), started: map[job.RunID]int{}, ended: map[job.RunID]Ended{},
		late: map[job.RunID][]job.Chunk{}, over: map[job.RunID]bool{}}
	r.spawner.slow = budget.New(4, 2) // two of each user
	r.run()
	r.do("true")
	r.spawner.tails.Add(ownName(), math.MaxInt32)
	live, background := newGate(t), newGate(t)
	var ids []job.RunID
	for range 5 {
		id := r.start(background.command() + " & " + live.command())
		r.awaitStart(id)
		ids = append(ids, id)
	}
	live.open(5)
	var kept []job.RunID
	for _, id := range ids {
		e := r.await(id)
		if e.Late {
			kept = append(kept, id)
		}
		if words := text(e, job.System); strings.Contains(words, lateShut) == e.Late {
			t.Errorf("run %d: late %v, words %q", id, e.Late, words)
		}
	}
	if len(kept) != 2 {
		t.Errorf("%d runs have late output, want 2", len(kept))
	}
	background.open(5)
	for _, id := range kept {
		r.until("the ends", func() bool { return r.over[id] })
	}
}

// The tails of another daemon are all taken over, with what was printed before and after. They count
// against the share, so that further runs have pipes without names.
func TestAdoptedTailsUseTheShare(t *testing.T) {
	dir := t.TempDir()
	r := &testSpawner{t: t, spawner: New(Options{Linger: time.Millisecond, Runs: dir}), started: map[job.RunID]int{}, ended: map[job.RunID]Ended{},
		late: map[job.RunID][]job.Chunk{}, over: map[job.RunID]bool{}}
	s := r.spawner
	s.slow = budget.New(4, 2) // two of each user
	s.tails.Add(ownName(), math.MaxInt32)
	ids := []job.RunID{11, 12, 13}
	var from []handed.Run
	var writers []int
	for _, id := range ids {
		var io pipe.Stdio
		if err := io.OpenNamed(s.dir.Base(id), nil); err != nil {
			t.Fatal(err)
		}
		for _, fd := range []int{io.Ours[0], io.Ours[1], io.Child[2]} {
			syscall.Close(fd)
		}
		writers = append(writers, io.Child[1]) // that of a background process
		if _, err := syscall.Write(io.Child[1], []byte("before\n")); err != nil {
			t.Fatal(err)
		}
		r.ended[id] = Ended{Late: true}
		from = append(from, handed.Run{Run: id, User: ownName(), Tail: true, OutputMax: 4 << 10})
	}
	s.Adopt(from)
	if s.slow.Fits(ownName(), 1) {
		t.Error("adopted tails do not count against the share")
	}
	r.run()
	for i, id := range ids {
		r.until("what was printed before", func() bool { return r.lateText(id, job.Stdout) == "before\n" })
		if _, err := syscall.Write(writers[i], []byte("after\n")); err != nil {
			t.Fatal(err)
		}
		r.until("what was printed after", func() bool { return r.lateText(id, job.Stdout) == "before\nafter\n" })
		syscall.Close(writers[i])
		r.until("the end", func() bool { return r.over[id] })
	}
	if !s.slow.Fits(ownName(), 1) {
		t.Error("ended tails still count against the share")
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("files are left: %v", left)
	}
}

// A tail whose descriptors come from the previous daemon needs no name.
func TestAdoptedTailOfPipesWithoutNames(t *testing.T) {
	r := &testSpawner{t: t, spawner: New(Options{Linger: time.Millisecond, Runs: t.TempDir()}), started: map[job.RunID]int{}, ended: map[job.RunID]Ended{},
		late: map[job.RunID][]job.Chunk{}, over: map[job.RunID]bool{}}
	r.spawner.tails.Add(ownName(), math.MaxInt32)
	ends, err := pipe.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := syscall.Write(ends[1], []byte("before\n")); err != nil {
		t.Fatal(err)
	}
	r.ended[11] = Ended{Late: true}
	r.spawner.Adopt([]handed.Run{{Run: 11, User: ownName(), Tail: true, OutputMax: 4 << 10, Out: ends[0]}})
	r.run()
	r.until("what was printed before", func() bool { return r.lateText(11, job.Stdout) == "before\n" })
	syscall.Close(ends[1])
	r.until("the end", func() bool { return r.over[11] })
}

// Where names cannot be made, output pipes have none, and nothing can read them slowly.
func TestPipesWithoutNamesAreNotReadSlowly(t *testing.T) {
	dir := t.TempDir()
	r := newTestSpawner(t, Options{Linger: time.Millisecond, Runs: dir})
	r.do("true")
	r.spawner.tails.Add(ownName(), math.MaxInt32)
	if err := os.MkdirAll(filepath.Join(dir, "2.err", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	g := newGate(t)
	e := r.await(r.start(g.command() + " & echo early"))
	if words := text(e, job.System); e.Late || !strings.Contains(words, lateShut) {
		t.Errorf("late %v, words %q; want that the output is closed", e.Late, words)
	}
	if files, _ := filepath.Glob(dir + "/2.out"); len(files) != 0 {
		t.Errorf("a pipe without a reader is left: %v", files)
	}
	g.open(1)
}

// The pipes of an adopted run have no names if the previous daemon could not make them.
func TestAdoptedPipesHaveNamesOnlyWithTheirFiles(t *testing.T) {
	dir := t.TempDir()
	s := New(Options{Runs: dir})
	if err := os.WriteFile(s.dir.Base(2)+pipe.OutSuffix, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for run, want := range map[job.RunID]bool{1: false, 2: true} {
		if c := s.adopted(&handed.Run{Run: run}); c.named != want {
			t.Errorf("run %d has names: %t, want %t", run, c.named, want)
		}
	}
}

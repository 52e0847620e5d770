package spawn

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/starter"
)

func TestOutcomeOfEveryExitCode(t *testing.T) {
	r := newTestSpawner(t, Options{})
	ids := make([]job.RunID, 256)
	for code := range ids {
		ids[code] = r.start(fmt.Sprintf("exit %d", code))
	}
	for code, id := range ids {
		wantOutcome(t, r.await(id), exited(code))
	}
}

func TestOutcomeOfSignals(t *testing.T) {
	r := newTestSpawner(t, Options{})
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL, syscall.SIGPIPE, syscall.SIGHUP, syscall.SIGSEGV, 34} {
		e := r.do(fmt.Sprintf("ulimit -c 0; kill -%d $$", sig))
		wantOutcome(t, e, job.Outcome{Kind: job.Signalled, Signal: int(sig)})
	}
}

func TestStartWithoutShell(t *testing.T) {
	r := newTestSpawner(t, Options{})
	for _, shell := range []string{"/nonexistent/shell", "/etc/passwd", "/dev/null/x", "/"} {
		e := r.do("true", env("SHELL="+shell))
		if e.Outcome.Kind != job.NotStarted || !strings.HasPrefix(e.Outcome.Error, "run SHELL "+shell+": ") {
			t.Errorf("SHELL=%s: outcome %+v, want one not started, with the shell and the reason", shell, e.Outcome)
		}
		if len(e.Output) != 1 || e.Output[0].Stream != job.Stderr || !strings.HasPrefix(string(e.Output[0].Data), shell+": execle: ") {
			t.Errorf("SHELL=%s: output %+v, want cron's words on that, which are mailed", shell, e.Output)
		}
		if r.started[e.Run] != 0 {
			t.Errorf("SHELL=%s: reported as started", shell)
		}
	}
	wantOutcome(t, r.do("exit 4", env("SHELL=")), exited(4))
}

func TestStartWithTooLongCommand(t *testing.T) {
	r := newTestSpawner(t, Options{})
	e := r.do(": " + strings.Repeat("x", 1<<20))
	if e.Outcome.Kind != job.NotStarted || !strings.Contains(e.Outcome.Error, "too long") {
		t.Errorf("outcome %+v, want one not started that says too long", e.Outcome)
	}
}

func TestKillReachesTheWholeGroup(t *testing.T) {
	ready := make(chan struct{}, 1)
	r := newTestSpawner(t, Options{
		Linger: time.Hour, // so that the end proves that no process holds the pipes
		Live:   func(job.Chunk) { ready <- struct{}{} },
	})
	id := r.start("sleep 1000 & sleep 1000 & (sleep 1000; echo no) & echo ready; wait")
	r.awaitStart(id)
	receive(r, "the line that says ready", ready)
	r.spawner.Kill(effect.Kill{Run: id, Signal: syscall.SIGTERM})
	wantOutcome(t, r.await(id), job.Outcome{Kind: job.Signalled, Signal: int(syscall.SIGTERM)})
}

func TestKillBeforeTheStart(t *testing.T) {
	r := &testSpawner{t: t, spawner: New(Options{}), started: map[job.RunID]int{}, ended: map[job.RunID]Ended{}}
	stopped := r.start("true")
	other := r.start("true")
	r.spawner.Kill(effect.Kill{Run: stopped, Signal: syscall.SIGTERM})
	r.run()
	wantOutcome(t, r.await(stopped), job.Outcome{Kind: job.NotStarted, Error: "stopped before it started"})
	wantOutcome(t, r.await(other), exited(0))
}

func TestKillOfAnEndedOrUnknownRun(t *testing.T) {
	r := newTestSpawner(t, Options{})
	e := r.do("true")
	r.spawner.Kill(effect.Kill{Run: e.Run, Signal: syscall.SIGKILL})
	r.spawner.Kill(effect.Kill{Run: 4711, Signal: syscall.SIGKILL})
	wantOutcome(t, r.do("true"), exited(0))
}

func TestRunStopsStartingButWaitsForRuns(t *testing.T) {
	r := newTestSpawner(t, Options{})
	g := newGate(t)
	running := r.start(g.command() + "; exit 3")
	r.awaitStart(running)
	r.cancel()
	// A run given after the end of ctx is refused, once the process loop has seen it:
	// until then it is started as any other.
	var refused Ended
	poll(t, "a run that is refused", func() bool {
		refused = r.do("true")
		return refused.Outcome.Kind == job.NotStarted
	})
	wantOutcome(t, refused, job.Outcome{Kind: job.NotStarted, Error: "the daemon is stopping"})
	select {
	case <-r.done:
		t.Fatalf("Run returned %v while a run was going", r.err)
	default:
	}
	g.open(1)
	wantOutcome(t, r.await(running), exited(3))
	r.stop()
}

func TestRunLeavesNothingBehind(t *testing.T) {
	newTestSpawner(t, Options{}).stop() // what os/signal and the poller keep for ever
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	r := newTestSpawner(t, Options{})
	for range 20 {
		r.start("echo a; echo b >&2", stdin("text"))
		r.start("true", env("SHELL=/nonexistent"))
	}
	r.until("the ends", func() bool { return len(r.ended) == 40 })
	r.stop()
	if got := openFiles(t); got > files { // fewer if the garbage collector has closed some of an earlier test
		t.Errorf("%d files are open after Run, %d before", got, files)
	}
	// The caller of Run may still be about to return.
	poll(t, fmt.Sprintf("no more goroutines than the %d before Run", goroutines), func() bool { return runtime.NumGoroutine() <= goroutines })
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestSlowReceiverLosesNothing(t *testing.T) {
	r := newTestSpawnerWithQueue(t, Options{}, 256)
	const n = 600 // more than twice what the channel holds
	for i := range n {
		r.start(fmt.Sprintf("echo %d; exit %d", i, i%7))
	}
	poll(t, "a full channel, as nobody receives", func() bool { return len(r.spawner.events) == cap(r.spawner.events) })
	r.until("the ends", func() bool { return len(r.ended) == n })
	for i := range n {
		e := r.ended[job.RunID(i+1)]
		wantOutcome(t, e, exited(i%7))
		if got, want := text(e, job.Stdout), fmt.Sprintf("%d\n", i); got != want {
			t.Fatalf("run %d printed %q, want %q", e.Run, got, want)
		}
	}
}

func TestThreadsAndGoroutinesStayFlat(t *testing.T) {
	r := newTestSpawner(t, Options{})
	wantOutcome(t, r.do("echo warm"), exited(0))
	goroutines, threads := runtime.NumGoroutine(), status(t, "Threads")
	const n = 200
	g := newGate(t)
	for range n {
		r.start(g.command())
	}
	r.until("the starts", func() bool { return len(r.started) == n+1 })
	if got := runtime.NumGoroutine(); got > goroutines+n/4 {
		t.Errorf("%d goroutines with %d sleeping children, %d without", got, n, goroutines)
	}
	if got := status(t, "Threads"); got > threads+n/4 {
		t.Errorf("%d threads with %d sleeping children, %d without", got, n, threads)
	}
	g.open(n)
	r.until("the ends", func() bool { return len(r.ended) == n+1 })
}

// TestThousandsOfSleepingJobs of cmd/cronringd has more, with the daemon around
// them.
func TestManySleepers(t *testing.T) {
	needRoot(t, "have so many processes on every host")
	n := 1_000
	if os.Getenv("CRONRING_LONG") != "" {
		n = 10_000
	}
	r := newTestSpawner(t, Options{})
	g := newGate(t)
	before := heap()
	begun := time.Now()
	for i := range n {
		r.start(fmt.Sprintf("%s; exit %d", g.command(), i%256))
	}
	r.until("the starts", func() bool { return len(r.started) == n })
	took := time.Since(begun)
	threads, each := status(t, "Threads"), (heap()-before)/n
	if threads >= 50 {
		t.Errorf("%d threads, want fewer than 50", threads)
	}
	if each >= 2<<10 {
		t.Errorf("%d bytes of heap for each sleeper, want less than 2 kB", each)
	}
	if len(r.ended) != 0 {
		t.Errorf("%d ended before the gate was opened", len(r.ended))
	}
	opened := time.Now()
	g.open(n)
	r.until("the ends", func() bool { return len(r.ended) == n })
	t.Logf("%d started in %v (%.0f/s), all reaped %v after the gate opened; %d threads, %d bytes of heap each, %d goroutines",
		n, took.Round(time.Millisecond), float64(n)/took.Seconds(), time.Since(opened).Round(time.Millisecond),
		threads, each, runtime.NumGoroutine())
	lost := 0
	for i := range n {
		e := r.ended[job.RunID(i+1)]
		if e.Outcome != exited(i%256) {
			t.Fatalf("run %d: outcome %+v, want exit %d", e.Run, e.Outcome, i%256)
		}
		if len(e.Output) > 0 {
			lost++
		}
	}
	if room := int(r.spawner.files.Pipes.Load()) / 2; lost != max(n-room, 0) {
		t.Errorf("%d runs without a pipe for their output, want %d: there is room for %d", lost, max(n-room, 0), room)
	}
}

// heap is the size of the program's own memory in bytes: unlike the resident memory of the process
// it is the same with the race detector, which adds shadow memory.
func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestOrphansArePID1s runs a Spawner as PID 1 of a namespace.
func TestOrphansArePID1s(t *testing.T) {
	needRoot(t, "make a namespace of processes")
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := process(t, "unshare", "-fp", "--mount-proc", binary, "-test.run=^TestAsPID1$", "-test.v")
	cmd.Env = append(cmd.Env, "SPAWN_TEST_PID1=yes")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestAsPID1") {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
}

func TestAsPID1(t *testing.T) {
	if os.Getenv("SPAWN_TEST_PID1") == "" {
		t.Skip("TestOrphansArePID1s runs this")
	}
	if pid := os.Getpid(); pid != 1 {
		t.Fatalf("pid %d, want 1", pid)
	}
	r := newTestSpawner(t, Options{Linger: time.Millisecond})
	g := newGate(t)
	e := r.do("(" + g.command() + "; exit 9) & echo $!; exit 2")
	wantOutcome(t, e, exited(2))
	orphan := strings.TrimSpace(text(e, job.Stdout))
	g.open(1)
	// kill -0 finds a dead process too, until it is reaped.
	wantOutcome(t, r.do("while kill -0 "+orphan+" 2>/dev/null; do :; done"), exited(0))
}

// On a busy host a process can be reaped before the reader sees that it runs: its run
// must not take less than no time.
func TestStartIsNotLaterThanTheEnd(t *testing.T) {
	s := New(Options{})
	ended := now().Add(-time.Second)
	for _, c := range []*child{{run: 1, progress: &starter.Progress{}, ended: ended}, {run: 2, progress: &starter.Progress{}}} {
		s.endStart(c)
		if at := (<-s.events).(event.Started).At; at.After(ended) != c.ended.IsZero() {
			t.Errorf("run %d began at %s, and the first ended at %s", c.run, at, ended)
		}
	}
}

// A receiver of a start can identify the process, even if it lives only briefly and the goroutine
// that reads all output is busy.
func TestBeganIsCalledBeforeTheProcessIsReaped(t *testing.T) {
	began := make(chan job.RunID, 10)
	reading, read := make(chan bool, 10), make(chan bool)
	r := newTestSpawner(t, Options{
		Began: func(run job.RunID, pid int) {
			if err := syscall.Kill(pid, 0); err != nil {
				t.Errorf("process %d of run %d: %v", pid, run, err)
			}
			began <- run
		},
		Live: func(job.Chunk) { reading <- true; <-read },
	})
	long := r.start("echo up; exec sleep 1000")
	if got := receive(r, "the first start", began); got != long {
		t.Fatalf("run %d began, want %d", got, long)
	}
	receive(r, "the first line", reading)
	short := r.start("exit 0")
	if got := receive(r, "the start of a run that nobody reads", began); got != short {
		t.Errorf("run %d began, want %d", got, short)
	}
	close(read)
	r.await(short)
	wantOutcome(t, r.do("true", env("SHELL=/nowhere")), job.Outcome{Kind: job.NotStarted, Error: "run SHELL /nowhere: no such file or directory"})
	if got := receive(r, "the start of a run without SHELL", began); got != r.last {
		t.Errorf("run %d began, want %d", got, r.last)
	}
	if len(began) > 0 {
		t.Errorf("run %d began twice", <-began)
	}
}

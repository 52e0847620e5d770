package daemon

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/shim"
)

// shimHost is a host under a service manager, with a job that prints, waits
// at the gate and prints again.
func shimHost(t *testing.T) (h *testHost, gate *os.File) {
	h = newTestHost(t)
	h.withManager()
	h.withMailer()
	gate = h.fifo("gate")
	h.crontab("a", "echo one; read x <"+gate.Name()+"; echo two; echo three >&2; exit 3", "b", "echo quick",
		"long", "echo begun; read x <"+gate.Name()+"; i=0; while [ $i -lt 5000 ]; do echo $i; i=$((i+1)); done")
	h.start()
	return h, gate
}

// stopUnder stops a daemon whose jobs continue, like the service manager.
func (h *testHost) stopUnder() {
	h.t.Helper()
	h.stop()
	h.manager.empty()
}

// shim returns the process that holds the jobs. A process that it starts has its name too, until
// it executes its own program.
func (h *testHost) shim() int {
	h.t.Helper()
	for end := time.Now().Add(hostPatience); ; {
		pids := h.shims()
		if len(pids) == 1 {
			return pids[0]
		}
		if time.Now().After(end) {
			h.t.Fatalf("%d shims are there, want one", len(pids))
		}
	}
}

func TestShimSeesEndsWhileNoDaemonIsThere(t *testing.T) {
	t.Parallel()
	h, gate := shimHost(t)
	a, long := h.run("a")[0], h.run("long")[0]
	h.printed(a.ID, "one")
	h.printed(long.ID, "begun")
	h.stopUnder()
	shim := h.shim()
	h.open(gate, 2)
	gone(t, shim) // it goes with the last of them
	h.start()
	h.wantRun(a.ID, "exit 3", "one\ntwo\nthree\n")
	r, out := h.ended(long.ID)
	if !r.Outcome.OK() || !strings.HasPrefix(out, "begun\n0\n1\n") || !strings.HasSuffix(out, "\n4999\n") {
		t.Errorf("a run with much output: %v, printed %d bytes that end in %q", r.Outcome, len(out), out[max(0, len(out)-20):])
	}
	letters := []string{h.letter(), h.letter()}
	for _, want := range []string{"\n\none\ntwo\nthree\n", "\n4998\n4999\n"} {
		if !slices.ContainsFunc(letters, func(l string) bool { return strings.HasSuffix(l, want) }) {
			t.Errorf("no letter ends in %q", want)
		}
	}
	h.stop()
	h.start() // what a shim wrote down stays until the next start
	h.stop()
	h.wantNoFilesOfRuns()
}

func TestShimGivesRunningJobsToTheNextDaemon(t *testing.T) {
	t.Parallel()
	h, gate := shimHost(t)
	a := h.run("a")[0]
	h.printed(a.ID, "one")
	h.stopUnder()
	first := h.shim()
	h.start()
	gone(t, first)
	h.stopUnder() // and once more
	second := h.shim()
	h.start()
	gone(t, second)
	h.renew()
	if r, err := h.client.OneRun(h.context(), a.ID.String()); err != nil || r.State != job.RunRunning {
		t.Errorf("the run is %s, error %v; want running", r.State, err)
	}
	h.open(gate, 1)
	h.wantRun(a.ID, "exit 3", "one\ntwo\nthree\n")
	if letter := h.letter(); !strings.HasSuffix(letter, "\n\none\ntwo\nthree\n") {
		t.Errorf("the letter is\n%s", letter)
	}
	h.stop()
	if pids := h.shims(); len(pids) != 0 {
		t.Errorf("shims %v are left with nothing to keep", pids)
	}
}

func TestShimIsNotLeftWhenNothingRuns(t *testing.T) {
	t.Parallel()
	h, _ := shimHost(t)
	h.do("b")
	h.stopUnder()
	if pids := h.shims(); len(pids) != 0 || exists(shim.Socket(h.path("run/cronring/runs"))) {
		t.Errorf("shims %v, or their socket, are left", pids)
	}
}

func TestSecondStopLeavesRunningJobsAlone(t *testing.T) {
	t.Parallel()
	h, gate := shimHost(t)
	a := h.run("a")[0]
	h.printed(a.ID, "one")
	h.signal(syscall.SIGTERM)
	h.signal(syscall.SIGINT)
	_ = h.cmd.Process.Signal(syscall.SIGTERM) // unless it has ended
	h.wait()
	h.manager.empty()
	h.start()
	h.open(gate, 1)
	h.wantRun(a.ID, "exit 3", "one\ntwo\nthree\n")
}

func TestKilledShimLosesNothing(t *testing.T) {
	t.Parallel()
	h, gate := shimHost(t)
	a := h.run("a")[0]
	h.printed(a.ID, "one")
	h.stopUnder()
	shim := h.shim()
	if err := syscall.Kill(shim, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	gone(t, shim)
	h.start()
	h.open(gate, 1)
	h.wantRun(a.ID, "exit 3", "one\ntwo\nthree\n")
	if r, _ := h.do("b"); !r.Outcome.OK() {
		t.Errorf("another job afterwards: %v", r.Outcome)
	}
}

func TestKilledDaemonFindsItsRunsInTheManagersStore(t *testing.T) {
	t.Parallel()
	h, gate := shimHost(t)
	over := h.fifo("over")
	h.write("etc/cron.d/more", "#@ name=ends\n0 0 1 1 * bob echo before; read x <"+over.Name()+"; echo after; exit 5\n")
	h.reload()
	w := h.watch()
	a, ends := h.run("a")[0], h.run("ends")[0]
	h.printed(a.ID, "one")
	h.printed(ends.ID, "before")
	h.manager.keeps("both runs", func(names []string) bool {
		return len(names) == 6 && slices.Contains(names, fmt.Sprint("run.", a.ID)) && slices.Contains(names, fmt.Sprint("run.", ends.ID))
	})
	pid := w.await("the start of ends", func(r job.Record) bool { return r.Kind == job.Started && r.Run.ID == ends.ID }).Run.PID
	h.signal(syscall.SIGKILL)
	h.wait()
	h.open(over, 1) // it ends while no daemon runs
	gone(t, pid)
	h.start()
	h.wantRun(ends.ID, "exit 5", "before\nafter\n")
	h.renew()
	h.open(gate, 1)
	h.wantRun(a.ID, "exit 3", "one\ntwo\nthree\n")
	if letters := h.letter() + h.letter(); !strings.Contains(letters, "\n\none\ntwo\nthree\n") || !strings.Contains(letters, "\n\nbefore\nafter\n") {
		t.Errorf("the letters are\n%s", letters)
	}
	h.manager.keeps("nothing of runs that are over", func(names []string) bool { return len(names) == 0 })
}

// Without a service manager the next daemon finds the runs by their processes
// and the names of their pipes.
func TestKilledDaemonWithoutManagerFindsItsRuns(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	gate, over := h.fifo("gate"), h.fifo("over")
	h.crontab("a", "echo one; read x <"+gate.Name()+"; echo two; exit 3",
		"over", "read x <"+over.Name()+"; echo never seen",
		"many", "echo one; read x <"+gate.Name()+"; i=0; while [ $i -lt 100 ]; do printf '\\%4096s' x; i=$((i+1)); done; exit 4",
		"slow timeout=1s stop-grace=1h", "exec sleep 1000", "b", "true")
	h.start()
	w := h.watch()
	a, over1, many, slow := h.run("a")[0], h.run("over")[0], h.run("many")[0], h.run("slow")[0]
	pids := map[job.RunID]int{}
	for range 4 {
		r := w.await("a start", func(r job.Record) bool { return r.Kind == job.Started })
		pids[r.Run.ID] = r.Run.PID
	}
	h.printed(a.ID, "one")
	h.printed(many.ID, "one")
	h.signal(syscall.SIGKILL)
	h.wait()
	h.open(over, 1)
	gone(t, pids[over1.ID])
	h.open(gate, 2) // one of the jobs prints more than a pipe holds, and waits for a daemon
	h.start()
	if r, _ := h.ended(slow.ID); r.Outcome.Kind != job.TimedOut {
		t.Errorf("a run with timeout=1s: %v", r.Outcome)
	}
	if r, out := h.ended(many.ID); r.PID != pids[many.ID] || len(out) != 4+100*4096 && !strings.Contains(out, "[cut ") {
		t.Errorf("a run that printed much is process %d, want %d; printed %d bytes", r.PID, pids[many.ID], len(out))
	}
	if r, _ := h.ended(over1.ID); r.Outcome.Kind != job.Lost && !r.Outcome.OK() { // known if it was not reaped by then
		t.Errorf("a run that ended while no daemon ran: %v", r.Outcome)
	}
	if r, out := h.ended(a.ID); !strings.HasPrefix(out, "one\n") {
		t.Errorf("a run whose daemon was killed: %v, printed %q", r.Outcome, out)
	}
	if r, _ := h.do("b"); !r.Outcome.OK() {
		t.Errorf("another job afterwards: %v", r.Outcome)
	}
	h.stop()
	if left, _ := os.ReadDir(h.path("run/cronring/runs")); len(left) != 0 {
		t.Errorf("files are left when all is over: %v", left)
	}
}

// A run that outlives its daemon is the same one: no second run of the job
// starts, and its end is recorded.
func TestKilledDaemonWithoutManagerDoublesNothing(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	gate, began := h.fifo("gate"), h.fifo("began")
	h.write("etc/crontab", "#@ name=a every=1s overlap=skip if-lost=rerun\n* * * * * ann echo up; echo $$ >"+began.Name()+"; read x <"+gate.Name()+"; echo done; exit 3\n")
	h.start()
	r := bufio.NewReader(began)
	first, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	started := h.runsOf("a")
	h.printed(started[len(started)-1].ID, "up") // else a crash may lose what the daemon is about to write down
	for range 3 {
		h.signal(syscall.SIGKILL)
		h.wait()
		h.start()
		w := h.watch()
		w.await("a skip", func(r job.Record) bool { return r.Decision == job.DecideSkip })
	}
	h.open(gate, 1)
	run := h.runsOf("a")
	got := h.wantRun(run[len(run)-1].ID, "exit 3", "up\ndone\n")
	if fmt.Sprintln(got.PID) != first || got.Attempt != 1 {
		t.Errorf("attempt %d is process %d, want the first one, %s", got.Attempt, got.PID, first)
	}
	if _, err := r.ReadString('\n'); err != nil { // the next occurrence, and none before it
		t.Fatal(err)
	}
	h.open(gate, 100)
	h.stop()
}

// TestJobsOutliveWhateverBecomesOfTheDaemon takes many jobs through all that
// happens to a service.
func TestJobsOutliveWhateverBecomesOfTheDaemon(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.withManager()
	gate := h.fifo("gate")
	const n = 200
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "#@ name=j%d\n0 0 1 1 * ann echo %d; read x <%s; echo end; exit %d\n", i, i, gate.Name(), i%100)
	}
	h.write("etc/crontab", text.String())
	h.start()
	w := h.watch()
	runs := h.run("*")
	for range runs {
		w.await("a start", func(r job.Record) bool { return r.Kind == job.Started })
	}
	h.stopUnder()
	h.start()
	h.manager.keeps("three descriptors of each", func(names []string) bool { return len(names) >= 3*n })
	h.renew()
	h.signal(syscall.SIGKILL)
	h.wait()
	h.start()
	h.stopUnder()
	h.start()
	if got := h.status().States[job.StateRunning]; got != n {
		t.Errorf("%d jobs run, want %d", got, n)
	}
	h.open(gate, n)
	for _, r := range runs {
		var i int
		if _, err := fmt.Sscanf(string(r.Job)[strings.LastIndex(string(r.Job), "j"):], "j%d", &i); err != nil {
			t.Fatal(err)
		}
		h.wantRun(r.ID, job.Outcome{Kind: job.Exited, Code: i % 100}.String(), fmt.Sprintf("%d\nend\n", i))
	}
	h.stop()
	for _, pid := range h.shims() {
		gone(t, pid) // the last may be on its way out
	}
}

package daemon

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
)

// A timeout ends all processes of a run: processes that clean up first have the grace period, and
// those that ignore the signal are killed after it.
func TestTimeoutEndsTheProcessGroup(t *testing.T) {
	for _, noGroups := range []bool{false, true} {
		t.Run(fmt.Sprint("without control groups=", noGroups), func(t *testing.T) {
			t.Parallel()
			h := newTestHost(t)
			h.NoGroups = noGroups
			gate := h.fifo("gate")
			h.crontab("stubborn timeout=10s stop-grace=1s", `sh -c 'trap "" TERM; echo $$; exec sleep 1000' & wait`,
				"tidy timeout=10s stop-grace=1d", `sh -c 'trap "" TERM; echo $$; read x <`+gate.Name()+`; echo cleaned up' & wait`)
			h.start()
			stubborn, _, pid := h.runIgnoringTerm("stubborn")
			if r, _ := h.ended(stubborn); r.Outcome.Kind != job.TimedOut {
				t.Errorf("a run with timeout=: %v", r.Outcome)
			}
			gone(t, pid)
			tidy, leader, _ := h.runIgnoringTerm("tidy")
			gone(t, leader)
			h.open(gate, 1)
			if r, out := h.ended(tidy); r.Outcome.Kind != job.TimedOut || !strings.HasSuffix(out, "\ncleaned up\n") {
				t.Errorf("a run that cleans up: %v, output %q", r.Outcome, out)
			}
			h.stop()
		})
	}
}

// runIgnoringTerm starts a job whose second process ignores TERM and then prints its number, and
// returns the run and its two processes. On a busy machine timeout= can end a run before that: then
// it starts another one.
func (h *testHost) runIgnoringTerm(ref string) (id job.RunID, leader, other int) {
	h.t.Helper()
	for ended := true; ended; {
		id = h.run(ref)[0].ID
		var text string
		text, ended = h.follow(id, func(text string) bool { return strings.HasSuffix(text, "\n") })
		_, _ = fmt.Sscan(text, &other)
	}
	return id, h.process(id), other
}

// withoutInit runs a test again in a process that adopts orphans and does not wait for them, like
// process 1 of some containers. It returns true in that process.
func withoutInit(t *testing.T) bool {
	t.Helper()
	const variable = "CRONRING_TEST_WITHOUT_INIT"
	if os.Getenv(variable) != "" {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			t.Fatal(err)
		}
		return true
	}
	hosttest.Root(t, "the daemon of a host is root's, and starts jobs as others")
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), variable+"=yes")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// Runs that survived their daemon end when their processes end, even if they are never reaped,
// such as in containers whose process 1 does not wait for orphans.
func TestRunsOfKilledDaemonEndWithoutInit(t *testing.T) {
	if !withoutInit(t) {
		return
	}
	h := newTestHost(t)
	gate, over := h.fifo("gate"), h.fifo("over")
	h.crontab("a", "echo one; read x <"+gate.Name()+"; echo two; exit 3",
		"over", "echo one; read x <"+over.Name()+"; exit 4",
		"stopped stop-grace=1d", "echo one; sleep 1000 & sleep 1000")
	h.start()
	w := h.watch()
	a, over1, stopped := h.run("a")[0], h.run("over")[0], h.run("stopped")[0]
	pids := map[job.RunID]int{}
	for range 3 {
		r := w.await("a start", func(r job.Record) bool { return r.Kind == job.Started })
		pids[r.Run.ID] = r.Run.PID
	}
	for _, r := range []job.Run{a, over1, stopped} {
		h.printed(r.ID, "one")
	}
	h.signal(syscall.SIGKILL)
	h.wait()
	h.open(over, 1)
	gone(t, pids[over1.ID])
	h.start()
	h.wantRun(over1.ID, "exit 4", "one\n")
	h.open(gate, 1)
	h.wantRun(a.ID, "exit 3", "one\ntwo\n")
	if _, err := h.client.Stop(h.context(), api.StopRequest{Refs: []string{stopped.ID.String()}}); err != nil {
		t.Fatal(err)
	}
	h.wantRun(stopped.ID, "signal 15", "one\n")
	h.stop()
}

// In most containers root may not read how a process of another user ended.
func TestRunsOfKilledDaemonAreLostWithoutInit(t *testing.T) {
	if !withoutInit(t) {
		return
	}
	runtime.LockOSThread() // it starts the daemon
	if err := unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_SYS_PTRACE, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	h := newTestHost(t)
	gate := h.fifo("gate")
	h.crontab("a", "echo one; read x <"+gate.Name()+"; exit 0")
	h.start()
	a := h.run("a")[0]
	h.printed(a.ID, "one")
	h.signal(syscall.SIGKILL)
	h.wait()
	h.start()
	h.open(gate, 1)
	if r := h.wantRun(a.ID, "lost", "one\n"); !strings.Contains(r.Outcome.Error, "does not collect") {
		t.Errorf("reason %q", r.Outcome.Error)
	}
	h.stop()
}

// Stops and timeouts continue after a crash of the daemon, also for processes whose
// leader has ended by then: KILL follows when the grace is over.
func TestStopGoesOnAfterACrashWithoutLeader(t *testing.T) {
	for _, manager := range []bool{true, false} {
		for _, noGroups := range []bool{false, true} {
			for reason, options := range map[job.Reason]string{job.StopAsked: "stop-grace=5s", job.OverTime: "timeout=10s stop-grace=5s"} {
				t.Run(fmt.Sprintf("%s, manager=%t, no groups=%t", reason, manager, noGroups), func(t *testing.T) {
					t.Parallel()
					h := newTestHost(t)
					h.NoGroups = noGroups
					if manager {
						h.withManager()
					}
					h.stopAndCrash("a "+options, reason)
				})
			}
		}
	}
}

// stopAndCrash has the daemon killed while a run without leader is being stopped.
func (h *testHost) stopAndCrash(options string, reason job.Reason) {
	t := h.t
	h.crontab(options, `sh -c 'trap "" TERM; echo $$; exec sleep 1000' & wait`)
	h.start()
	a, leader, pid := h.runIgnoringTerm("a")
	if reason == job.StopAsked {
		if _, err := h.client.Stop(h.context(), api.StopRequest{Refs: []string{a.String()}}); err != nil {
			t.Fatal(err)
		}
	}
	gone(t, leader)
	h.signal(syscall.SIGKILL)
	h.wait()
	h.start()
	if r, _ := h.ended(a); r.Reason != reason {
		t.Errorf("the run ended because of %q, want %q", r.Reason, reason)
	}
	gone(t, pid)
	h.stop()
}

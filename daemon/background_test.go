package daemon

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// later waits until an ended run has printed exactly this.
func (h *host) later(id job.RunID, want string) {
	h.t.Helper()
	var got string
	for end := time.Now().Add(hostPatience); time.Now().Before(end); {
		if _, got = h.ended(id); got == want {
			return
		}
	}
	h.t.Fatalf("run %d printed %q, want %q", id, got, want)
}

// backgroundJob ends at once, and leaves a process in the background that prints
// a number each time that the gate is opened.
func (h *host) backgroundJob(gate string) {
	h.t.Helper()
	h.table("app", "echo early; (i=0; while read x <"+gate+"; do i=$((i+1)); echo $i || exit; done) & exit 3")
	h.start()
}

// openUnderKeeper lets one job that waits for a FIFO go on between two daemons.
func (h *host) openUnderKeeper(gate *os.File) {
	h.t.Helper()
	keeper := h.keeper()
	h.open(gate, 1)
	h.start()
	gone(h.t, keeper)
}

// wantNoFilesOfRuns checks that nothing is left of runs that are over.
func (h *host) wantNoFilesOfRuns() {
	h.t.Helper()
	if left, _ := os.ReadDir(h.path("run/cronring/runs")); len(left) != 0 {
		h.t.Errorf("files are left when all is over: %v", left)
	}
}

// Background processes of a job live on whatever becomes of the daemon, as under
// cron, and what they print is part of the run's output.
func TestBackgroundProcessOutlivesDaemons(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.withManager()
	gate := h.fifo("gate")
	h.backgroundJob(gate.Name())
	app := h.run("app")[0]
	h.wantRun(app.ID, "exit 3", "early\n")
	h.open(gate, 1)
	h.later(app.ID, "early\n1\n")
	h.renew()
	h.open(gate, 1)
	h.later(app.ID, "early\n1\n2\n")
	h.stopUnder()
	h.openUnderKeeper(gate)
	h.later(app.ID, "early\n1\n2\n3\n")
	h.open(gate, 1)
	h.later(app.ID, "early\n1\n2\n3\n4\n")
	h.signal(syscall.SIGKILL)
	h.wait()
	h.open(gate, 1)
	h.start()
	h.later(app.ID, "early\n1\n2\n3\n4\n5\n")
	if history := h.runsOf("app"); len(history) != 1 || history[0].Outcome.String() != "exit 3" {
		t.Errorf("the history has %+v, want the one run as it ended", history)
	}
	h.endGroup(app.ID)
}

// endGroup kills what is left of a run.
func (h *host) endGroup(id job.RunID) {
	h.t.Helper()
	r, _ := h.ended(id)
	if r.PID <= 1 {
		h.t.Fatalf("run %d has process %d", id, r.PID)
	}
	if err := syscall.Kill(-r.PID, syscall.SIGKILL); err != nil {
		h.t.Errorf("nothing is left of run %d: %v", id, err)
	}
}

// The same without a service manager: a daemon that stops leaves a keeper for
// background processes alone.
func TestBackgroundProcessOutlivesDaemonsWithoutManager(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	gate := h.fifo("gate")
	h.backgroundJob(gate.Name())
	app := h.run("app")[0]
	h.wantRun(app.ID, "exit 3", "early\n")
	h.signal(syscall.SIGKILL)
	h.wait()
	h.open(gate, 1)
	h.start()
	h.later(app.ID, "early\n1\n")
	h.open(gate, 1)
	h.stop()
	h.openUnderKeeper(gate)
	h.later(app.ID, "early\n1\n2\n3\n")
	h.endGroup(app.ID)
	h.stop()
	for _, pid := range h.keepers() {
		gone(t, pid) // the process may have ended just now
	}
	h.start()
	h.stop()
	h.wantNoFilesOfRuns()
}

// A run ends under a keeper, and its background process after that: the output
// of both is the run's.
func TestBackgroundProcessUnderAKeeper(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.withManager()
	gate, over := h.fifo("gate"), h.fifo("over")
	h.table("app", "echo early; (read x <"+gate.Name()+"; echo late; read x <"+gate.Name()+"; echo later) & read x <"+over.Name()+"; exit 3")
	h.start()
	app := h.run("app")[0]
	h.printed(app.ID, "early")
	h.stopUnder()
	keeper := h.keeper()
	h.open(over, 1)
	for end := time.Now().Add(hostPatience); !exists(endFile(h.path("run/cronring/runs"), app.ID)); {
		if time.Now().After(end) {
			t.Fatal("the keeper does not write down the end of the run")
		}
	}
	h.open(gate, 1)
	h.start()
	gone(t, keeper)
	h.later(app.ID, "early\nlate\n")
	h.open(gate, 1)
	h.later(app.ID, "early\nlate\nlater\n")
	if r, _ := h.ended(app.ID); r.Outcome.String() != "exit 3" {
		t.Errorf("the run is recorded as %v", r.Outcome)
	}
}

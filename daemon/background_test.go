package daemon

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/shim"
	"github.com/cronring/cronring/daemon/spawn/handed"
)

// later waits until an ended run has printed exactly this.
func (h *testHost) later(id job.RunID, want string) {
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
func (h *testHost) backgroundJob(gate string) {
	h.t.Helper()
	h.crontab("app", "echo early; (i=0; while read x <"+gate+"; do i=$((i+1)); echo $i || exit; done) & exit 3")
	h.start()
}

// openUnderShim unblocks one job that waits for a FIFO between two daemons.
func (h *testHost) openUnderShim(gate *os.File) {
	h.t.Helper()
	shim := h.shim()
	h.open(gate, 1)
	h.start()
	gone(h.t, shim)
}

// wantNoFilesOfRuns checks that nothing is left of runs that are over.
func (h *testHost) wantNoFilesOfRuns() {
	h.t.Helper()
	if left, _ := os.ReadDir(h.path("run/cronring/runs")); len(left) != 0 {
		h.t.Errorf("files are left when all is over: %v", left)
	}
}

// Background processes of a job continue when the daemon stops or is killed, like under cron, and
// their output is part of the run's output.
func TestBackgroundProcessOutlivesDaemons(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
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
	h.openUnderShim(gate)
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
func (h *testHost) endGroup(id job.RunID) {
	h.t.Helper()
	r, _ := h.ended(id)
	if r.PID <= 1 {
		h.t.Fatalf("run %d has process %d", id, r.PID)
	}
	if err := syscall.Kill(-r.PID, syscall.SIGKILL); err != nil {
		h.t.Errorf("nothing is left of run %d: %v", id, err)
	}
}

// The same without a service manager: a daemon that stops leaves a shim for
// background processes alone.
func TestBackgroundProcessOutlivesDaemonsWithoutManager(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
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
	h.openUnderShim(gate)
	h.later(app.ID, "early\n1\n2\n3\n")
	h.endGroup(app.ID)
	h.stop()
	for _, pid := range h.shims() {
		gone(t, pid) // the process may have ended just now
	}
	h.start()
	h.stop()
	h.wantNoFilesOfRuns()
}

// outputFile returns a function that puts the file of the output of a run back as it is
// now, like a daemon that is killed before it removes the file.
func (h *testHost) outputFile(name string) (restore func()) {
	h.t.Helper()
	content := h.read(name)
	return func() {
		h.t.Helper()
		filetest.Write(h.t, h.path(name), content, 0o600)
	}
}

// forgetOutput removes output from the history, like a daemon that is killed before it
// writes the output.
func (h *testHost) forgetOutput() {
	h.t.Helper()
	db, err := sql.Open("sqlite", h.path("var/lib/cronring/cronring.db"))
	if err == nil {
		_, err = db.Exec("DELETE FROM output")
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// kill ends the daemon as a crash does.
func (h *testHost) kill() {
	h.t.Helper()
	h.signal(syscall.SIGKILL)
	h.wait()
}

// A daemon that is killed when a run ends leaves the output in the history, in the file
// of the run, or in both: the next one has it once.
func TestOutputOfAnEndedRunIsThereOnceAfterACrash(t *testing.T) {
	t.Parallel()
	for _, background := range []bool{false, true} {
		for _, recorded := range []bool{false, true} {
			t.Run(fmt.Sprintf("background=%t,recorded=%t", background, recorded), func(t *testing.T) {
				t.Parallel()
				h := newTestHost(t)
				gate := h.fifo("gate")
				command, want := "echo early; read x <"+gate.Name()+"; exit 3", "early\n"
				if background {
					command = "echo early; read x <" + gate.Name() + "; (read x <" + gate.Name() + "; echo late) & exit 3"
				}
				h.crontab("app", command)
				h.start()
				app := h.run("app")[0]
				h.printed(app.ID, "early")
				restore := h.outputFile("run/cronring/runs/" + app.ID.String())
				h.open(gate, 1)
				h.wantRun(app.ID, "exit 3", want)
				h.kill()
				if restore(); !recorded {
					h.forgetOutput()
				}
				h.start()
				h.later(app.ID, want)
				if background {
					want += "late\n"
					h.open(gate, 1)
					h.later(app.ID, want)
				}
				h.stop()
				h.start()
				h.later(app.ID, want)
				h.stop()
				h.wantNoFilesOfRuns()
			})
		}
	}
}

// lateFile waits until a file of the output of background processes of a run ends with a line,
// or the history has that line, and returns the name of the file or "".
func (h *testHost) lateFile(id job.RunID, line string) (name string) {
	h.t.Helper()
	for end := time.Now().Add(hostPatience); time.Now().Before(end); {
		files, _ := filepath.Glob(h.path("run/cronring/runs/" + id.String() + ".late-*"))
		for _, file := range files {
			// The length in the head of the frame is written last.
			if text, err := os.ReadFile(file); err == nil && strings.HasSuffix(string(text), line) && text[4] > 0 {
				return strings.TrimPrefix(file, h.Root)
			}
		}
		if db, err := sql.Open("sqlite", h.path("var/lib/cronring/cronring.db")); err == nil {
			n := 0
			err = db.QueryRow("SELECT count(*) FROM output WHERE CAST(data AS TEXT) LIKE ?", "%"+line).Scan(&n)
			if db.Close(); err == nil && n > 0 {
				return ""
			}
		}
	}
	h.t.Fatalf("no file contains %q", line)
	return ""
}

// The output of a background process after the end of its run is in the history once, whether a
// shim or the daemon received it.
func TestOutputOfATailIsThereOnceAfterACrash(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	gate := h.fifo("gate")
	h.backgroundJob(gate.Name())
	app := h.run("app")[0]
	h.wantRun(app.ID, "exit 3", "early\n")
	h.stop()
	shim := h.shim()
	h.open(gate, 1)
	restore := h.outputFile(h.lateFile(app.ID, "1\n"))
	h.start()
	gone(t, shim)
	h.later(app.ID, "early\n1\n")
	h.kill()
	restore() // it was killed before it removed the file
	h.start()
	h.open(gate, 1)
	h.lateFile(app.ID, "2\n")
	h.kill() // before it wrote the output to the history, on most machines
	h.open(gate, 1)
	h.start()
	h.later(app.ID, "early\n1\n2\n3\n")
	h.endGroup(app.ID)
}

// A run ends under a shim, and its background process after that: the output
// of both is the run's.
func TestBackgroundProcessUnderAShim(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.withManager()
	gate, over := h.fifo("gate"), h.fifo("over")
	h.crontab("app", "echo early; (read x <"+gate.Name()+"; echo late; read x <"+gate.Name()+"; echo later) & read x <"+over.Name()+"; exit 3")
	h.start()
	app := h.run("app")[0]
	h.printed(app.ID, "early")
	h.stopUnder()
	process := h.shim()
	h.open(over, 1)
	for end := time.Now().Add(hostPatience); !exists(shim.EndFile(h.path("run/cronring/runs"), app.ID)); {
		if time.Now().After(end) {
			t.Fatal("the shim does not write down the end of the run")
		}
	}
	h.open(gate, 1)
	h.start()
	gone(t, process)
	h.later(app.ID, "early\nlate\n")
	h.open(gate, 1)
	h.later(app.ID, "early\nlate\nlater\n")
	if r, _ := h.ended(app.ID); r.Outcome.String() != "exit 3" {
		t.Errorf("the run is recorded as %v", r.Outcome)
	}
}

// Ended runs whose background processes hold more pipes than a daemon can open do not keep it from taking
// over a run after a crash.
func TestManyPipesOfEndedRunsDoNotHideALiveOneAfterACrash(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.write("few-files", "#!/bin/sh\nulimit -n 128\nexec "+h.program+"\n")
	if err := os.Chmod(h.path("few-files"), 0o755); err != nil {
		t.Fatal(err)
	}
	h.program = h.path("few-files")
	gate := h.fifo("gate")
	h.crontab("first", "true", "live", "echo one; read x <"+gate.Name()+"; echo two")
	h.start()
	h.do("first")
	live := h.run("live")[0]
	h.printed(live.ID, "one")
	h.kill()
	for id := range 150 { // their names come before that of the live run
		for _, suffix := range []string{".out", ".err"} {
			if err := syscall.Mkfifo(h.path(fmt.Sprint("run/cronring/runs/", 1000+id, suffix)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	h.start()
	h.open(gate, 1)
	if r, out := h.ended(live.ID); out != "one\ntwo\n" || r.Outcome.Error == handed.Unseen {
		t.Errorf("the run %v (%s), printed %q; want both lines", r.Outcome, r.Outcome.Error, out)
	}
	h.stop()
	for _, pid := range h.shims() {
		gone(t, pid) // it finds that nothing holds these pipes
	}
}

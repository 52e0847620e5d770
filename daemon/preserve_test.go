package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// A power loss ends the daemon and all jobs, and empties /run. What a job had
// printed is in the history, and is mailed.
func TestPowerLossLeavesOutput(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.withMailer()
	h.Hasty = true
	gate := h.fifo("gate")
	h.write("etc/crontab", "#@ name=long\n0 0 1 1 * ann echo begun; echo error >&2; read x <"+gate.Name()+"\n")
	copies := h.path("var/lib/cronring/output")
	changes := watchDirectory(t, copies)
	h.start()
	run := h.run("long")[0].ID
	for late := time.After(hostPatience); ; {
		text, _ := os.ReadFile(filepath.Join(copies, run.String()))
		if strings.Contains(string(text), "begun") && strings.Contains(string(text), "error") {
			break
		}
		select {
		case <-changes:
		case <-late:
			t.Fatal("no copy of the output was made")
		}
	}
	process := h.process(run)
	h.signal(syscall.SIGKILL)
	h.wait()
	h.open(gate, 1)
	gone(t, process)
	if err := os.RemoveAll(h.path("run/cronring")); err != nil {
		t.Fatal(err)
	}
	h.start()
	h.wantRun(run, "lost", "begun\nerror\n")
	if letter := h.letter(); !strings.HasSuffix(letter, "\n\nbegun\nerror\n\n[cronring: how the run ended is not known; it counts as failed]\n") {
		t.Errorf("the letter is\n%s\nwant the output, and that its end is not known", letter)
	}
}

// watchDirectory makes a directory and returns what changes in it.
func watchDirectory(t *testing.T, dir string) <-chan fsnotify.Event {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	if err := w.Add(dir); err != nil {
		t.Fatal(err)
	}
	return w.Events
}

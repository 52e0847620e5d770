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
	h := newHost(t)
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
	h.signal(syscall.SIGKILL)
	h.cmd.Wait()
	h.open(gate, 1)
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

// Only what is new of runs that are not young is copied, the smallest first, and
// copies go with their runs.
func TestPreserverCopiesWhatIsNew(t *testing.T) {
	state, runs := t.TempDir(), t.TempDir()
	print := func(name string, size int) {
		f, err := os.OpenFile(filepath.Join(runs, name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
	p := newPreserver(runs, state)
	check := func(when string, want map[string]int64) {
		t.Helper()
		got := recordings(p.to)
		if len(got) != len(want) {
			t.Errorf("%s: copies %v, want %v", when, got, want)
		}
		for name, size := range want {
			if got[name] != size {
				t.Errorf("%s: the copy of %s has %d bytes, want %d", when, name, got[name], size)
			}
		}
	}
	print("1", 10)
	print("2.group", 10)
	p.step(false)
	check("young", nil)
	p.step(false)
	check("printing", map[string]int64{"1": 10})
	print("1", 5)
	print("2", mostPreserved)
	print("3", 1)
	p.step(false)
	check("more", map[string]int64{"1": 15})
	p.step(false)
	check("a file that is too large beside others", map[string]int64{"1": 15, "3": 1})
	if err := os.Remove(filepath.Join(runs, "1")); err != nil {
		t.Fatal(err)
	}
	p = newPreserver(runs, state) // of the next daemon
	p.restore(1)
	p.restore(7)
	if info, err := os.Stat(filepath.Join(runs, "1")); err != nil || info.Size() != 15 {
		t.Errorf("restored %v, error %v; want 15 bytes", info, err)
	}
	p.step(true)
	check("at the end", map[string]int64{"1": 15, "2": mostPreserved, "3": 1})
	for _, name := range []string{"1", "3"} {
		if err := os.Remove(filepath.Join(runs, name)); err != nil {
			t.Fatal(err)
		}
	}
	p.step(false)
	check("after the runs", map[string]int64{"2": mostPreserved})
}

package handed

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/proc"
)

// The starter writes the process behind the JSON of its mark; for a session, and in version 0.7.0, the
// JSON contains it.
func TestFindReadsBothFormsOfMarks(t *testing.T) {
	dir := t.TempDir()
	pid, up := os.Getpid(), proc.Uptime()
	started := fmt.Sprintf(`{"Job":"ann/x","User":"ann","Boot":"b","OutputMax":5} %d %d`, pid, up)
	whole := fmt.Sprintf(`{"Job":"ann/x","User":"ann","PID":%d,"Up":%d,"Boot":"b","OutputMax":5}`, pid, up)
	for run, text := range map[job.RunID]string{1: started, 2: whole, 3: "of another version", 4: `{"Boot":"of another boot"} 1 1`} {
		base := filepath.Join(dir, run.String())
		if err := unix.Mkfifo(base+".out", 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(text, base+processSuffix); err != nil {
			t.Fatal(err)
		}
	}
	found := map[job.RunID]Run{}
	for _, h := range Find(dir, "b") {
		for _, fd := range []int{h.Out, h.PIDFD} {
			if fd != 0 {
				unix.Close(fd)
			}
		}
		found[h.Run] = h
	}
	for _, run := range []job.RunID{1, 2} {
		if h := found[run]; h.PID != pid || h.PIDFD == 0 || h.Job != "ann/x" || h.User != "ann" || h.OutputMax != 5 || !h.Outcome.IsZero() {
			t.Errorf("run %d: got %+v, want process %d, alive", run, h, pid)
		}
	}
	if h, ok := found[3]; !ok || h.PID != 0 || h.PIDFD != 0 {
		t.Errorf("a mark of another version: got %+v, want the pipes alone", h)
	}
	if _, err := os.Lstat(filepath.Join(dir, "4.out")); len(found) != 3 || err == nil {
		t.Errorf("found %d runs (%v), want 3 and the files of another boot removed", len(found), err)
	}
}

// FuzzParseProcess reads any text of a mark, in both forms.
func FuzzParseProcess(f *testing.F) {
	_, text := Process{Job: "ann/x", User: "ann", Boot: "b", OutputMax: 5}.Mark("7")
	f.Add(text)
	f.Add(text + " 4711 12345678901")
	f.Add(text + " 4711")
	f.Add(text + " -1 99999999999999999999")
	f.Add(`{"Job":"ann/x","User":"ann","PID":4711,"Up":12345,"Boot":"b","OutputMax":5}`)
	f.Add(`{"PID":1e3} {"Up":1}`)
	f.Add("of another version")
	f.Fuzz(func(t *testing.T, text string) {
		p, ok := parseProcess(text)
		if !ok {
			return
		}
		_, mark := p.Mark("7")
		if again, ok := parseProcess(mark); !ok || again != p {
			t.Errorf("read %+v, written and read again %+v, %t", p, again, ok)
		}
		written := p
		written.PID, written.Up = 0, 0
		_, mark = written.Mark("7")
		if again, ok := parseProcess(fmt.Sprintf("%s %d %d", mark, p.PID, p.Up)); !ok || again != p {
			t.Errorf("read %+v, written by the starter and read again %+v, %t", p, again, ok)
		}
	})
}

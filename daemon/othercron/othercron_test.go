package othercron

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cronring/cronring/daemon/filetest"
)

func hostRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "run"), 0o755); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestLockHostKeepsAnotherCronOut(t *testing.T) {
	root := hostRoot(t)
	held, relieves, err := Lock(root)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(root, PIDFile)); err != nil || strings.TrimSpace(string(text)) != fmt.Sprint(os.Getpid()) {
		t.Errorf("the file says %q, error %v", text, err)
	}
	if relieves {
		t.Error("nobody had the lock before, but somebody is relieved")
	}
	_, _, err = Lock(root)
	holder := fmt.Sprintf(" runs on this host (process %d (othercron.test) holds", os.Getpid())
	if want := "cronringd already" + holder; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a second daemon: error %v, want %q in it", err, want)
	}
	if err := held.Truncate(0); err != nil { // a file without our number
		t.Fatal(err)
	}
	_, _, err = Lock(root)
	if want := "another cron" + holder; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a daemon beside another cron: error %v, want %q in it", err, want)
	}
	held.Close()
	for _, last := range []string{"", "4711\n", "4711", ""} {
		if last != "" {
			filetest.Write(t, filepath.Join(root, PIDFile), last, 0o644)
		}
		again, relieves, err := Lock(root)
		if err != nil {
			t.Fatalf("after %q is gone: %v", last, err)
		}
		if want := last != ""; relieves != want {
			t.Errorf("after %q: relieves another cron: got %t, want %t", last, relieves, want)
		}
		again.Close()
	}
}

// TestLockIsClosedToUsers: a user who can open the file can lock it as well, and keep the daemon from starting.
func TestLockIsClosedToUsers(t *testing.T) {
	for _, before := range []string{"", "4711\n"} {
		root := hostRoot(t)
		path := filepath.Join(root, PIDFile)
		if before != "" { // of another cron
			filetest.Write(t, path, before, 0o644)
		}
		lock, _, err := Lock(root)
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Close()
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
			t.Errorf("after %q: mode %v, %v; want 0600", before, info.Mode(), err)
		}
	}
}

// TestLockHostWaitsForTheLastChildOfADeadDaemon: a daemon that is killed just when it forks leaves
// its lock to the new process until that executes its program.
func TestLockHostWaitsForTheLastChildOfADeadDaemon(t *testing.T) {
	root := hostRoot(t)
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	filetest.Write(t, filepath.Join(root, PIDFile), fmt.Sprintf("%d%s", dead.Process.Pid, ownSign), 0o644)
	child := exec.Command("flock", filepath.Join(root, PIDFile), "sh", "-c", "echo; read x")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil { // it has the lock
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		in.Close()
		ended <- child.Wait()
	}()
	lock, relieves, err := Lock(root)
	if err != nil || relieves {
		t.Errorf("got %v, relieves %t, want the lock of a dead daemon", err, relieves)
	}
	lock.Close()
	<-ended // sh reads no line
}

func TestLockHostFollowsNoLink(t *testing.T) {
	root := hostRoot(t)
	victim := filepath.Join(root, "victim")
	filetest.Write(t, victim, "precious", 0o600)
	if err := os.Symlink(victim, filepath.Join(root, PIDFile)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Lock(root); err == nil {
		t.Error("the lock was taken through a link")
	}
	if text, _ := os.ReadFile(victim); string(text) != "precious" {
		t.Errorf("the link's target says %q", text)
	}
}

func TestMarkBootCountsOncePerBoot(t *testing.T) {
	for name, before := range map[string]string{"no cron before": "", "Debian's cron before": rebootMarks[0], "cronie before": rebootMarks[1]} {
		t.Run(name, func(t *testing.T) {
			root := hostRoot(t)
			if before != "" {
				filetest.Write(t, filepath.Join(root, before), "", 0)
			}
			for i, want := range []bool{before != "", true} {
				done, again := BootIsMarked(root), BootIsMarked(root)
				if err := MarkBoot(root); err != nil || done != want || again != done {
					t.Errorf("start %d: marked %t, then %t, error %v; want %t", i+1, done, again, err, want)
				}
			}
			for _, mark := range rebootMarks {
				var st syscall.Stat_t
				if err := syscall.Lstat(filepath.Join(root, mark), &st); err != nil || st.Mode&0o777 != 0 {
					t.Errorf("%s: mode %o, error %v", mark, st.Mode, err)
				}
			}
		})
	}
}

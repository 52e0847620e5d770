package filelock

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/hosttest"
)

// TestMain is also the program of a process that inherits a lock: it copies its input, which shows
// the test that it runs and when it ends.
func TestMain(m *testing.M) {
	if os.Getenv("HOLDER_TEST_INHERITOR") != "" {
		_, _ = io.Copy(os.Stdout, os.Stdin)
		return
	}
	os.Exit(m.Run())
}

func open(t *testing.T) *os.File {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func again(t *testing.T, f *os.File) *os.File {
	t.Helper()
	g, err := os.Open(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

func TestOfWhoeverTookTheLock(t *testing.T) {
	f := open(t)
	if p, ok := Of(f); ok {
		t.Errorf("%v holds a lock that nobody has taken", p)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if p, ok := Of(again(t, f)); !ok || p.PID != os.Getpid() || p.Name != "filelock.test" {
		t.Errorf("flock: %v, %t; want this process", p, ok)
	}
	g := open(t)
	if err := unix.FcntlFlock(g.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}); err != nil {
		t.Fatal(err)
	}
	if p, ok := Of(g); !ok || p.PID != os.Getpid() {
		t.Errorf("fcntl: %v, %t; want this process", p, ok)
	}
}

// TestOfAnInheritor has a process inherit the lock of a process that has ended, like the child of a
// daemon that was killed.
func TestOfAnInheritor(t *testing.T) {
	hosttest.Root(t, "only root can look into other processes")
	f := open(t)
	// The shell takes the lock through flock(1) and becomes the inheritor's parent,
	// which ends at once.
	script := `exec 9<>"$1"; flock -x 9; "$2" <&3 & echo $!`
	inheritor := exec.Command("/bin/sh", "-c", script, "sh", f.Name(), os.Args[0])
	inheritor.Env = append(os.Environ(), "HOLDER_TEST_INHERITOR=1")
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer inW.Close() // ends the inheritor
	inheritor.ExtraFiles = []*os.File{inR}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer outR.Close()
	inheritor.Stdout = outW
	if err := inheritor.Run(); err != nil { // Run returns when the shell has ended
		t.Fatal(err)
	}
	outW.Close()
	inR.Close()
	text := make([]byte, 32)
	n, err := outR.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := inW.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	if _, err := outR.Read(make([]byte, 1)); err != nil { // the inheritor runs its own program
		t.Fatal(err)
	}
	p, ok := Of(again(t, f))
	if want := string(text[:n]); !ok || p.Name != "filelock.test" || want != fmt.Sprintln(p.PID) {
		t.Errorf("%v, %t; want process %s", p, ok, want)
	}
}

// FuzzName holds that a process, whose user chooses the name, sends nothing to the terminal of the administrator.
func FuzzName(f *testing.F) {
	f.Add("cron")
	f.Add("")
	f.Add("\x1b]0;x\a\ncronringd: all is well")
	f.Fuzz(func(t *testing.T, name string) {
		if text := (Process{PID: 5, Name: name}).String(); strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) || len(text) > 1000 {
			t.Errorf("the name %q is shown as %q", name, text)
		}
	})
}

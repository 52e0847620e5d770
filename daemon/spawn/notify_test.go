package spawn

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
)

// notifySockets are sockets whose messages are read when they are closed.
type notifySockets struct {
	dir      string
	messages chan string
	broken   error // of Open

	mu   sync.Mutex
	open map[job.RunID]*net.UnixConn
}

func newNotifySockets(t *testing.T) *notifySockets {
	return &notifySockets{dir: publicDir(t), messages: make(chan string, 100), open: map[job.RunID]*net.UnixConn{}}
}

func (n *notifySockets) Path(run job.RunID) string { return filepath.Join(n.dir, run.String()) }

func (n *notifySockets) Open(run job.RunID, _ string, uid uint32) error {
	if n.broken != nil {
		return n.broken
	}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: n.Path(run), Net: "unixgram"})
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.open[run] = conn
	n.mu.Unlock()
	return errors.Join(os.Chmod(n.Path(run), 0o600), os.Chown(n.Path(run), int(uid), -1))
}

func (n *notifySockets) Close(run job.RunID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	conn := n.open[run]
	if conn == nil {
		return false
	}
	delete(n.open, run)
	n.drain(conn)
	conn.Close()
	os.Remove(n.Path(run))
	return true
}

func (n *notifySockets) drain(conn *net.UnixConn) {
	raw, err := conn.SyscallConn()
	if err != nil {
		panic(err)
	}
	raw.Control(func(fd uintptr) {
		text := make([]byte, 4096)
		for {
			size, _, err := unix.Recvfrom(int(fd), text, unix.MSG_DONTWAIT)
			if err != nil {
				return
			}
			n.messages <- string(text[:size])
		}
	})
}

func (n *notifySockets) Count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.open)
}

// notify sends a message, and fails if that is not possible.
const notify = `perl -MSocket -e 'socket(S, AF_UNIX, SOCK_DGRAM, 0); send(S, "WATCHDOG=1", 0, pack_sockaddr_un($ENV{NOTIFY_SOCKET})) or die $!'`

func needPerl(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("perl"); err != nil {
		hosttest.Missing(t, "no perl: %v", err)
	}
}

// TestNotifySocketIsOfTheRun: a run with watchdog= has a socket until its end.
func TestNotifySocketIsOfTheRun(t *testing.T) {
	needPerl(t)
	n := newNotifySockets(t)
	r := newTestSpawner(t, Options{Notify: n})
	e := r.do(notify+`; echo "$NOTIFY_SOCKET $WATCHDOG_USEC ${WATCHDOG_PID-none}"`, with(t, "watchdog=90s"))
	wantOutcome(t, e, exited(0))
	if got, want := text(e, job.Stdout), n.Path(e.Run)+" 90000000 none\n"; got != want {
		t.Errorf("variables %q, want %q", got, want)
	}
	if got := receive(r, "a message", n.messages); got != "WATCHDOG=1" {
		t.Errorf("received %q", got)
	}
	if left, _ := os.ReadDir(n.dir); len(left) > 0 || n.Count() > 0 {
		t.Errorf("left over: %v", left)
	}
	if r.stop(); r.spawner.extra != 0 {
		t.Errorf("%d descriptors are still counted", r.spawner.extra)
	}
}

// TestNotifySocketOfTheDaemon: the variables that a service manager sets for the daemon reach no run.
func TestNotifySocketOfTheDaemon(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "/run/systemd/notify")
	t.Setenv("WATCHDOG_USEC", "1")
	t.Setenv("WATCHDOG_PID", "1")
	n := newNotifySockets(t)
	r := newTestSpawner(t, Options{Notify: n})
	for _, items := range []string{"name=plain", "name=boxed cwd=/ env-file=" + write(t, filepath.Join(publicDir(t), "env"), "A=b\n", 0o644, ownName())} {
		e := r.do("env", with(t, items))
		wantOutcome(t, e, exited(0))
		if got := text(e, job.Stdout); strings.Contains(got, "NOTIFY_SOCKET") || strings.Contains(got, "WATCHDOG_") {
			t.Errorf("%s: environment %q", items, got)
		}
	}
}

// TestNotifySocketAndEnvFile: a file of variables cannot send signs of life elsewhere.
func TestNotifySocketAndEnvFile(t *testing.T) {
	n := newNotifySockets(t)
	r := newTestSpawner(t, Options{Notify: n})
	file := write(t, filepath.Join(publicDir(t), "env"), "NOTIFY_SOCKET=/elsewhere\nWATCHDOG_PID=1\nWATCHDOG_USEC=1\n", 0o644, ownName())
	e := r.do(`echo "$NOTIFY_SOCKET $WATCHDOG_USEC ${WATCHDOG_PID-none}"`, with(t, "watchdog=1s env-file="+file))
	wantOutcome(t, e, exited(0))
	if got, want := text(e, job.Stdout), n.Path(e.Run)+" 1000000 none\n"; got != want {
		t.Errorf("variables %q, want %q", got, want)
	}
}

// TestNotifySocketMissing: a run whose socket cannot be opened starts, and its output explains that.
func TestNotifySocketMissing(t *testing.T) {
	n := newNotifySockets(t)
	n.broken = errors.New("the disk is full")
	r := newTestSpawner(t, Options{Notify: n})
	e := r.do("true", with(t, "watchdog=90s"))
	wantOutcome(t, e, exited(0))
	if got := text(e, job.System); !strings.Contains(got, "NOTIFY_SOCKET does not work in this run: the disk is full") {
		t.Errorf("output %q", got)
	}
	if r.stop(); r.spawner.extra != 0 {
		t.Errorf("%d descriptors are still counted", r.spawner.extra)
	}
}

// TestNotifySocketOfAnotherDaemon: the descriptors of sockets that were opened again are counted.
func TestNotifySocketOfAnotherDaemon(t *testing.T) {
	n := newNotifySockets(t)
	if err := n.Open(1000, "", uint32(os.Geteuid())); err != nil {
		t.Fatal(err)
	}
	r := newTestSpawner(t, Options{Notify: n})
	r.do("true")
	if r.stop(); r.spawner.extra != 1 {
		t.Errorf("%d descriptors are counted, want 1", r.spawner.extra)
	}
}

// TestNotifySocketInASandbox: a confined run of another user reaches its socket.
func TestNotifySocketInASandbox(t *testing.T) {
	needSandbox(t, option.SandboxStrict)
	needPerl(t)
	n := newNotifySockets(t)
	r := newTestSpawner(t, Options{Notify: n})
	for _, items := range []string{"sandbox=basic", "sandbox=strict", "network=no", "sandbox=strict network=no"} {
		wantOutcome(t, r.do(notify, as("nobody"), with(t, "watchdog=90s "+items)), exited(0))
		if got := receive(r, "a message of a run with "+items, n.messages); got != "WATCHDOG=1" {
			t.Errorf("received %q", got)
		}
	}
}

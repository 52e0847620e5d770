package manager

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
)

// TestMain lets the test binary be a daemon that was given descriptors: they
// have fixed numbers, so that it takes a process of their own.
func TestMain(m *testing.M) {
	if os.Getenv("MANAGER_TEST_GIVEN") != "" {
		tellWhatWasGiven()
		return
	}
	os.Exit(m.Run())
}

type heard struct {
	text string
	fds  []int
}

// listen plays the service manager.
func listen(t *testing.T) (m *Manager, hear func() heard) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	if m, err = Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m, func() heard {
		t.Helper()
		data, rights := make([]byte, 4096), make([]byte, 256)
		_ = l.SetReadDeadline(time.Now().Add(hosttest.Patience))
		n, rn, _, _, err := l.ReadMsgUnix(data, rights)
		if err != nil {
			t.Fatalf("hear the daemon: %v", err)
		}
		h := heard{text: string(data[:n])}
		messages, _ := unix.ParseSocketControlMessage(rights[:rn])
		for i := range messages {
			fds, err := unix.ParseUnixRights(&messages[i])
			if err != nil {
				t.Fatal(err)
			}
			h.fds = append(h.fds, fds...)
		}
		return h
	}
}

func TestMessagesReachTheManager(t *testing.T) {
	t.Setenv("WATCHDOG_USEC", "7200000000")
	t.Setenv("WATCHDOG_PID", fmt.Sprint(os.Getpid()))
	m, hear := listen(t)
	if m.Watchdog() != time.Hour {
		t.Errorf("watchdog is fed every %v, want half of 2h", m.Watchdog())
	}
	for _, c := range []struct {
		say  func()
		want string
	}{
		{func() { m.Ready("3 jobs") }, "READY=1\nSTATUS=3 jobs\nMAINPID=" + fmt.Sprint(os.Getpid())},
		{m.Alive, "WATCHDOG=1"},
		{func() { m.Status("4 jobs") }, "STATUS=4 jobs"},
		{m.Reloading, "RELOADING=1\nMONOTONIC_USEC="},
		{func() { m.Upgrading()() }, "STATUS=upgrading the history\nEXTEND_TIMEOUT_USEC=3600000000"},
		{m.Stopping, "STOPPING=1"},
	} {
		c.say()
		if got := hear().text; !strings.HasPrefix(got, c.want) {
			t.Errorf("the manager heard %q, want %q", got, c.want)
		}
	}
}

func TestWatchdogIsFedDuringAnUpgrade(t *testing.T) {
	t.Setenv("WATCHDOG_USEC", "2000")
	t.Setenv("WATCHDOG_PID", fmt.Sprint(os.Getpid()))
	m, hear := listen(t)
	done := m.Upgrading()
	hear()
	for range 3 {
		if got := hear().text; got != "WATCHDOG=1" {
			t.Errorf("the manager heard %q, want its watchdog fed", got)
		}
	}
	done()
}

func TestWithoutManagerNothingHappens(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	m, err := Open()
	if err != nil || m.Present() || m.Watchdog() != 0 {
		t.Fatalf("present %v, watchdog %v, error %v", m.Present(), m.Watchdog(), err)
	}
	m.Ready("x")
	m.Keep(1, 1, 2, 0)
	m.Forget(1)
	m.Close()
}

func TestStoreKeepsARunUntilItIsForgotten(t *testing.T) {
	m, hear := listen(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	m.Keep(7, int(r.Fd()), 0, 0)
	r.Close() // the store has copies of its own
	h := hear()
	if h.text != "FDSTORE=1\nFDPOLL=0\nFDNAME=run.7" || len(h.fds) != 1 {
		t.Fatalf("the manager heard %q with %d descriptors", h.text, len(h.fds))
	}
	if _, err := w.WriteString("x"); err != nil {
		t.Errorf("write into the stored pipe: %v", err)
	}
	got := make([]byte, 1)
	if n, err := unix.Read(h.fds[0], got); n != 1 || got[0] != 'x' {
		t.Errorf("read %q from the stored pipe, error %v", got[:max(n, 0)], err)
	}
	unix.Close(h.fds[0])
	m.Forget(7)
	m.Forget(7)
	m.Status("next")
	for _, want := range []string{"FDSTOREREMOVE=1\nFDNAME=run.7", "STATUS=next"} {
		if got := hear().text; got != want {
			t.Errorf("the manager heard %q, want %q", got, want)
		}
	}
}

// A manager that does not read must not block the daemon. Messages that do not fit are sent later,
// in order; obsolete ones are dropped.
func TestStoreWaitsForAManagerWithABacklog(t *testing.T) {
	m, hear := listen(t)
	before := openFiles(t)
	sent := job.RunID(0)
	for len(m.outbox.queue) == 0 {
		sent++
		m.Keep(sent, 0, 2, 0)
	}
	waits, over := sent, sent+1
	m.Keep(over, 0, 2, 0)
	m.Forget(over)
	m.Status("last")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	var heardLast string
	for range waits {
		h := hear()
		for _, fd := range h.fds {
			unix.Close(fd)
		}
		heardLast = h.text
	}
	if want := fmt.Sprintf("FDNAME=run.%d", waits); !strings.HasSuffix(heardLast, want) {
		t.Errorf("after %d messages the manager heard %q, want %s", waits, heardLast, want)
	}
	if got := hear().text; got != "STATUS=last" {
		t.Errorf("then it heard %q, want the status, and nothing of run %d, which was over", got, over)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d descriptors are open, %d were before", after, before)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// TestKeptComesBackByRun starts this program as a service manager would after
// a crash.
func TestKeptComesBackByRun(t *testing.T) {
	socket, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	listening, err := socket.(*net.UnixListener).File()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", `LISTEN_PID=$$ exec "$0"`, os.Args[0])
	mark(int(r.Fd()))
	out2, _, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	cmd.ExtraFiles = []*os.File{r, listening, out2, null, w}
	cmd.Env = append(os.Environ(), "MANAGER_TEST_GIVEN=1", "NOTIFY_SOCKET=",
		"LISTEN_FDS=5", "LISTEN_FDNAMES=run.12:control:run.12:run.9:run.x")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	want := told{
		Kept:     []Kept{{Run: 9, PID: 6}, {Run: 12, Stdout: 5, Stderr: 3}},
		Listener: socket.Addr().String(),
	}
	var got told
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(&got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what came back (-want +got):\n%s", diff)
	}
}

type told struct {
	Kept     []Kept
	Listener string
	Left     string // of the environment
}

func tellWhatWasGiven() {
	m, err := Open()
	if err != nil {
		panic(err)
	}
	l, err := m.Listener()
	if err != nil || l == nil {
		panic(fmt.Sprint("no listener: ", err))
	}
	if err := json.NewEncoder(os.Stdout).Encode(told{m.Kept(), l.Addr().String(), os.Getenv("LISTEN_FDS")}); err != nil {
		panic(err)
	}
}

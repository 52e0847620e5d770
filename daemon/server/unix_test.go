package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/hosttest"
)

// as runs f with the effective uid of another user, on its own thread: the kernel reports the
// thread's uid to the daemon, so nothing is simulated.
func as(t *testing.T, uid int, f func()) {
	t.Helper()
	hosttest.Root(t, "only root can be somebody else")
	done := make(chan error, 1)
	go func() {
		defer close(done)      // though f ends the goroutine
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)); errno != 0 {
			done <- errno
			return
		}
		f()
	}()
	if err := await(t, "the other account's turn", done); err != nil {
		t.Fatalf("become uid %d: %v", uid, err)
	}
}

func TestPeerIsWhoTheKernelSays(t *testing.T) {
	w := annsWorld(t)
	path := w.serve()
	openDirs(t, path)
	for uid, want := range map[int]int{annUID: 1, bobUID: 1, noneUID: 0, int(selfUID): 2, 0: 2} {
		as(t, uid, func() {
			st, err := statusOn(path)
			if err != nil || st.Jobs != want {
				t.Errorf("uid %d sees %d jobs (%v), want %d", uid, st.Jobs, err, want)
			}
		})
	}
}

// dialThread makes a connection from this thread.
func dialThread(path string) (*os.File, error) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	limit := syscall.NsecToTimeval(patience.Nanoseconds())
	for _, option := range []int{syscall.SO_RCVTIMEO, syscall.SO_SNDTIMEO} {
		if err := syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, option, &limit); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	if err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: path}); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// statusOn requests the status over a connection of this thread.
func statusOn(path string) (st api.Status, err error) {
	f, err := dialThread(path)
	if err != nil {
		return st, err
	}
	defer f.Close()
	if _, err := io.WriteString(f, "GET /v1/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
		return st, err
	}
	response, err := http.ReadResponse(bufio.NewReader(f), nil)
	if err != nil {
		return st, err
	}
	if response.StatusCode != http.StatusOK {
		return st, errors.New(response.Status)
	}
	return st, json.NewDecoder(response.Body).Decode(&st)
}

// openDirs lets every account reach a socket in a test's own directory.
func openDirs(t *testing.T, path string) {
	t.Helper()
	for dir := filepath.Dir(path); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			hosttest.Missing(t, "another account cannot reach the socket: %v", err)
		}
	}
}

func TestSocketOfOneAccountRefusesOthers(t *testing.T) {
	w := annsWorld(t)
	path := w.serve()
	openDirs(t, path)
	if err := os.Chmod(path, 0o600); err != nil { // as Listen makes it for a daemon that is not root's
		t.Fatal(err)
	}
	as(t, bobUID, func() {
		if _, err := statusOn(path); !errors.Is(err, syscall.EACCES) {
			t.Errorf("connect as another account: %v, want permission denied", err)
		}
	})
	c := api.Dial(path)
	if _, err := c.Status(context.Background()); err != nil {
		t.Errorf("Status as the owner: %v", err)
	}
}

// TestListenWaitsForNoUser: every user can lock the directory of the socket.
func TestListenWaitsForNoUser(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	openDirs(t, path)
	var held *os.File
	as(t, bobUID, func() {
		var err error
		if held, err = os.Open(filepath.Dir(path)); err != nil {
			t.Error(err)
			return
		}
		if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX); err != nil {
			t.Error(err)
		}
	})
	defer held.Close()
	listening := make(chan error, 1)
	go func() {
		l, err := Listen(path)
		if err == nil {
			l.Close()
		}
		listening <- err
	}()
	if err := await(t, "the control socket", listening); err != nil {
		t.Error(err)
	}
}

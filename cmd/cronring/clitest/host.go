package clitest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server"
	"github.com/cronring/cronring/daemon/server/members"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/store"
)

// Two accounts that every host has, with nothing in common.
const (
	AnnUID, Ann = 1, "daemon"
	BobUID, Bob = 2, "bin"
)

// Host is a daemon's server on a real socket, with real files and the
// host's own accounts, and everything of it below one directory.
type Host struct {
	T       *testing.T
	Dir     string
	Host    spool.Host
	Places  spool.Paths
	Socket  string
	Program string // this test, under the name crontab
	Stop    func()

	Mu      sync.Mutex
	log     []string
	Pids    []int
	Reloads int
}

// quietLoop is a loop with nothing in it.
type quietLoop struct {
	server.Backend
	h *Host
}

func (quietLoop) Health() api.Health { return api.Health{V: api.Version} }

func (quietLoop) View() *view.View { return engine.New(engine.State{}).View() }

func (quietLoop) Diagnostics() []crontab.Diagnostic { return nil }

func (quietLoop) Ring() server.Ring { return members.None{} }

func (quietLoop) Refused() []spool.Refusal { return nil }

func (quietLoop) Tap(func([]job.Record, []job.Summary)) {}

func (quietLoop) Audit(context.Context, []job.Action) {}

func (q quietLoop) FileFault(job.Owned) string { return "" }

func (q quietLoop) Configuration() api.Config { return api.Config{} }

func (q quietLoop) Reload(context.Context) ([]crontab.Diagnostic, error) {
	q.h.Mu.Lock()
	defer q.h.Mu.Unlock()
	q.h.Reloads++
	return nil, nil
}

// NewHost starts the server of a daemon on a host of a family. It skips the test
// without root.
func NewHost(t *testing.T, family crontab.Family) *Host {
	t.Helper()
	hosttest.Root(t, "only root can be several accounts")
	h := &Host{T: t, Dir: publicDir(t), Host: spool.Host{Family: family, Zone: time.UTC, Account: "root", Root: true}}
	h.Places = h.Host.Paths(filepath.Join(h.Dir, "root"))
	h.Socket, h.Program = filepath.Join(h.Dir, "s"), filepath.Join(h.Dir, "crontab")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", self, h.Program).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	h.Serve()
	return h
}

// publicDir is a directory that every account can reach.
func publicDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "crontab-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Serve starts the server.
func (h *Host) Serve() {
	h.T.Helper()
	history, err := store.Open(h.T.Context(), filepath.Join(h.Dir, "state"))
	if err != nil {
		h.T.Fatal(err)
	}
	listener, err := server.Listen(h.Socket)
	if err != nil {
		h.T.Fatal(err)
	}
	directory := account.New(account.Options{})
	s := server.New(server.Options{
		Backend: quietLoop{h: h}, Now: time.Now, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Account: func(uid uint32) (string, error) { return directory.Name(context.Background(), uid) },
		Crontabs: &server.Crontabs{
			Host: h.Host, Paths: h.Places, Accounts: directory, Revisions: history, Version: "test",
			Note: func(pid int, who, word, text string) {
				h.Mu.Lock()
				defer h.Mu.Unlock()
				h.Pids = append(h.Pids, pid)
				h.log = append(h.log, fmt.Sprintf("(%s) %s (%s)", who, word, text))
			},
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, listener) }()
	h.Stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			h.T.Error(err)
		}
		history.Close()
	})
	h.T.Cleanup(h.Stop)
}

// Logged returns cron's log and clears it.
func (h *Host) Logged() string {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	all := strings.Join(h.log, "\n")
	h.log = nil
	return all
}

// Result is the output and exit code of a call of crontab.
type Result struct {
	Out, Err string
	Code     int
}

// CallAs runs crontab in a process of a user.
func (h *Host) CallAs(uid int, stdin string, env []string, args ...string) Result {
	h.T.Helper()
	var out, messages strings.Builder
	cmd := exec.Command(h.Program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir = strings.NewReader(stdin), &out, &messages, "/"
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "CRONRING_SOCKET=" + h.Socket, "TMPDIR=" + h.Temp()}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	if err := cmd.Run(); cmd.ProcessState == nil {
		h.T.Fatal(err)
	}
	return Result{out.String(), messages.String(), cmd.ProcessState.ExitCode()}
}

// Temp is a directory for drafts that goes with the test.
func (h *Host) Temp() string {
	h.T.Helper()
	dir := filepath.Join(h.Dir, "tmp")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		h.T.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		h.T.Fatal(err)
	}
	return dir
}

// File returns a temporary file with a text, at its beginning.
func (h *Host) File(text string) *os.File {
	h.T.Helper()
	f, err := os.CreateTemp(h.T.TempDir(), "")
	if err != nil {
		h.T.Fatal(err)
	}
	h.T.Cleanup(func() { f.Close() })
	if _, err := f.WriteString(text); err != nil {
		h.T.Fatal(err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		h.T.Fatal(err)
	}
	return f
}

// Script writes an executable file that every account can run.
func (h *Host) Script(text string) string {
	h.T.Helper()
	path := filepath.Join(h.Dir, "script")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		h.T.Fatal(err)
	}
	return path
}

// FakeDaemon listens as another user: the kernel reports to clients the uid of the
// listener.
func (h *Host) FakeDaemon(uid int, requests chan<- string) string {
	h.T.Helper()
	path := filepath.Join(h.Dir, "fake")
	if err := os.Chmod(h.Dir, 0o777); err != nil {
		h.T.Fatal(err)
	}
	made := make(chan error)
	fds := make(chan int, 1)
	go func() {
		// The thread becomes the account and ends with the goroutine.
		runtime.LockOSThread()
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)); errno != 0 {
			made <- errno
			return
		}
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = unix.Bind(fd, &unix.SockaddrUnix{Name: path})
		}
		if err == nil {
			err = unix.Listen(fd, 8)
		}
		fds <- fd
		made <- err
	}()
	if err := <-made; err != nil {
		h.T.Fatal(err)
	}
	if err := os.Chmod(path, 0o777); err != nil {
		h.T.Fatal(err)
	}
	fd := <-fds
	h.T.Cleanup(func() { unix.Shutdown(fd, unix.SHUT_RDWR); unix.Close(fd) })
	go func() {
		for {
			conn, _, err := unix.Accept(fd)
			if err != nil {
				return
			}
			text := make([]byte, 1<<16)
			if n, _ := unix.Read(conn, text); n > 0 {
				requests <- string(text[:n])
			}
			unix.Close(conn)
		}
	}()
	return path
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/hosttest"
)

// flooder is the user whose requests flood the daemon; every host has it.
const flooder = "daemon"
const flooderUID = 1

// floodConns is as many connections as a user may have.
const floodConns = 48

// dialAs makes connections to the daemon as another user.
func dialAs(t *testing.T, uid, n int, path string) (files []*os.File) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		_, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0))
		if errno != 0 {
			done <- errno
			return
		}
		for range n {
			fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
			if err == nil {
				err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: path})
			}
			if err == nil {
				err = syscall.SetNonblock(fd, true) // so that Close ends a Read
			}
			if err != nil {
				done <- err
				return
			}
			files = append(files, os.NewFile(uintptr(fd), path))
		}
		done <- nil
	}()
	if err := <-done; err != nil {
		t.Fatalf("connect as uid %d: %v", uid, err)
	}
	return files
}

// The memory of the daemon stays within a bound while a user with many jobs
// requests lists of all of them over as many connections as it may have. Root's
// requests are answered meanwhile. When the user disconnects, the daemon stops
// what it does for the user.
func TestFloodOfListsStaysWithinMemory(t *testing.T) {
	if os.Geteuid() != 0 || testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: only root can be another user, and it takes half a minute")
	}
	const bound = 48 // MiB beyond the daemon's memory before the flood
	program := buildDaemon(t)
	for _, jobs := range []int{10_000, 100_000} {
		t.Run(fmt.Sprint(jobs), func(t *testing.T) {
			var text strings.Builder
			for i := range jobs {
				fmt.Fprintf(&text, "0 0 1 1 * %s true # %d\n", flooder, i)
			}
			dir := t.TempDir()
			d := begin(t, dir, program, "--system", crontabFile(t, text.String()))
			for parent := dir; parent != os.TempDir(); parent = filepath.Dir(parent) {
				if err := os.Chmod(parent, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			d.status()
			pid := d.cmd.Process.Pid
			before, files := statusField(t, pid, "VmRSS")/1024, openFiles(t, pid)
			// VmHWM begins again at the memory of now; see proc_pid_clear_refs(5).
			if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
				t.Fatal(err)
			}

			conns := dialAs(t, flooderUID, floodConns, filepath.Join(dir, "cronring.sock"))
			var read atomic.Int64
			enough := make(chan struct{})
			targets := []string{"jobs", "graph?all=true", "jobs?job=*", "status"}
			for i, conn := range conns {
				if _, err := io.WriteString(conn, "GET /v1/"+targets[i%len(targets)]+" HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
				go func() {
					buffer := make([]byte, 64<<10)
					for {
						n, err := conn.Read(buffer)
						if got := read.Add(int64(n)); got >= 20<<20 && got-int64(n) < 20<<20 {
							close(enough)
						}
						if err != nil {
							return
						}
					}
				}()
			}
			lags := askAsRoot(t, d.client, enough)
			peak := statusField(t, pid, "VmHWM") / 1024
			for _, conn := range conns {
				conn.Close()
			}
			awaitFiles(t, pid, files)
			after := statusField(t, pid, "VmRSS") / 1024
			t.Logf("%d jobs: %.0f MiB before, %.0f MiB at most, %.0f MiB after; root's requests: p50 %s, p95 %s of %d",
				jobs, before, peak, after, lags[len(lags)/2], lags[len(lags)*95/100], len(lags))
			if peak-before > bound {
				t.Errorf("the flood took %.0f MiB, want at most %d", peak-before, bound)
			}
		})
	}
}

// askAsRoot requests the health as root until a flood has read enough, and at least 20 times. It
// returns the durations of the requests in ascending order.
func askAsRoot(t *testing.T, c *api.Client, enough <-chan struct{}) (lags []time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), hosttest.Patience, errors.New("the flood read too little"))
	defer cancel()
	for {
		begun := time.Now()
		if _, err := c.Health(ctx); err != nil {
			t.Fatal(err)
		}
		lags = append(lags, time.Since(begun))
		select {
		case <-enough:
			if len(lags) >= 20 {
				slices.Sort(lags)
				return lags
			}
		default:
			if ctx.Err() != nil {
				t.Fatal(context.Cause(ctx))
			}
		}
	}
}

func openFiles(t *testing.T, pid int) int {
	t.Helper()
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// awaitFiles waits until the daemon has closed the connections of a flood: only
// then have their handlers returned.
func awaitFiles(t *testing.T, pid, want int) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	limit := time.After(hosttest.Patience)
	for openFiles(t, pid) > want {
		select {
		case <-ticker.C:
		case <-limit:
			t.Fatalf("after the callers disconnected, the daemon has %d files open, want %d", openFiles(t, pid), want)
		}
	}
}

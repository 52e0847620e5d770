package spawn

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/hosttest"
)

func init() {
	// A tracer hides the end of a process from its parent until the tracer ends.
	helpers["trace"] = func() error {
		runtime.LockOSThread()
		pid, err := strconv.Atoi(os.Getenv("TRACED"))
		if err != nil {
			return err
		}
		fmt.Println(unix.PtraceSeize(pid))
		_, err = io.Copy(io.Discard, os.Stdin)
		return err
	}
	if len(os.Args) == 3 && os.Args[2] == "trace me" { // here, on the first thread
		traceMe := func() { _, _, _ = unix.RawSyscall(unix.SYS_PTRACE, unix.PTRACE_TRACEME, 0, 0) }
		go func() {
			runtime.LockOSThread() // the thread ends, which is reported too
			traceMe()
		}()
		traceMe()
		err := unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGSTOP)
		fmt.Println("was not stopped:", err)
		os.Exit(1)
	}
}

// trace starts a tracer of a process, which ends with the test.
func trace(t *testing.T, pid string) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-c", "trace")
	cmd.Env = []string{"TRACED=" + pid}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close() })
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if said, err := bufio.NewReader(out).ReadString('\n'); err != nil || said != "<nil>\n" {
		hosttest.Missing(t, "cannot trace a process: %q, %v", said, err)
	}
}

// TestRunWaitsForNoTracedProgram: a user can trace a program that runs with the rights of the user.
func TestRunWaitsForNoTracedProgram(t *testing.T) {
	r := newTestSpawner(t, Options{})
	g := newGate(t)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := r.spawner.Exec(ctx, Tool{Argv: []string{"sh", "-c", "echo $$ >" + g.path + "; exec sleep 1000"}, NoOutput: true})
		failed <- err
	}()
	trace(t, strings.TrimSpace(g.read("the program's word that it runs")))
	cancel()
	if err := receive(r, "the program's end", failed); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	r.hold(t.Context()) // without an end of the context, which would force it
	r.spawner.Resume()
	r.stop()
}

// TestRunWaitsForNoTracedCheck: the command of if= is killed, and its end is not awaited.
func TestRunWaitsForNoTracedCheck(t *testing.T) {
	r := newTestSpawner(t, Options{})
	g := newGate(t)
	r.ask("echo $$ >" + g.path + "; exec sleep 1000")
	trace(t, strings.TrimSpace(g.read("the check's word that it runs")))
	r.stop()
}

// TestTracedByTheDaemon: a process can make its parent the tracer of its threads. The kernel then reports
// a stop of the process like its end, and the ends of threads.
func TestTracedByTheDaemon(t *testing.T) {
	r := newTestSpawner(t, Options{})
	id := r.start("trace me", env("SHELL=/proc/self/exe"))
	stat := fmt.Sprintf("/proc/%d/stat", r.awaitStart(id))
	poll(t, "the process is stopped", func() bool {
		text, _ := os.ReadFile(stat)
		return strings.Contains(string(text), ") t ")
	})
	if e := r.do("exit 3"); e.Outcome != exited(3) {
		t.Errorf("the next run ended as %+v", e.Outcome)
	}
	r.spawner.Kill(effect.Kill{Run: id, Signal: unix.SIGKILL})
	if e := r.await(id); e.Outcome.Signal != int(unix.SIGKILL) {
		t.Errorf("the run ended as %+v, want by SIGKILL", e.Outcome)
	}
}

// TestHangingProgramsOfAUserAreLimited: programs that were killed and do not end use processes and
// descriptors of the daemon.
func TestHangingProgramsOfAUserAreLimited(t *testing.T) {
	needRoot(t, "run programs of another user")
	r := newTestSpawner(t, Options{})
	who := accountOf(t, somebody())
	for range maxHanging {
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := r.spawner.Exec(ctx, Tool{Argv: []string{"sleep", "1000"}, As: &who})
			failed <- err
		}()
		pid := 0
		poll(t, "the program runs", func() bool {
			r.spawner.mu.Lock()
			defer r.spawner.mu.Unlock()
			for c := range r.spawner.busy {
				if c.kill == 0 {
					pid = c.pid
				}
			}
			return pid != 0
		})
		trace(t, strconv.Itoa(pid))
		cancel()
		if err := receive(r, "the program's end", failed); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want that of the context", err)
		}
	}
	if _, err := r.spawner.Exec(t.Context(), Tool{Argv: []string{"true"}, As: &who}); !errors.Is(err, errHanging) {
		t.Errorf("one more program: %v, want %v", err, errHanging)
	}
	r.exec(Tool{Argv: []string{"true"}})
}

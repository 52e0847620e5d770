package spawn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/job"
)

// somebodys is a directory that an ordinary user may write.
func somebodys(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(publicDir(t), "own")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	owner := accountOf(t, somebody())
	if err := os.Chown(dir, int(owner.UID), int(owner.GID)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestLogFileIsTheAccountsOwn(t *testing.T) {
	dir := somebodys(t)
	r := newTestSpawner(t, Options{Linger: time.Hour})
	path := filepath.Join(dir, "log")
	for range 2 {
		wantOutcome(t, r.do("echo out; echo err >&2", as(somebody()), entry(t, "#@ log=file:"+path, crontab.User)), exited(0))
	}
	got, err := os.ReadFile(path)
	if err != nil || strings.Count(string(got), "out\n") != 2 || strings.Count(string(got), "err\n") != 2 {
		t.Errorf("the file is %q, %v; want both runs", got, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); st.Uid != accountOf(t, somebody()).UID || info.Mode() != 0o600 {
		t.Errorf("it belongs to %d, mode %v; want somebody's, 0600", st.Uid, info.Mode())
	}
}

func TestLogFileThatCannotBeHad(t *testing.T) {
	needRoot(t, "become another account")
	dir := somebodys(t)
	secret := filepath.Join(t.TempDir(), "secret") // root's, not accessible to the user
	filetest.Write(t, secret, "shadow\n", 0o600)
	link, fifo := filepath.Join(dir, "link"), filepath.Join(dir, "fifo")
	if err := os.Symlink(secret, link); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(syscall.Mkfifo(fifo, 0o666), os.Chmod(fifo, 0o666)); err != nil {
		t.Fatal(err)
	}
	r := newTestSpawner(t, Options{Linger: time.Hour})
	for path, want := range map[string]string{
		secret:             "permission denied",
		link:               "permission denied",
		dir:                "is a directory",
		fifo:               "no such device or address",
		"/dev/null":        "not a regular file",
		dir + "/no/where":  "no such file",
		"/proc/self/mem/x": "not a directory",
	} {
		e := r.do("echo it runs", as(somebody()), entry(t, "#@ log=file:"+path, crontab.User))
		if got := text(e, job.System); !strings.Contains(got, want) || !strings.Contains(got, path) {
			t.Errorf("%s: the run says %q, want %q", path, got, want)
		}
		if text(e, job.Stdout) != "it runs\n" || !e.Outcome.OK() {
			t.Errorf("%s: outcome %+v, output %+v; want the run to go on", path, e.Outcome, e.Output)
		}
	}
	if got, _ := os.ReadFile(secret); string(got) != "shadow\n" {
		t.Errorf("root's file is %q now", got)
	}
}

func TestLogFileLivesThroughAHold(t *testing.T) {
	dir := somebodys(t)
	r := newTestSpawner(t, Options{Linger: time.Hour})
	g := newGate(t)
	path := filepath.Join(dir, "log")
	id := r.start("echo before; "+g.command()+"; echo after", entry(t, "#@ log=file:"+path, crontab.User))
	r.awaitStart(id)
	r.hold(t.Context())
	children := r.spawner.Handover()
	if len(children) != 1 || children[0].Log == 0 || children[0].LogStatus == 0 {
		t.Errorf("handed over: %+v, want the way to the file too", children)
	}
	r.spawner.Resume()
	g.open(1)
	r.await(id)
	if got, err := os.ReadFile(path); string(got) != "before\nafter\n" {
		t.Errorf("the file is %q, %v", got, err)
	}
}

// stopLog starts a run with a file, and stops the process that writes it before the run ends.
func (r *testSpawner) stopLog(path string) (pid int) {
	r.t.Helper()
	g := newGate(r.t)
	id := r.start(g.command(), as(somebody()), entry(r.t, "#@ log=file:"+path, crontab.User))
	r.awaitStart(id)
	r.spawner.mu.Lock()
	for number, c := range r.spawner.logs {
		if c.run == id {
			pid = number
		}
	}
	r.spawner.mu.Unlock()
	poll(r.t, "the process that writes the file is stopped", func() bool { // on a busy machine, the first signal sometimes has no effect
		if err := syscall.Kill(pid, syscall.SIGSTOP); pid == 0 || err != nil {
			r.t.Fatalf("cannot stop the process %d: %v", pid, err)
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err == nil && strings.Contains(string(stat), ") T ")
	})
	g.open(1)
	wantOutcome(r.t, r.await(id), exited(0))
	return pid
}

// A process that hangs is not killed for a minute, and some cannot be killed: a user can have few of them.
func TestLogProcessesOfEndedRunsAreLimited(t *testing.T) {
	path := filepath.Join(somebodys(t), "log")
	r := newTestSpawner(t, Options{Linger: time.Millisecond})
	var pids []int
	for range maxLastLogs {
		pids = append(pids, r.stopLog(path))
	}
	next := func() string {
		return text(r.do("echo it runs", as(somebody()), entry(t, "#@ log=file:"+path, crontab.User)), job.System)
	}
	if got := next(); !strings.Contains(got, "have not ended") {
		t.Errorf("the output of the next run has the note %q, want that it has no file", got)
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	poll(t, "the processes have ended", func() bool {
		r.spawner.mu.Lock()
		defer r.spawner.mu.Unlock()
		return len(r.spawner.lastLogs) == 0
	})
	if got := next(); got != "" {
		t.Errorf("the output of a later run has the note %q", got)
	}
}

// A user may stop the process that writes the file of a run, or provide a file
// system that never answers: such processes must not accumulate.
func TestLogProcessThatHangsIsEnded(t *testing.T) {
	dir := somebodys(t)
	r := newTestSpawner(t, Options{})
	r.spawner.logPatience = time.Millisecond
	g := newGate(t)
	id := r.start(g.command(), as(somebody()), entry(t, "#@ log=file:"+filepath.Join(dir, "log"), crontab.User))
	r.awaitStart(id)
	r.spawner.mu.Lock()
	pids := slices.Collect(maps.Keys(r.spawner.logs))
	r.spawner.mu.Unlock()
	if len(pids) != 1 {
		t.Fatalf("%d processes write files, want 1", len(pids))
	}
	if err := syscall.Kill(pids[0], syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	g.open(1)
	wantOutcome(t, r.await(id), exited(0))
	awaitGone(t, pids[0])
}

// askedAccounts is one account, and a function that the goroutine which starts
// processes calls before it gets it.
type askedAccounts struct {
	account.Account
	asked func()
}

func (askedAccounts) Group(string) (uint32, bool) { return 0, false }

func (a askedAccounts) Known(string) (account.Account, bool) {
	a.asked()
	return a.Account, true
}

func (a askedAccounts) Find(context.Context, string) (account.Account, error) { return a.Account, nil }

// The process of a file may fail to become the program that writes, for example
// because its user has too many processes. The run reports that, even if both are
// over before either is reaped.
func TestLogProcessThatCannotBeStarted(t *testing.T) {
	needRoot(t, "become another account")
	dir := somebodys(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(self)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(self, info.Mode()) })
	if err := os.Chmod(self, 0o700); err != nil { // not for others to execute
		t.Fatal(err)
	}
	var r *testSpawner
	given, starts := make(chan struct{}), 0
	r = newTestSpawner(t, Options{Accounts: askedAccounts{accountOf(t, somebody()), func() {
		if starts++; starts == 2 {
			r.awaitDeaths()
		}
	}}})
	r.spawner.loop.Call(func() { <-given })
	first := r.start("echo it runs", as(somebody()), entry(t, "#@ log=file:"+filepath.Join(dir, "log"), crontab.User))
	second := r.start("true", as(somebody()))
	close(given)
	e := r.await(first)
	wantOutcome(t, e, exited(0))
	if got := text(e, job.System); !strings.Contains(got, "its process could not be started") || text(e, job.Stdout) != "it runs\n" {
		t.Errorf("the run reports %q and prints %q, want why there is no file", got, text(e, job.Stdout))
	}
	r.await(second)
	e.Memory.Release()
	r.ended[second].Memory.Release()
	if held := r.spawner.options.Memory.Held(somebody()); held != 0 {
		t.Errorf("%d bytes of memory are held for the output of runs that are over", held)
	}
}

// awaitDeaths waits until all processes are dead, and their output is read. None
// is reaped.
func (r *testSpawner) awaitDeaths() {
	s := r.spawner
	s.mu.Lock()
	runs, pids := maps.Clone(s.byPID), slices.Concat(slices.Collect(maps.Keys(s.byPID)), slices.Collect(maps.Keys(s.logs)))
	s.mu.Unlock()
	for _, pid := range pids {
		for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		}
	}
	poll(r.t, "end of all output", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		open := 0
		for _, c := range runs {
			open += c.open
		}
		return open == 0
	})
}

// helpers["speak as the log"] writes to the pipe on which the process of log= reports why it cannot write the
// file. That process belongs to the user of the run, who can take its descriptors.
func init() {
	helpers["speak as the log"] = func() error {
		all, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			return err
		}
		for _, path := range all {
			if text, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(text), "cronring-log\x00"+os.Getenv("LOG")+"\x00") {
				continue
			}
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err != nil {
				return err
			}
			process, err := unix.PidfdOpen(pid, 0)
			if err != nil {
				return err
			}
			fd, err := unix.PidfdGetfd(process, 3, 0)
			if err != nil {
				return err
			}
			words := []byte(strings.Repeat(strings.Repeat("x", 99)+"\n", 600))
			for end := time.Now().Add(time.Second); time.Now().Before(end); {
				if _, err := unix.Write(fd, words); err != nil && err != unix.EPIPE {
					return err
				}
			}
			return nil
		}
		return errors.New("the process of log= is not there")
	}
}

// TestLogProcessSaysLittle: what the process of log= reports counts as the daemon's own words, which have no
// limit in the log of the host.
func TestLogProcessSaysLittle(t *testing.T) {
	var said atomic.Int64
	r := newTestSpawner(t, Options{Linger: time.Hour, Live: func(c job.Chunk) {
		if c.Stream == job.System {
			said.Add(int64(len(c.Data)))
		}
	}})
	path := filepath.Join(somebodys(t), "log")
	e := r.do("speak as the log", as(somebody()), env("SHELL=/proc/self/exe", "LOG="+path), entry(t, "#@ log=file:"+path, crontab.User))
	wantOutcome(t, e, exited(0))
	if got := said.Load(); got == 0 || got > mostLogWords+1 {
		t.Errorf("the process of log= made the daemon say %d bytes, want 1 to %d", got, mostLogWords+1)
	}
}

package spawn

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/handed"
	"github.com/cronring/cronring/daemon/spawn/pipe"
	"github.com/cronring/cronring/daemon/spawn/self"
	"github.com/cronring/cronring/daemon/starter"
)

func limit(resource int, soft, hard uint64) account.Limit {
	return account.Limit{Resource: resource, Soft: &soft, Hard: &hard}
}

func limited(nice int, limits ...account.Limit) func(account.Account) account.Limits {
	return func(account.Account) account.Limits { return account.Limits{Resources: limits, Nice: &nice} }
}

// needLimits skips where root may not raise a hard limit.
func needLimits(t *testing.T) {
	t.Helper()
	needRoot(t, "become another account and set its limits")
	var present unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &present); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &present); err != nil {
		hosttest.Missing(t, "this root cannot set limits: %v", err)
	}
}

func TestLimitsAreSetBeforeTheShell(t *testing.T) {
	needLimits(t)
	r := newTestSpawner(t, Options{Limits: limited(7,
		limit(unix.RLIMIT_NPROC, 100, 200), limit(unix.RLIMIT_NOFILE, 50, 60), limit(unix.RLIMIT_FSIZE, 1<<20, 1<<20),
		limit(unix.RLIMIT_AS, 64<<20, 64<<20), limit(unix.RLIMIT_DATA, 32<<20, 32<<20), limit(unix.RLIMIT_CPU, 5, 6),
	)})
	e := r.do("grep processes /proc/$$/limits | tr -s ' '; ulimit -Sn; ulimit -Hn; ulimit -f; ulimit -v; ulimit -d; ulimit -t; nice", as("nobody"))
	wantOutcome(t, e, exited(0))
	if got, want := text(e, job.Stdout), "Max processes 100 200 processes \n50\n60\n2048\n65536\n32768\n5\n7\n"; got != want {
		t.Errorf("limits %q, want %q; %s", got, want, text(e, job.System))
	}
	if r.started[e.Run] == 0 {
		t.Error("the run was not reported as started")
	}
}

func TestLimitWithOneHalf(t *testing.T) {
	needLimits(t)
	hard := uint64(100)
	r := newTestSpawner(t, Options{Limits: func(account.Account) account.Limits {
		return account.Limits{Resources: []account.Limit{{Resource: unix.RLIMIT_NOFILE, Hard: &hard}}}
	}})
	var before unix.Rlimit
	if e := r.do("ulimit -Sn", as("nobody")); text(e, job.Stdout) != "100\n" {
		t.Errorf("soft limit %q under a hard one of 100", text(e, job.Stdout))
	}
	if before = r.spawner.files.Original; before.Cur == 0 {
		t.Errorf("limit %+v that the daemon was started with", before)
	}
	hard = before.Max
	if e := r.do("ulimit -Sn", as("nobody")); text(e, job.Stdout) != fmt.Sprintf("%d\n", before.Cur) {
		t.Errorf("soft limit %q, want the daemon's first %d: Go's own is not to be passed on", text(e, job.Stdout), before.Cur)
	}
}

// TestLimitedJobIsAsCronPromises compares a job with limits to what all jobs get.
func TestLimitedJobIsAsCronPromises(t *testing.T) {
	needRoot(t, "become another account")
	binary := publicBinary(t)
	dir := publicDir(t)
	nobody := accountOf(t, "nobody")
	nobody.Groups = []uint32{4242, nobody.GID}
	r := newTestSpawner(t, Options{Accounts: fakeAccounts{known: nobody}, Limits: limited(3)})
	id := r.start("report", as("nobody"), env("SHELL="+binary, "HOME="+dir, "GODEBUG=bogus", "BYTES=\xff\xfe"))
	got := decode[report](t, r.await(id))
	if got.UID != 65534 || got.EUID != 65534 || got.GID != int(nobody.GID) || got.EGID != int(nobody.GID) {
		t.Errorf("runs as %d/%d:%d/%d, want nobody", got.UID, got.EUID, got.GID, got.EGID)
	}
	if want := []int{4242, int(nobody.GID)}; !slices.Equal(got.Groups, want) {
		t.Errorf("supplementary groups %v, want %v", got.Groups, want)
	}
	if want := []string{binary, "-c", "report"}; !slices.Equal(got.Args, want) {
		t.Errorf("arguments %q, want %q", got.Args, want)
	}
	if got.Dir != dir || got.Umask != 0o022 {
		t.Errorf("directory %s and umask %03o, want %s and 022", got.Dir, got.Umask, dir)
	}
	if pid := r.started[id]; got.PID != pid || got.Session != pid || got.Group != pid {
		t.Errorf("pid %d, session %d, group %d; want %d for all", got.PID, got.Session, got.Group, pid)
	}
	if none := "0000000000000000"; got.Blocked != none || got.Ignored != none {
		t.Errorf("blocked signals %s, ignored %s; want none", got.Blocked, got.Ignored)
	}
	e := r.do("ls /proc/$$/fd; printf %s \"$BYTES\" | od -An -tx1; tr '\\0' '\\n' </proc/$$/environ | grep GO", as("nobody"),
		env("GODEBUG=bogus", "BYTES=\xff\xfe"), stdin("text"))
	if got, want := text(e, job.Stdout), "0\n1\n2\n ff fe\nGODEBUG=bogus\n"; got != want {
		t.Errorf("open files, bytes and environment %q, want %q", got, want)
	}
	wantOutcome(t, r.do("echo 0 >/proc/sys/vm/drop_caches || exit 7", as("nobody")), exited(7))
}

func TestStartReportsWhyNot(t *testing.T) {
	r := newTestSpawner(t, Options{Limits: limited(0)})
	e := r.do("true", env("SHELL=/nonexistent/shell"))
	wantOutcome(t, e, job.Outcome{Kind: job.NotStarted, Error: "run SHELL /nonexistent/shell: no such file or directory"})
	if r.started[e.Run] != 0 {
		t.Error("reported as started")
	}
	e = r.do("pwd", env("HOME=/nonexistent/home"))
	wantOutcome(t, e, exited(0))
	if out, sys := text(e, job.Stdout), text(e, job.System); out != "/\n" || !strings.Contains(sys, "cannot enter /nonexistent/home") {
		t.Errorf("output %q, %q; want a run in / and a word about it", out, sys)
	}
	e = r.do(": " + strings.Repeat("x", 1<<20))
	if e.Outcome.Kind != job.NotStarted || !strings.Contains(e.Outcome.Error, "too long") {
		t.Errorf("outcome %+v, want one not started that says too long", e.Outcome)
	}
	r.stop()
	r = newTestSpawner(t, Options{Limits: limited(0), Family: crontab.RHEL})
	e = r.do("true", env("HOME=/nonexistent/home"))
	wantOutcome(t, e, job.Outcome{Kind: job.NotStarted, Error: "chdir HOME failed: /nonexistent/home: no such file or directory"})
}

func TestStartAtTheLimitOfProcesses(t *testing.T) {
	needLimits(t)
	r := newTestSpawner(t, Options{
		Accounts: fakeAccounts{known: account.Account{Name: "crowd", UID: 987651, GID: 65534, Home: "/"}}, // who has no other processes
		Limits:   limited(0, limit(unix.RLIMIT_NPROC, 0, 0)),
	})
	if r.awaitStart(r.start("exec sleep 1000", as("crowd"))) == 0 {
		t.Fatal("the first process is one too many")
	}
	e := r.do("true", as("crowd"))
	if e.Outcome.Kind != job.NotStarted || !strings.Contains(e.Outcome.Error, "limit of processes") {
		t.Errorf("outcome %+v, want one not started at the limit", e.Outcome)
	}
}

func TestKillWhileStarting(t *testing.T) {
	r := newTestSpawner(t, Options{Limits: limited(0)})
	for range 20 {
		id := r.start("sleep 1000")
		r.spawner.Kill(effect.Kill{Run: id, Signal: syscall.SIGKILL})
		e := r.await(id)
		killed := e.Outcome == job.Outcome{Kind: job.Signalled, Signal: 9}
		before := e.Outcome.Kind == job.NotStarted && (strings.HasSuffix(e.Outcome.Error, "signal 9") || e.Outcome.Error == errCancelled.Error())
		if !killed && !before || killed != (r.started[id] != 0) {
			t.Errorf("outcome %+v, started %t", e.Outcome, r.started[id] != 0)
		}
	}
}

// TestStartIsHandedOver adopts a process whose command has not started yet, such as one that waits
// for a dead file server.
func TestStartIsHandedOver(t *testing.T) {
	status, err := pipe.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	var input [2]int
	if err := syscall.Pipe2(input[:], syscall.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	pid, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", "read x; exit 9"}, &syscall.ProcAttr{Dir: "/", Files: []uintptr{uintptr(input[0]), 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		t.Fatal(err)
	}
	syscall.Close(input[0])
	r := &testSpawner{t: t, spawner: New(Options{}), started: map[job.RunID]int{}, ended: map[job.RunID]Ended{}, last: 1}
	r.spawner.Adopt([]handed.Run{{Run: 1, PID: pid, Child: true, Status: status[0], Progress: &starter.Progress{Command: "/bin/sh", Dir: "/home"}}})
	r.run()
	reports := []byte{'d', 0, byte(syscall.ENOENT), 0, 0, 0}
	if _, err := syscall.Write(status[1], reports); err != nil {
		t.Fatal(err)
	}
	syscall.Close(status[1])
	if got := r.awaitStart(1); got != pid {
		t.Errorf("started as %d, want %d", got, pid)
	}
	syscall.Close(input[1])
	e := r.await(1)
	wantOutcome(t, e, exited(9))
	if got, want := text(e, job.System), "cannot enter /home: no such file or directory; running in /\n"; got != want {
		t.Errorf("diagnostics %q, want %q", got, want)
	}
}

// attacker is a user with no other processes on this machine.
var attacker = account.Account{Name: "attacker", UID: 987652, GID: 65534, Home: "/"}

func init() {
	// It stops every process of its user, from before their programs run, until
	// its own input ends.
	helpers["stop all"] = func() error {
		done := make(chan error, 1)
		go func() {
			_, err := io.Copy(io.Discard, os.Stdin)
			done <- err
		}()
		for {
			_ = syscall.Kill(-1, syscall.SIGSTOP) // ESRCH while there is none
			select {
			case err := <-done:
				return err
			default:
			}
		}
	}
	// It holds a write lease on the file LEASED, and does not react to the kernel's request to
	// release it, until its own input ends.
	helpers["lease"] = func() error {
		signal.Ignore(syscall.SIGIO)
		fd, err := syscall.Open(os.Getenv("LEASED"), syscall.O_RDWR, 0)
		if err != nil {
			return err
		}
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
			return err
		}
		fmt.Println("leased")
		_, err = io.Copy(io.Discard, os.Stdin)
		return err
	}
}

// asAttacker starts a helper with the attacker's rights. Closing the returned
// file ends it.
func asAttacker(t *testing.T, helper string, env ...string) (stdin io.Closer, stdout io.Reader) {
	t.Helper()
	cmd := process(t, publicBinary(t), "-c", helper)
	cmd.Env = append(cmd.Env, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: attacker.UID, Gid: attacker.GID}}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if stdout, err = cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close() })
	return stdin, stdout
}

// TestStartsWhileAUserStopsHisProcesses has a user stop all of their processes as fast as
// possible, including new processes of their jobs, checks and programs. Starts of other users must
// not wait for that.
func TestStartsWhileAUserStopsHisProcesses(t *testing.T) {
	needRoot(t, "become another user")
	r := newTestSpawner(t, Options{Accounts: knownAccounts(accountOf(t, ownName()), attacker)})
	asAttacker(t, "stop all")
	for range 200 {
		r.start("true", as(attacker.Name))
		r.ask("true", as(attacker.Name))
		ctx, cancel := context.WithCancel(t.Context())
		go r.spawner.Exec(ctx, Tool{Argv: []string{"true"}, As: &attacker})
		wantOutcome(t, r.do("exit 5"), exited(5))
		cancel()
	}
}

// TestStartsWhileAShellIsLeased has a user hold a lease on the program that is
// his jobs' SHELL: the kernel lets execve wait for lease-break-time, 45 s.
func TestStartsWhileAShellIsLeased(t *testing.T) {
	needRoot(t, "become another user")
	r := newTestSpawner(t, Options{Accounts: knownAccounts(accountOf(t, ownName()), attacker)})
	shell := publicBinary(t)
	if err := os.Chown(shell, int(attacker.UID), int(attacker.GID)); err != nil {
		t.Fatal(err)
	}
	_, said := asAttacker(t, "lease", "LEASED="+shell)
	if line, err := bufio.NewReader(said).ReadString('\n'); line != "leased\n" {
		t.Fatalf("the lease was not taken: %q, %v", line, err)
	}
	late := r.start("exit 0", as(attacker.Name), env("SHELL="+shell))
	waits := func() bool { return r.started[late] == 0 && r.ended[late].Run == 0 }
	for i := 0; i < 20 && waits(); i++ { // on a slow machine the kernel's limit comes first
		if wantOutcome(t, r.do("exit 5"), exited(5)); i == 0 && !waits() {
			t.Fatal("the job did not wait for the lease, so that nothing was tested")
		}
	}
}

// knownAccounts are all that there are.
func knownAccounts(all ...account.Account) Accounts {
	known := accounts{}
	for _, a := range all {
		known[a.Name] = a
	}
	return known
}

type accounts map[string]account.Account

func (accounts) Group(string) (uint32, bool) { return 0, false }

func (a accounts) Known(name string) (account.Account, bool) {
	who, ok := a[name]
	return who, ok
}

func (a accounts) Find(_ context.Context, name string) (account.Account, error) {
	return account.Account{}, fmt.Errorf("no user %s", name)
}

// TestTableOfFilesDoesNotGrow reads the size of the kernel's table of open files:
// see extendTable.
func TestTableOfFilesDoesNotGrow(t *testing.T) {
	r := newTestSpawner(t, Options{})
	r.do("true")
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	size, err := strconv.ParseUint(field(string(status), "FDSize:"), 10, 64)
	if want := min(limit.Cur, self.WantedFiles); err != nil || size < want {
		t.Errorf("the table has room for %d files (%v), want the limit, %d", size, err, want)
	}
}

// TestPrecedence compares the daemon's nice value with that of its jobs.
func TestPrecedence(t *testing.T) {
	needRoot(t, "raise a priority")
	before := niceOf(t)
	r := newTestSpawner(t, Options{Precedence: true})
	g := newGate(t)
	id := r.start("nice; " + g.command()) // the daemon's threads are looked at while it runs
	r.awaitStart(id)
	for tid, nice := range niceOf(t) {
		if want := max(before[os.Getpid()]-self.Advantage, -20); nice != want {
			t.Errorf("thread %d has nice value %d, want %d", tid, nice, want)
		}
	}
	g.open(1)
	if got, want := text(r.await(id), job.Stdout), fmt.Sprintln(before[os.Getpid()]); got != want {
		t.Errorf("nice value of a job %q, want the original %q", got, want)
	}
	nice := 7
	r.spawner.maker.Limits = func(account.Account) account.Limits { return account.Limits{Nice: &nice} }
	if got := text(r.do("nice"), job.Stdout); got != "7\n" {
		t.Errorf("nice value of a job with a limit %q, want 7", got)
	}
	r.stop()
	for tid, nice := range niceOf(t) {
		if want := before[os.Getpid()]; nice != want {
			t.Errorf("thread %d has nice value %d after Run, want %d", tid, nice, want)
		}
	}
}

// niceOf reads the nice values of the threads of this process.
func niceOf(t *testing.T) map[int]int {
	t.Helper()
	all := map[int]int{}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		tid, err := strconv.Atoi(thread.Name())
		if err != nil {
			t.Fatal(err)
		}
		if nice, err := unix.Getpriority(unix.PRIO_PROCESS, tid); err == nil { // it may have ended
			all[tid] = 20 - nice
		}
	}
	return all
}

// TestWorkingWhileTheStarterHangs stops the starter, which only the daemon's own
// user can, and lets it continue.
func TestWorkingWhileTheStarterHangs(t *testing.T) {
	r := newTestSpawner(t, Options{})
	r.do("true")
	poll(t, "that the process loop waits", func() bool { return r.spawner.Working() == 0 })
	pid := r.starterPID()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	id := r.start("exit 5")
	poll(t, "that the process loop is stuck", func() bool { return r.spawner.Working() > 50*time.Millisecond })
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, r.await(id), exited(5))
	poll(t, "that the process loop waits again", func() bool { return r.spawner.Working() == 0 })
}

// starterPID requests the pid from the goroutine that owns the starter.
func (r *testSpawner) starterPID() int {
	pid := make(chan int, 1)
	r.spawner.loop.Call(func() { pid <- r.spawner.starter.PID() })
	return receive(r, "the starter's number", pid)
}

func TestStartAfterTheStarterWasKilled(t *testing.T) {
	r := newTestSpawner(t, Options{})
	wantOutcome(t, r.do("exit 5"), exited(5))
	for range 3 {
		pid := r.starterPID()
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		poll(t, "that it was reaped", func() bool { return syscall.Kill(pid, 0) != nil })
		wantOutcome(t, r.do("exit 5"), exited(5))
	}
}

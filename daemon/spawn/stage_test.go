package spawn

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
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
		t.Skip("SKIPPED, NOT TESTED: this root may set no limits:", err)
	}
}

func TestStageSetsLimitsBeforeTheShell(t *testing.T) {
	needLimits(t)
	r := newRig(t, Options{Limits: limited(7,
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

func TestStageKeepsHalfOfALimit(t *testing.T) {
	needLimits(t)
	hard := uint64(100)
	r := newRig(t, Options{Limits: func(account.Account) account.Limits {
		return account.Limits{Resources: []account.Limit{{Resource: unix.RLIMIT_NOFILE, Hard: &hard}}}
	}})
	var before unix.Rlimit
	if e := r.do("ulimit -Sn", as("nobody")); text(e, job.Stdout) != "100\n" {
		t.Errorf("soft limit %q under a hard one of 100", text(e, job.Stdout))
	}
	if before = r.spawner.files.original(); before.Cur == 0 {
		t.Errorf("limit %+v that the daemon was started with", before)
	}
	hard = before.Max
	if e := r.do("ulimit -Sn", as("nobody")); text(e, job.Stdout) != fmt.Sprintf("%d\n", before.Cur) {
		t.Errorf("soft limit %q, want the daemon's first %d: Go's own is not to be passed on", text(e, job.Stdout), before.Cur)
	}
}

// TestStageLeavesWhatCronPromises holds a job with a first stage to what the
// others get.
func TestStageLeavesWhatCronPromises(t *testing.T) {
	needRoot(t, "become another account")
	binary := publicBinary(t)
	dir := publicDir(t)
	nobody := accountOf(t, "nobody")
	nobody.Groups = []uint32{4242, nobody.GID}
	r := newRig(t, Options{Accounts: fakeAccounts{known: nobody}, Limits: limited(3)})
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

func TestStageTellsWhyItCouldNot(t *testing.T) {
	r := newRig(t, Options{Limits: limited(0)})
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
	r = newRig(t, Options{Limits: limited(0), Family: crontab.RHEL})
	e = r.do("true", env("HOME=/nonexistent/home"))
	wantOutcome(t, e, job.Outcome{Kind: job.NotStarted, Error: "chdir HOME failed: /nonexistent/home: no such file or directory"})
}

func TestStageAtTheLimitOfProcesses(t *testing.T) {
	needLimits(t)
	r := newRig(t, Options{
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

func TestStageStoppedHalfWay(t *testing.T) {
	r := newRig(t, Options{Limits: limited(0)})
	for range 20 {
		id := r.start("sleep 1000")
		r.spawner.Kill(engine.Kill{Run: id, Signal: syscall.SIGKILL})
		e := r.await(id)
		killed := e.Outcome == job.Outcome{Kind: job.Signalled, Signal: 9}
		before := e.Outcome.Kind == job.NotStarted && (strings.HasSuffix(e.Outcome.Error, "signal 9") || e.Outcome.Error == errCancelled.Error())
		if !killed && !before || killed != (r.started[id] != 0) {
			t.Errorf("outcome %+v, started %t", e.Outcome, r.started[id] != 0)
		}
	}
}

// TestStageIsHandedOver holds a Spawner that will wait no longer while a first
// stage is under way, as one may be that waits for a dead file server.
func TestStageIsHandedOver(t *testing.T) {
	status, err := openPipe(nil)
	if err != nil {
		t.Fatal(err)
	}
	var input [2]int
	if err := syscall.Pipe2(input[:], syscall.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	pid, err := forkExec(command{path: "/bin/sh", argv: []string{"sh", "-c", "read x; exit 9"}, dir: "/"}, []uintptr{uintptr(input[0]), 1, 2})
	if err != nil {
		t.Fatal(err)
	}
	syscall.Close(input[0])
	r := &rig{t: t, spawner: New(Options{}), started: map[job.RunID]int{}, ended: map[job.RunID]Ended{}, last: 1}
	r.spawner.Adopt([]Handed{{Run: 1, PID: pid, Child: true, Status: status[0], Stage: &staging{Command: "/bin/sh", Dir: "/home"}}})
	r.run()
	reports := []byte{stepDir, 0, byte(syscall.ENOENT), 0, 0, 0, stepReady, 0, 0, 0, 0, 0}
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
		t.Errorf("remarks %q, want %q", got, want)
	}
}

// TestStageIsNoWayUp calls a first stage as somebody without rights, who asks
// to become root.
func TestStageIsNoWayUp(t *testing.T) {
	binary := publicBinary(t)
	run := func(plan string) string {
		fd, err := openInput(plan)
		if err != nil {
			t.Fatal(err)
		}
		file := os.NewFile(uintptr(fd), "plan")
		defer file.Close()
		cmd := process(t, binary)
		cmd.Args = []string{stageName}
		reports, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer reports.Close()
		cmd.ExtraFiles = []*os.File{file, reports}
		cmd.SysProcAttr = dropped()
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	id := `"Path":"L3Vzci9iaW4vaWQ=","Argv":["aWQ="],"Env":[],"Dir":"Lw=="`
	me := accountOf(t, somebody())
	if got := run(`{` + id + `}`); !strings.Contains(got, fmt.Sprintf("uid=%d", me.UID)) {
		t.Errorf("output %q, want id as somebody: else this tests nothing", got)
	}
	if got := run(`{"Become":true,` + id + `}`); strings.Contains(got, "uid=") {
		t.Errorf("output %q of a stage that was to become root", got)
	}
	if got := run("not a plan"); !strings.Contains(got, "part of the daemon") {
		t.Errorf("output %q, want it to say what this is", got)
	}
}

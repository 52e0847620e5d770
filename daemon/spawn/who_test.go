package spawn

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/self"
)

// report is a child's view of its own process.
type report struct {
	UID, EUID, GID, EGID int
	Groups               []int
	Dir                  string
	Umask                int
	PID, Session, Group  int
	Env                  []string
	Args                 []string
	Blocked, Ignored     string
}

func init() {
	helpers["report"] = func() error {
		groups, err := syscall.Getgroups()
		if err != nil {
			return err
		}
		slices.Sort(groups)
		dir, err := syscall.Getwd()
		if err != nil {
			return err
		}
		session, _, _ := syscall.RawSyscall(syscall.SYS_GETSID, 0, 0, 0)
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(report{
			UID: os.Getuid(), EUID: os.Geteuid(), GID: os.Getgid(), EGID: os.Getegid(),
			Groups: groups, Dir: dir, Umask: syscall.Umask(0),
			PID: os.Getpid(), Session: int(session), Group: syscall.Getpgrp(),
			Env: os.Environ(), Args: os.Args,
			Blocked: field(string(status), "SigBlk:"), Ignored: field(string(status), "SigIgn:"),
		})
	}
}

// fakeAccounts finds one user immediately, and others slowly.
type fakeAccounts struct {
	known account.Account
	find  func(ctx context.Context, name string) (account.Account, error)
}

func (fakeAccounts) Group(string) (uint32, bool) { return 0, false }

func (f fakeAccounts) Known(name string) (account.Account, bool) {
	return f.known, name == f.known.Name
}

func (f fakeAccounts) Find(ctx context.Context, name string) (account.Account, error) {
	return f.find(ctx, name)
}

func accountOf(t *testing.T, name string) account.Account {
	t.Helper()
	a, err := account.New(account.Options{}).Find(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func field(status, name string) string {
	_, value, _ := strings.Cut(status, name)
	value, _, _ = strings.Cut(value, "\n")
	return strings.TrimSpace(value)
}

func TestChildSeesWhatCronPromises(t *testing.T) {
	binary := publicBinary(t)
	dir := publicDir(t)
	r := newTestSpawner(t, Options{Node: "alpha"})
	id := r.start("report", func(s *effect.Start) {
		s.Job.ID = "nightly"
		s.LastSuccess = time.Date(2023, 11, 14, 7, 13, 20, 0, time.FixedZone("", 9*3600))
		s.Run.Parents = []job.Parent{{Job: "dump", Run: 7, Verdict: job.VerdictOK}, {Job: "load"}}
		s.Job.Zone = "America/New_York"
		s.Job.Env = []string{"SHELL=" + binary, "HOME=" + dir, "TZ=Asia/Tokyo", "X=1", "X=2", "LOGNAME=evil", "USER=evil", "CRONRING_JOB=evil", "CRONRING_NODE=evil", "TRACEPARENT=evil", "E="}
		s.Run.Invocation = "0123456789abcdef0123456789abcdef"
		s.Run.Env = []string{"FULL=yes", "X=3", "TZ=Asia/Seoul"}
		s.Run.Attempt, s.Run.Token = 2, 9
		s.Run.Trigger = job.TriggerRetry
		s.Job.Shard, s.Job.Shards = 1, 4
	})
	got := decode[report](t, r.await(id))
	me := ownName()
	wantEnv := []string{
		"SHELL=" + binary, "HOME=" + dir, "PATH=/usr/bin:/bin", "TZ=Asia/Seoul", "X=3", "FULL=yes", "LOGNAME=" + me, "USER=" + me,
		"CRONRING_JOB=nightly", "E=", "CRONRING_INVOCATION_ID=0123456789abcdef0123456789abcdef", "CRONRING_RUN_ID=1",
		"CRONRING_DUE=2023-11-14T22:13:20Z", "CRONRING_DUE_LOCAL=2023-11-14T17:13:20-05:00",
		"CRONRING_ATTEMPT=2", "CRONRING_TRIGGER=retry", "CRONRING_NODE=alpha", "CRONRING_SHARD=1", "CRONRING_SHARDS=4", "CRONRING_FENCING_TOKEN=9",
		"CRONRING_LAST_SUCCESS=2023-11-13T22:13:20Z", "CRONRING_PARENTS=dump:ok:7,load::0",
		"TRACEPARENT=00-0123456789abcdef0123456789abcdef-6d2cc645b035e518-01",
	}
	slices.Sort(wantEnv)
	slices.Sort(got.Env)
	if !slices.Equal(got.Env, wantEnv) {
		t.Errorf("environment\n%s\nwant\n%s", strings.Join(got.Env, "\n"), strings.Join(wantEnv, "\n"))
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
}

func TestPrivilegeIsReallyDropped(t *testing.T) {
	needRoot(t, "become another account")
	binary := publicBinary(t)
	nobody := accountOf(t, "nobody")
	uid, gid := int(nobody.UID), int(nobody.GID)
	nobody.Groups = append(nobody.Groups, 4242, 4243)
	r := newTestSpawner(t, Options{Accounts: fakeAccounts{known: nobody}})
	got := decode[report](t, r.do("report", as("nobody"), env("SHELL="+binary)))
	if got.UID != uid || got.EUID != uid || got.GID != gid || got.EGID != gid {
		t.Errorf("runs as %d/%d:%d/%d, want %d:%d", got.UID, got.EUID, got.GID, got.EGID, uid, gid)
	}
	if want := []int{4242, 4243, gid}; !slices.Equal(got.Groups, want) {
		t.Errorf("supplementary groups %v, want %v", got.Groups, want)
	}
	wantOutcome(t, r.do("echo 0 >/proc/sys/vm/drop_caches || exit 7", as("nobody")), exited(7))
}

func TestChildInheritsNoFiles(t *testing.T) {
	leak, err := syscall.Open("/etc/passwd", syscall.O_RDONLY, 0) // without close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(leak)
	r := newTestSpawner(t, Options{})
	g := newGate(t)
	other := r.start(g.command()) // its pipes are open while the next one starts
	r.awaitStart(other)
	e := r.do("ls /proc/$$/fd; :", stdin("text"))
	if got := strings.Fields(text(e, job.Stdout)); !slices.Equal(got, []string{"0", "1", "2"}) {
		t.Errorf("open files %v, want 0 1 2", got)
	}
	g.open(1)
	r.await(other)
}

// TestSignalsAreReset starts a daemon that is run with signals ignored and
// blocked, as nohup and careless parents do.
func TestSignalsAreReset(t *testing.T) {
	binary := publicBinary(t)
	out, err := process(t, "/bin/sh", "-c",
		"trap '' HUP INT QUIT PIPE TERM TSTP TTIN TTOU USR1 CHLD; ulimit -Sn 500; exec "+binary+" -c 'bad parent'").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n500\n"
	if string(out) != want {
		t.Errorf("the job sees\n%s\nwant\n%s", out, want)
	}
}

func init() {
	helpers["bad parent"] = func() error {
		var all unix.Sigset_t
		for i := range all.Val {
			all.Val[i]-- // each bit is set
		}
		runtime.LockOSThread()
		if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, nil); err != nil {
			return err
		}
		ignore := [4]uint64{1} // SIG_IGN, for a signal of the C library's, as under make
		if _, _, e := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, self.FirstReserved, uintptr(unsafe.Pointer(&ignore)), 0, 8, 0, 0); e != 0 {
			return e
		}
		return syscall.Exec("/proc/self/exe", []string{os.Args[0], "-c", "daemon of a bad parent"}, os.Environ())
	}
	helpers["daemon of a bad parent"] = func() error {
		t := &helperT{}
		defer t.finish()
		e := newTestSpawner(t, Options{}).do("grep -E 'Sig(Blk|Ign)' /proc/self/status; ulimit -Sn")
		fmt.Print(text(e, job.Stdout), text(e, job.Stderr))
		return nil
	}
}

func TestHomeThatCannotBeEntered(t *testing.T) {
	r := newTestSpawner(t, Options{})
	for _, home := range []string{"/nonexistent/home", "/etc/passwd", ""} {
		e := r.do("pwd; echo $HOME", env("HOME="+home))
		wantOutcome(t, e, exited(0))
		if got, want := text(e, job.Stdout), "/\n"+home+"\n"; got != want {
			t.Errorf("HOME=%s: output %q, want %q", home, got, want)
		}
		if got := text(e, job.System); !strings.Contains(got, "running in /") || !strings.Contains(got, home) {
			t.Errorf("HOME=%s: %q does not say where it runs", home, got)
		}
	}
}

func TestHomeOfTheAccount(t *testing.T) {
	me := accountOf(t, somebody())
	me.Home = "/usr/lib"
	r := newTestSpawner(t, Options{Accounts: fakeAccounts{known: me}})
	noHome := func(s *effect.Start) { s.Job.Env = nil }
	e := r.do("pwd; echo $HOME; id -u", as(me.Name), noHome)
	if got, want := text(e, job.Stdout), fmt.Sprintf("/usr/lib\n/usr/lib\n%d\n", me.UID); got != want {
		t.Errorf("output %q, want %q", got, want)
	}
}

func TestUnknownUser(t *testing.T) {
	r := newTestSpawner(t, Options{})
	for _, name := range []string{"nobody-of-that-name", "4711"} {
		e := r.do("true", as(name))
		wantOutcome(t, e, job.Outcome{Kind: job.NotStarted, Error: "unknown user " + name})
	}
}

func TestOtherUserWithoutPrivilege(t *testing.T) {
	binary := publicBinary(t)
	cmd := process(t, binary, "-c", "run as root")
	cmd.Env = append(cmd.Env, "TMPDIR=/tmp")
	cmd.SysProcAttr = dropped()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	me := somebody()
	if want := "not started: cannot become root: the daemon runs as " + me + "\nok " + me + "\n"; string(out) != want {
		t.Errorf("%q, want %q", out, want)
	}
}

// TestNumberWithoutAName is a container that runs the daemon under a number
// that /etc/passwd does not have.
func TestNumberWithoutAName(t *testing.T) {
	needRoot(t, "become another account")
	cmd := process(t, publicBinary(t), "-c", "run as myself")
	cmd.Env = []string{"HOME=/usr/lib"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 987654, Gid: 65534}}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if want := "987654 987654 /usr/lib\n"; string(out) != want {
		t.Errorf("%q, want %q", out, want)
	}
}

func init() {
	helpers["run as root"] = func() error {
		t := &helperT{}
		defer t.finish()
		r := newTestSpawner(t, Options{})
		fmt.Println(r.do("true", as("root")).Outcome)
		e := r.do("id -un", as(ownName()))
		fmt.Print(e.Outcome, " ", text(e, job.Stdout))
		return nil
	}
	helpers["run as myself"] = func() error {
		t := &helperT{}
		defer t.finish()
		r := newTestSpawner(t, Options{})
		me := strconv.Itoa(os.Geteuid())
		e := r.do("echo $(id -u) $LOGNAME $PWD", as(me), func(s *effect.Start) { s.Job.Env = nil })
		fmt.Print(text(e, job.Stdout), text(e, job.System), text(e, job.Stderr))
		return nil
	}
}

func TestEnvironmentInItsOrder(t *testing.T) {
	me := accountOf(t, ownName())
	r := newTestSpawner(t, Options{
		Accounts: fakeAccounts{known: me},
		Family:   crontab.RHEL,
		BaseEnv: func(a account.Account) []string {
			return []string{"PATH=/from/etc", "LANG=C", "SHELL=/from/etc", "LOGNAME=etc", "EDITOR=ed", "FOR=" + a.Name}
		},
	})
	e := r.do("/usr/bin/env", env("EDITOR=vi", "USER=evil", "B=2"))
	for _, want := range []string{
		"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "SHELL=/bin/sh", "LANG=C", "EDITOR=vi", "B=2",
		"FOR=" + me.Name, "LOGNAME=" + me.Name, "USER=" + me.Name,
	} {
		if out := "\n" + text(e, job.Stdout); strings.Count(out, "\n"+want+"\n") != 1 {
			t.Errorf("%s is not in the environment once:%s", want, out)
		}
	}
}

func TestHomeThatCannotBeEnteredOnRHEL(t *testing.T) {
	r := newTestSpawner(t, Options{Family: crontab.RHEL})
	for home, want := range map[string]string{
		"/nonexistent/home": "chdir HOME failed: /nonexistent/home: no such file or directory",
		"/etc/passwd":       "chdir HOME failed: /etc/passwd: not a directory",
		"":                  "chdir HOME failed: HOME is empty",
	} {
		wantOutcome(t, r.do("true", env("HOME="+home)), job.Outcome{Kind: job.NotStarted, Error: want})
	}
	e := r.do("true", env("SHELL=/nonexistent/shell"))
	wantOutcome(t, e, job.Outcome{Kind: job.NotStarted, Error: "run SHELL /nonexistent/shell: no such file or directory"})
}

func TestDirectoryOfAnEntryWithOne(t *testing.T) {
	for _, family := range []crontab.Family{crontab.Debian, crontab.RHEL} {
		r := newTestSpawner(t, Options{Family: family})
		e := r.do("pwd; echo $SHELL $HOME; echo $0", env("SHELL=/bin/false", "HOME=/nonexistent"), func(s *effect.Start) { s.Job.Dir = "/usr" })
		if got, want := text(e, job.Stdout), "/usr\n/bin/false /nonexistent\n/bin/sh\n"; got != want {
			t.Errorf("output %q, want %q: Dir comes before HOME, and /bin/sh runs it", got, want)
		}
		r.stop()
	}
}

package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/packaging/machinetest"
)

// TestMain is also the helper of the units that the tests start.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "become" {
		Become()
	}
	os.Exit(m.Run())
}

// TestLab boots a machine with systemd and runs the tests whose names begin with TestIn there.
func TestLab(t *testing.T) { machinetest.RunTests(t, "SESSION_LAB") }

const patience = hosttest.Patience

// machineManager is a Manager in a machine that a test may change.
type machineManager struct {
	*Manager
	t *testing.T
}

var furnish = sync.OnceValue(func() error {
	for path, text := range map[string]string{
		"/etc/pam.d/lab": "account required pam_unix.so\nsession required pam_unix.so\nsession required pam_limits.so\n" +
			"session required pam_env.so\nsession required pam_loginuid.so\n",
		"/etc/pam.d/lab-logind": "account required pam_unix.so\nsession required pam_systemd.so\n",
		"/etc/pam.d/lab-cron": "auth optional pam_group.so\naccount required pam_unix.so\naccount required pam_access.so\n" +
			"account required pam_time.so\nsession required pam_unix.so\n",
		"/etc/security/access.conf":         "-:carol:cron\n",
		"/etc/security/group.conf":          "lab-cron;cron;bob;Al0000-2400;games\n",
		"/etc/security/time.conf":           "lab-cron;cron;dave;!Al0000-2400\n",
		"/etc/environment":                  "FROM_PAM=yes\nPATH=/evil\nBOTH=pam\n",
		"/etc/security/limits.d/bob.conf":   "bob - nofile 77\nbob soft core 0\n",
		"/etc/security/limits.d/all.conf":   "* - nofile 88\n",
		"/usr/local/bin/exits-at-once":      "#!/bin/sh\nexit 203\n",
		"/etc/security/limits.d/carol.conf": "carol - nofile 10:10\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			return err
		}
	}
	if _, err := user.Lookup("bob"); err == nil {
		return nil // the machine was not booted for this
	}
	for _, argv := range [][]string{
		{"useradd", "-m", "-u", "2001", "bob"},
		{"useradd", "-m", "-u", "2002", "expired"}, {"chage", "-E", "0", "expired"},
		{"useradd", "-m", "-u", "2003", "stale"}, {"chage", "-d", "0", "stale"},
		{"useradd", "-m", "-u", "2004", "carol"}, {"useradd", "-m", "-u", "2005", "dave"},
		{"groupadd", "-g", "3001", "extra"}, {"usermod", "-aG", "extra", "bob"},
	} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w: %s", argv, err, out)
		}
	}
	return nil
})

func newMachineManager(t *testing.T) *machineManager {
	t.Helper()
	if os.Getenv("SESSION_LAB") == "" {
		t.Skip("runs in the machine that TestLab boots")
	}
	if err := furnish(); err != nil {
		t.Fatal(err)
	}
	return &machineManager{Manager: New("/lab/lab.test", "become"), t: t}
}

// run is a job with pipes around it.
type run struct {
	Process
	stdin  *os.File
	stdout *os.File
	stderr *os.File
}

var lastUnit = 0

func spec(command string, edit ...func(*Spec)) Spec {
	lastUnit++
	s := Spec{
		Name:        fmt.Sprintf("lab-run-%d.service", lastUnit),
		Description: "a job of the lab",
		User:        "bob",
		PAMName:     "lab",
		Argv:        []string{"/bin/sh", "-c", command},
		Env:         []string{"PATH=/usr/bin:/bin", "SECRET=hush", "HOME=/home/bob", "BOTH=job", "RAW=\xff\xfe$HOME%"},
		Dir:         "/home/bob",
		Umask:       0o027,
	}
	for _, e := range edit {
		e(&s)
	}
	return s
}

func (l *machineManager) try(s Spec) (*run, error) {
	l.t.Helper()
	var near, far [3]*os.File
	for i := range near {
		r, w, err := os.Pipe()
		if err != nil {
			l.t.Fatal(err)
		}
		near[i], far[i] = r, w
		if i == 0 {
			near[i], far[i] = w, r
		}
		defer far[i].Close()
		l.t.Cleanup(func() { near[i].Close() })
	}
	s.Files = far
	ctx, cancel := context.WithTimeout(l.t.Context(), patience)
	defer cancel()
	p, err := l.Start(ctx, s)
	return &run{p, near[0], near[1], near[2]}, err
}

func (l *machineManager) start(command string, edit ...func(*Spec)) *run {
	l.t.Helper()
	r, err := l.try(spec(command, edit...))
	if err != nil {
		l.t.Fatalf("Start(%q): %v", command, err)
	}
	return r
}

func (l *machineManager) await(unit string) End {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), patience)
	defer cancel()
	e, err := l.Wait(ctx, unit)
	if err != nil {
		l.t.Fatal(err)
	}
	return e
}

// finish awaits the end, and reads the output before it lets the unit go.
func (l *machineManager) finish(r *run) (stdout, stderr string, e End) {
	l.t.Helper()
	stdout, stderr = readAll(l.t, r.stdout), readAll(l.t, r.stderr)
	e = l.await(r.Unit)
	if err := l.Release(l.t.Context(), r.Unit); err != nil {
		l.t.Errorf("Release: %v", err)
	}
	return stdout, stderr, e
}

func readAll(t *testing.T, f *os.File) string {
	t.Helper()
	if err := f.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(f)
	if err != nil {
		t.Fatalf("read output: %v; so far %q", err, data)
	}
	return string(data)
}

func TestInSession(t *testing.T) {
	l := newMachineManager(t)
	r := l.start(`
		echo id $(id -u) $(id -G); echo pwd $(pwd); echo umask $(umask); echo nofile $(ulimit -n) core $(ulimit -c)
		echo loginuid $(cat /proc/self/loginuid); echo leader $(ps -o pid=,sid=,pgid= -p $$); echo pid $$
		echo zero $(readlink /proc/$$/fd/0 | cut -c1-4) more $(ls /proc/$$/fd | wc -l) # one is of the substitution
		echo signals $(grep -E 'Sig(Blk|Ign)' /proc/$$/status); env; echo oops >&2`)
	stdout, stderr, e := l.finish(r)
	if want := (job.Outcome{Kind: job.Exited}); e.Outcome != want || e.PID != r.PID || time.Since(e.At) > patience {
		t.Errorf("end %+v, want %+v of pid %d", e, want, r.PID)
	}
	if stderr != "oops\n" {
		t.Errorf("standard error %q", stderr)
	}
	pid := fmt.Sprint(r.PID)
	for _, want := range []string{
		"id 2001 2001 3001", "pwd /home/bob", "umask 0027", "nofile 77 core 0", "loginuid 2001",
		"leader " + pid + " " + pid + " " + pid, "pid " + pid, "zero pipe more 4",
		"signals SigBlk: 0000000000000000 SigIgn: 0000000000000000",
		"FROM_PAM=yes", "BOTH=job", "PATH=/usr/bin:/bin", "SECRET=hush", "HOME=/home/bob", "RAW=\xff\xfe$HOME%", "LOGNAME=bob",
	} {
		if !strings.Contains("\n"+stdout, "\n"+want+"\n") {
			t.Errorf("no line %q in\n%s", want, stdout)
		}
	}
	for _, name := range fromSystemd {
		if strings.Contains("\n"+stdout, "\n"+name+"=") {
			t.Errorf("%s is set:\n%s", name, stdout)
		}
	}
}

func TestInLogindSession(t *testing.T) {
	l := newMachineManager(t)
	r := l.start(`echo dir $XDG_RUNTIME_DIR; loginctl show-session $XDG_SESSION_ID -p Name -p Class -p Service; cat`,
		func(s *Spec) { s.PAMName = "lab-logind" })
	// The job is in another control group than its unit now.
	if err := r.stdin.Close(); err != nil {
		t.Error(err)
	}
	stdout, stderr, e := l.finish(r)
	for _, want := range []string{"dir /run/user/2001", "Name=bob", "Class=background", "Service=lab-logind"} {
		if !strings.Contains("\n"+stdout, "\n"+want+"\n") {
			t.Errorf("no line %q in\n%s%s", want, stdout, stderr)
		}
	}
	if !e.Outcome.OK() {
		t.Errorf("outcome %+v", e.Outcome)
	}
	r = l.start("exec sleep 1000", func(s *Spec) { s.PAMName = "lab-logind" })
	if err := l.Kill(t.Context(), r.Unit, syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if _, _, e := l.finish(r); e.Outcome.Signal != int(syscall.SIGTERM) {
		t.Errorf("outcome %+v, want signal 15", e.Outcome)
	}
}

// Modules that look for cron's terminal find it.
func TestInGroupsOfPAM(t *testing.T) {
	l := newMachineManager(t)
	stdout, _, _ := l.finish(l.start("id -Gn; echo terminal $TERM", func(s *Spec) { s.PAMName = "lab-cron" }))
	if want := "bob games extra\nterminal\n"; stdout != want {
		t.Errorf("printed %q, want %q", stdout, want)
	}
}

func TestInOutcomes(t *testing.T) {
	l := newMachineManager(t)
	exited := func(code int) job.Outcome { return job.Outcome{Kind: job.Exited, Code: code} }
	signalled := func(n syscall.Signal) job.Outcome { return job.Outcome{Kind: job.Signalled, Signal: int(n)} }
	for command, want := range map[string]job.Outcome{
		"true":                              exited(0),
		"exit 3":                            exited(3),
		"exit 255":                          exited(255),
		"exit 203":                          exited(203), // systemd's own words for a helper that is not there,
		"exit 217":                          exited(217), // an unknown user,
		"exit 224":                          exited(224), // and a refusal of PAM
		"exec /usr/local/bin/exits-at-once": exited(203),
		"kill -TERM $$":                     signalled(syscall.SIGTERM),
		"kill -KILL $$":                     signalled(syscall.SIGKILL),
		"kill -PIPE $$":                     signalled(syscall.SIGPIPE),
		"ulimit -c 0; kill -SEGV $$":        signalled(syscall.SIGSEGV),
		"kill -s RTMAX $$":                  signalled(64),
	} {
		r := l.start(command)
		_, stderr, e := l.finish(r)
		if e.Outcome != want {
			t.Errorf("%s: outcome %+v, want %+v; it said %q", command, e.Outcome, want, stderr)
		}
		awaitGone(t, r.Unit) // after PAM process of the session
	}
	if out, _ := exec.Command("systemctl", "is-system-running").Output(); string(out) != "running\n" {
		t.Errorf("the machine is %q after jobs that failed, want running", out)
	}
}

func TestInRefusals(t *testing.T) {
	l := newMachineManager(t)
	user := func(name string) func(*Spec) { return func(s *Spec) { s.User = name } }
	for _, test := range []struct {
		what string
		edit func(*Spec)
		want string
	}{
		{"an expired account", user("expired"), "PAM refused the account or its session: see its messages about lab"},
		{"a password to be changed", user("stale"), "PAM refused"},
		{"a user whom pam_access denies", func(s *Spec) { s.User, s.PAMName = "carol", "lab-cron" }, "PAM refused the account or its session: see its messages about lab-cron"},
		{"a user whom pam_time denies", func(s *Spec) { s.User, s.PAMName = "dave", "lab-cron" }, "PAM refused"},
		{"an unknown user", user("nobody-here"), "become the user: unknown"},
		{"a number", user("2001"), "a number"},
		{"a strange user", user("a\x1b b"), "Invalid User setting: a b"},
		{"no SHELL", func(s *Spec) { s.Argv[0] = "/no/such/shell" }, "run SHELL /no/such/shell: no such file or directory"},
		{"a SHELL that is none", func(s *Spec) { s.Argv[0] = "/etc/passwd" }, "run SHELL /etc/passwd: permission denied"},
		{"no directory", func(s *Spec) { s.Dir = "/no/such" }, "cannot enter /no/such: no such file or directory"},
		{"root's directory", func(s *Spec) { s.Dir = "/root" }, "cannot enter /root: permission denied"},
		{"an argument that is too long", func(s *Spec) { s.Argv[2] = strings.Repeat("x", 140<<10) }, "argument list too long"},
		{"no relative path", func(s *Spec) { s.Argv[0] = "sh" }, "no absolute path"},
		{"no name", func(s *Spec) { s.Name = "../x" }, "is not the name of a service"},
	} {
		r, err := l.try(spec("echo it ran", test.edit))
		var not *NotStartedError
		if !errors.As(err, &not) || !strings.Contains(not.Reason, test.want) || !not.Unrun {
			t.Errorf("%s: %+v, want a NotStartedError with %q of a job that was not executed", test.what, err, test.want)
		}
		if stdout := readAll(t, r.stdout); stdout != "" { // and no process holds the pipe
			t.Errorf("%s: output %q", test.what, stdout)
		}
	}
	if out, _ := exec.Command("systemctl", "is-system-running").Output(); string(out) != "running\n" {
		t.Errorf("the machine is %q after refusals, want running", out)
	}
}

func TestInFallbackDirectory(t *testing.T) {
	l := newMachineManager(t)
	r := l.start("pwd", func(s *Spec) { s.Dir, s.Fallback = "/root", true })
	if want := "cannot enter /root: permission denied; running in /"; r.Note != want {
		t.Errorf("note %q, want %q", r.Note, want)
	}
	if stdout, _, _ := l.finish(r); stdout != "/\n" {
		t.Errorf("ran in %q, want /", stdout)
	}
}

func TestInSameNameIsRefused(t *testing.T) {
	l := newMachineManager(t)
	s := spec("cat")
	first, err := l.try(s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.try(s); err == nil {
		t.Error("a second unit of the same name was started")
	}
	l2 := newMachineManager(t) // does not know of the first
	if _, err := l2.try(s); err == nil {
		t.Error("a second unit of the same name was started by another daemon")
	}
	if _, err := first.stdin.WriteString("still here"); err != nil {
		t.Error(err)
	}
	first.stdin.Close()
	if stdout, _, e := l.finish(first); stdout != "still here" || !e.Outcome.OK() {
		t.Errorf("the first printed %q and ended %+v", stdout, e.Outcome)
	}
}

// TestInSecretsStaySecret looks for the job's environment and command where
// every user of the host can read.
func TestInSecretsStaySecret(t *testing.T) {
	l := newMachineManager(t)
	r := l.start("cat; : passw0rd-in-command")
	for _, argv := range [][]string{{"systemctl", "show", r.Unit}, {"systemctl", "status", r.Unit}, {"systemctl", "cat", r.Unit}} {
		out, _ := exec.Command("setpriv", append([]string{"--reuid=2003", "--regid=2003", "--clear-groups"}, argv...)...).CombinedOutput()
		if len(out) == 0 || strings.Contains(string(out), "hush") {
			t.Errorf("%v: %s", argv, out)
		}
		if argv[1] != "status" && strings.Contains(string(out), "passw0rd") { // status shows ps
			t.Errorf("%v: %s", argv, out)
		}
	}
	r.stdin.Close()
	l.finish(r)
}

func TestInWhatIsLeftBehindGoesOn(t *testing.T) {
	l := newMachineManager(t)
	r := l.start(`setsid sleep 1000 >/dev/null 2>&1 </dev/null & echo $!`)
	stdout, _, _ := l.finish(r) // releases the unit
	var pid int
	if _, err := fmt.Sscan(stdout, &pid); err != nil {
		t.Fatal(err)
	}
	awaitSub(t, r.Unit, "dead")
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("kill what was left behind: %v: it was gone", err)
	}
	awaitGone(t, r.Unit) // systemd keeps it in mind until its last process ends
}

// awaitGone polls until systemd has dropped a unit, because there is no signal for it.
func awaitGone(t *testing.T, unit string) {
	t.Helper()
	for late := time.Now().Add(patience); time.Now().Before(late); {
		out, err := exec.Command("systemctl", "show", "-P", "LoadState", unit).Output()
		if err != nil {
			t.Fatal(err)
		}
		if string(out) == "not-found\n" {
			return
		}
	}
	t.Errorf("%s is there still after %v", unit, patience)
}

func TestInKill(t *testing.T) {
	l := newMachineManager(t)
	r := l.start("trap 'echo caught; exit 7' TERM; sh -c 'echo ready; exec sleep 1000' & wait")
	buffer := make([]byte, 6)
	if _, err := io.ReadFull(r.stdout, buffer); err != nil {
		t.Fatal(err)
	}
	if err := l.Kill(t.Context(), r.Unit, syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if stdout, _, e := l.finish(r); stdout != "caught\n" || e.Outcome.Code != 7 {
		t.Errorf("printed %q, ended %+v; want its own trap, status 7", stdout, e.Outcome)
	}
	r = l.start("exit 0")
	e := l.await(r.Unit)
	if err := l.Kill(t.Context(), r.Unit, syscall.SIGTERM); !errors.Is(err, ErrEnded) {
		t.Errorf("Kill after the end %+v: %v, want %v", e, err, ErrEnded)
	}
	if err := l.Release(t.Context(), r.Unit); err != nil {
		t.Error(err)
	}
}

func TestInWaitForAnothersUnit(t *testing.T) {
	first := newMachineManager(t)
	ended := first.start("exit 5")
	first.await(ended.Unit) // but not released: the daemon died before it was written down
	signalled := first.start("cat; kill -KILL $$")
	running := first.start("cat; exit 6")
	signalled.stdin.Close()
	awaitSub(t, signalled.Unit, "exited")

	second := newMachineManager(t)
	want := func(unit string, pid int, want job.Outcome) {
		t.Helper()
		if e := second.await(unit); e.Outcome != want || e.PID != pid {
			t.Errorf("end %+v, want %+v of pid %d", e, want, pid)
		}
		if err := second.Release(t.Context(), unit); err != nil {
			t.Error(err)
		}
	}
	want(ended.Unit, ended.PID, job.Outcome{Kind: job.Exited, Code: 5})
	want(signalled.Unit, signalled.PID, job.Outcome{Kind: job.Signalled, Signal: 9})
	want("lab-run-0.service", 0, job.Outcome{Kind: job.Lost, Error: "systemd has removed the unit"})
	running.stdin.Close()
	want(running.Unit, running.PID, job.Outcome{Kind: job.Exited, Code: 6})
}

func awaitSub(t *testing.T, unit, want string) {
	t.Helper()
	for late := time.Now().Add(patience); time.Now().Before(late); {
		out, err := exec.Command("systemctl", "show", "-P", "SubState", unit).Output()
		if err != nil {
			t.Fatal(err)
		}
		if string(out) == want+"\n" {
			return
		}
	}
	t.Fatalf("%s is not %s within %v", unit, want, patience)
}

// TestInReexecution starts and ends jobs while systemd executes itself again,
// which ends every connection.
func TestInReexecution(t *testing.T) {
	l := newMachineManager(t)
	before := l.start("cat; exit 4")
	for i := range 12 {
		var reexecution sync.WaitGroup
		reexecution.Go(func() {
			if out, err := exec.Command("systemctl", "daemon-reexec").CombinedOutput(); err != nil {
				t.Errorf("daemon-reexec: %v: %s", err, out)
			}
		})
		r := l.start(fmt.Sprintf("echo %d; exit %d", i, i))
		if stdout, _, e := l.finish(r); stdout != fmt.Sprintln(i) || e.Outcome.Code != i || e.Outcome.Kind != job.Exited {
			t.Errorf("job %d printed %q and ended %+v", i, stdout, e.Outcome)
		}
		reexecution.Wait()
	}
	before.stdin.Close()
	if _, _, e := l.finish(before); e.Outcome.Code != 4 {
		t.Errorf("the job that ran all the time ended %+v, want status 4", e.Outcome)
	}
}

func TestInManyAtOnce(t *testing.T) {
	const many = 100
	l := newMachineManager(t)
	specs := make([]Spec, many)
	for i := range specs {
		specs[i] = spec("exit 9", func(s *Spec) {
			null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			s.Files = [3]*os.File{null, null, null}
		})
	}
	begun := time.Now()
	var all sync.WaitGroup
	for _, s := range specs {
		all.Go(func() {
			if _, err := l.Start(t.Context(), s); err != nil {
				t.Errorf("%s: %v", s.Name, err)
			}
		})
	}
	all.Wait()
	for _, s := range specs {
		if e := l.await(s.Name); e.Outcome.Code != 9 {
			t.Errorf("%s ended %+v", s.Name, e.Outcome)
		}
		if err := l.Release(t.Context(), s.Name); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d jobs started and ended in %v", many, time.Since(begun))
}

func TestInStartGivesUp(t *testing.T) {
	l := newMachineManager(t)
	filetest.Write(t, "/etc/pam.d/lab-slow", "account required pam_unix.so\nsession required pam_exec.so /bin/sleep 1000\n", 0o644)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	s := spec("true", func(s *Spec) { s.PAMName, s.Files = "lab-slow", [3]*os.File{null, null, null} })
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = l.Start(ctx, s)
	var not *NotStartedError
	if !errors.As(err, &not) || !strings.Contains(not.Reason, context.DeadlineExceeded.Error()) {
		t.Errorf("Start: %v, want that the time was over", err)
	}
	awaitGone(t, s.Name)
	if out, _ := exec.Command("pgrep", "-x", "sleep").Output(); regexp.MustCompile(`\d`).Match(out) {
		t.Errorf("PAM's module is left: %s", out)
	}
}

package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/sandbox"
)

func TestOutcome(t *testing.T) {
	for _, test := range []struct {
		what  string
		state state
		wasUp bool
		want  job.Outcome
	}{
		{"success", state{"ExecMainCode": int32(exited)}, true, job.Outcome{Kind: job.Exited}},
		{"own status of setup", state{"ExecMainCode": int32(exited), "ExecMainStatus": int32(217)}, true, job.Outcome{Kind: job.Exited, Code: 217}},
		{"setup", state{"ExecMainCode": int32(exited), "ExecMainStatus": int32(217)}, false, job.Outcome{Kind: job.NotStarted, Error: setupSteps[217]}},
		{"unnamed setup", state{"ExecMainCode": int32(exited), "ExecMainStatus": int32(234)}, false,
			job.Outcome{Kind: job.NotStarted, Error: "systemd could not set the process up (status 234, see systemd.exec(5))"}},
		{"helper", state{"ExecMainCode": int32(exited), "ExecMainStatus": int32(1)}, false, job.Outcome{Kind: job.Exited, Code: 1}},
		{"signal", state{"ExecMainCode": int32(killed), "ExecMainStatus": int32(15)}, true, job.Outcome{Kind: job.Signalled, Signal: 15}},
		{"core", state{"ExecMainCode": int32(dumped), "ExecMainStatus": int32(11)}, true, job.Outcome{Kind: job.Signalled, Signal: 11}},
		{"no process", state{"Result": "resources"}, false, job.Outcome{Kind: job.NotStarted, Error: "systemd did not start the unit (resources)"}},
		{"no answer", state{"Result": "success"}, true, job.Outcome{Kind: job.Lost, Error: "systemd does not report how the process ended (success)"}},
		{"no unit", state{"LoadState": notFound}, false, job.Outcome{Kind: job.Lost, Error: "systemd has removed the unit"}},
	} {
		if got := test.state.outcome(test.wasUp); got != test.want {
			t.Errorf("%s: got %+v, want %+v", test.what, got, test.want)
		}
	}
}

func TestStateEnds(t *testing.T) {
	start := []any{uint32(7), "/org/freedesktop/systemd1/job/7"}
	none := []any{uint32(0), "/"}
	for _, test := range []struct {
		active, sub string
		job         []any
		ended       bool
	}{
		{"activating", "start", start, false},
		{"inactive", "dead", start, false},
		{"inactive", "dead", none, true},
		{"active", "running", none, false},
		{"active", "exited", none, true},
		{"deactivating", "stop-sigterm", none, false},
		{"failed", "failed", none, true},
	} {
		s := state{"ActiveState": test.active, "SubState": test.sub, "Job": test.job}
		if s.hasEnded() != test.ended {
			t.Errorf("%v: ended %v, want %v", s, s.hasEnded(), test.ended)
		}
	}
	if (state{}).hasEnded() {
		t.Error("a unit of which nothing is known has ended")
	}
}

// Without an answer of systemd, no request is sent.
func TestStartWithoutSystemdRunsNothing(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = New("/no/helper").Start(ctx, spec("true", func(s *Spec) { s.Files = [3]*os.File{null, null, null} }))
	if not, ok := errors.AsType[*NotStartedError](err); !ok || !not.Unrun {
		t.Errorf("got %+v, want a NotStartedError of a job that was not executed", err)
	}
}

func TestReport(t *testing.T) {
	for text, want := range map[string]setupReport{
		"":                                       {},
		"R\n":                                    {ready: true},
		"Nno home\nR\n":                          {note: "no home", ready: true},
		"R\nErun SHELL: no\n":                    {failure: "run SHELL: no", ready: true},
		"X\n\nR":                                 {ready: true},
		"N\x1b[2J\xff\x00a\u009bb\n":             {note: "[2Jab"},
		"E" + strings.Repeat("x", 2*reportLimit): {failure: strings.Repeat("x", reportLimit-1)},
	} {
		if got := parseReport([]byte(text)); got != want {
			t.Errorf("%.40q: got %.80v, want %.80v", text, got, want)
		}
	}
}

func FuzzReport(f *testing.F) {
	f.Add([]byte("Nx\nR\nEy\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s := parseReport(text)
		if strings.ContainsAny(s.note+s.failure, "\n\x1b\x00") || len(s.note)+len(s.failure) > reportLimit {
			t.Errorf("%q is read as %+v", text, s)
		}
	})
}

func TestMergePutsTheJobOverTheSession(t *testing.T) {
	got := merge([]string{"A=pam", "B=pam", "INVOCATION_ID=1", "AB=pam"}, []string{"A=job", "PATH=/bin", "C="})
	if want := []string{"B=pam", "AB=pam", "A=job", "PATH=/bin", "C="}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := merge(cronSession, nil); got != nil {
		t.Errorf("without a session of logind got %q", got)
	}
	logind := append([]string{"XDG_SESSION_ID=c1"}, cronSession...)
	if got := merge(logind, nil); !slices.Equal(got, logind) {
		t.Errorf("with a session of logind got %q, want %q", got, logind)
	}
}

func TestSessionClass(t *testing.T) {
	for entry, want := range map[string]bool{
		"XDG_SESSION_CLASS=background": true, "XDG_SESSION_CLASS=user-early": true, "XDG_SESSION_CLASS=": false,
		"XDG_SESSION_CLASS=a b": false, "XDG_SESSION_CLASS=A": false, "PASSWORD=x": false,
	} {
		if got := isSessionClass(entry); got != want {
			t.Errorf("isSessionClass(%q) = %v", entry, got)
		}
	}
}

// helped runs the helper as systemd would, and reads its report.
func helped(t *testing.T, o order) (setupReport, string) {
	t.Helper()
	file, err := orderIn(o)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	pipe := func() (*os.File, *os.File) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		return r, w
	}
	report, says := pipe()
	stdout, out := pipe()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	socket, err := post(file, says, null, out, null)
	if err != nil {
		t.Fatal(err)
	}
	says.Close()
	out.Close()
	cmd := exec.Command("/proc/self/exe", "become")
	cmd.Stdin = socket
	cmd.Env = []string{"FROM=session", "OVER=session", "JOURNAL_STREAM=1:2"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	socket.Close()
	e := &helperConn{report: report}
	for !e.over {
		e.read(patience)
	}
	s := parseReport(e.text)
	text, err := io.ReadAll(stdout)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil && s.failure == "" {
		t.Errorf("the helper: %v", err)
	}
	return s, string(text)
}

func TestBecome(t *testing.T) {
	o := order{
		Argv: asBytes([]string{"/bin/sh", "-c", "pwd; echo $FROM $OVER $JOURNAL_STREAM $RAW"}),
		Env:  asBytes([]string{"OVER=job", "RAW=\xff"}),
		Dir:  []byte("/tmp"),
	}
	s, out := helped(t, o)
	if want := (setupReport{ready: true}); s != want || out != "/tmp\nsession job \xff\n" {
		t.Errorf("report %+v, output %q", s, out)
	}
	o.Argv[0] = []byte("/no/such")
	s, out = helped(t, o)
	if want := "run SHELL /no/such: no such file or directory"; s.failure != want || out != "" {
		t.Errorf("report %+v, output %q; want %s", s, out, want)
	}
	o.Argv[0], o.Dir = []byte("/bin/sh"), []byte("/no/such")
	if s, _ := helped(t, o); s.failure != "cannot enter /no/such: no such file or directory" || s.ready {
		t.Errorf("report %+v", s)
	}
	o.Fallback = true
	s, out = helped(t, o)
	if want := "cannot enter /no/such: no such file or directory; running in /"; s.note != want || !strings.HasPrefix(out, "/\n") {
		t.Errorf("report %+v, output %q; want %s", s, out, want)
	}
	if s, _ := helped(t, order{Dir: []byte("/")}); s.failure != "the order has no command" {
		t.Errorf("report %+v", s)
	}
}

// TestBecomeWithOptionsOfTheProcess: the helper sets the mask after PAM, and reads the file of
// variables as the user of the session.
func TestBecomeWithOptionsOfTheProcess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "env")
	filetest.Write(t, file, "FROM=file\nOVER=file\nKEPT=file\nUSER=file\n", 0o600)
	mask := uint32(0o027)
	o := order{
		Argv: asBytes([]string{"/bin/sh", "-c", "umask; echo $FROM $OVER $KEPT $USER"}),
		Env:  asBytes([]string{"OVER=job", "KEPT=job", "USER=job"}),
		Dir:  []byte("/"), Umask: &mask, EnvFile: []byte(file), Kept: []string{"KEPT"},
	}
	if s, out := helped(t, o); !s.ready || out != "0027\nfile file job job\n" {
		t.Errorf("report %+v, output %q", s, out)
	}
	o.EnvFile = []byte("/no/such")
	if s, out := helped(t, o); s.ready || out != "" || s.failure != "read env-file=/no/such: no such file or directory" {
		t.Errorf("report %+v, output %q", s, out)
	}
}

// TestBecomeIsolated: the helper applies the sandbox before the command, and refuses to run without
// the network that systemd should have made.
func TestBecomeIsolated(t *testing.T) {
	own, err := network()
	if err != nil {
		t.Fatal(err)
	}
	o := order{Argv: asBytes([]string{"/bin/sh", "-c", "echo ran"}), Dir: []byte("/"), NotNetwork: own}
	if s, out := helped(t, o); s.ready || out != "" || s.failure != "network=no: systemd could not give the job a network of its own" {
		t.Errorf("report %+v, output %q", s, out)
	}
	o.Argv, o.NotNetwork = asBytes([]string{"/bin/sh", "-c", "grep NoNewPrivs /proc/self/status"}), own+1
	if s, out := helped(t, o); !s.ready || out != "NoNewPrivs:\t1\n" {
		t.Errorf("report %+v, output %q", s, out)
	}
	if why := sandbox.Missing(option.SandboxStrict); why != "" {
		hosttest.Missing(t, "%s", why)
	}
	file := filepath.Join(t.TempDir(), "file")
	o.Sandbox = &sandbox.Plan{Level: option.SandboxStrict}
	o.Argv = asBytes([]string{"/bin/sh", "-c", "exec 2>/dev/null; echo x >" + file + "; cat " + os.Args[0] + "; echo ran"})
	if s, out := helped(t, o); !s.ready || out != "ran\n" {
		t.Errorf("report %+v, output %q", s, out)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the job made a file outside of its sandbox")
	}
	o.Sandbox.Write = []string{"/no/where"}
	if s, out := helped(t, o); s.ready || out != "" || s.failure != "sandbox=strict: write=/no/where: no such file or directory" {
		t.Errorf("report %+v, output %q", s, out)
	}
}

func TestBecomeWithoutOrder(t *testing.T) {
	cmd := exec.Command("/proc/self/exe", "become")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != failed || !strings.Contains(string(out), "receive order") {
		t.Errorf("%v: %s; want status %d and why", err, out, failed)
	}
}

func TestSpecCheck(t *testing.T) {
	good := Spec{Name: "a.service", User: "bob", PAMName: "cron", Argv: []string{"/bin/sh"}, Files: [3]*os.File{os.Stdin, os.Stdin, os.Stdin}}
	if err := good.check(); err != nil {
		t.Errorf("a good one: %v", err)
	}
	for i, spoil := range []func(*Spec){
		func(s *Spec) { s.Name = "a" }, func(s *Spec) { s.Name = "a/b.service" }, func(s *Spec) { s.User = "" },
		func(s *Spec) { s.User = "1000" }, func(s *Spec) { s.PAMName = "" }, func(s *Spec) { s.Argv = nil },
		func(s *Spec) { s.Argv = []string{"sh"} }, func(s *Spec) { s.Files[2] = nil },
	} {
		bad := good
		spoil(&bad)
		if err := bad.check(); err == nil {
			t.Errorf("no complaint about bad one %d: %s", i, fmt.Sprintf("%+v", bad))
		}
	}
}

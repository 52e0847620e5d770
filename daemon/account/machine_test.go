package account

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/packaging/machinetest"
)

// TestLab boots a machine with systemd and runs the tests whose names begin with TestIn there. They
// compare the decisions of this package with those of PAM for the same files.
func TestLab(t *testing.T) { machinetest.RunTests(t, "ACCOUNT_LAB") }

// furnish makes the accounts that the cases speak of, and a service of PAM with
// nothing in it but what is imitated here. It spoils the machine.
func furnish(t *testing.T) {
	t.Helper()
	if os.Getenv("ACCOUNT_LAB") == "" {
		t.Skip("runs in the machine that TestLab boots")
	}
	filetest.Write(t, "/etc/pam.d/lab", "account required pam_unix.so\nsession required pam_limits.so\nsession required pam_env.so\n", 0o644)
	filetest.Write(t, "/etc/security/limits.conf", "", 0o644)
	filetest.Write(t, "/etc/environment", "", 0o644)
	if exec.Command("id", "bob").Run() == nil {
		return
	}
	for _, argv := range [][]string{
		{"useradd", "-m", "-u", "1000", "-G", "adm,sudo,users", "bob"},
		{"useradd", "-o", "-u", "1000", "-g", "1000", "rob"},
	} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", argv, err, out)
		}
	}
}

// throughPAM runs a command in a session of a user.
func throughPAM(t *testing.T, user string, argv ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("systemd-run", append([]string{"--quiet", "--wait", "--pipe", "--collect", "-p", "PAMName=lab", "-p", "User=" + user, "--"}, argv...)...)
	out, err := cmd.Output()
	return string(out), err
}

const askLimits = "prlimit --noheadings --raw -o RESOURCE,SOFT,HARD; nice"

func limitsOf(t *testing.T, user string) map[string]string {
	t.Helper()
	out, err := throughPAM(t, user, "/bin/sh", "-c", askLimits)
	if err != nil {
		t.Fatalf("%s: %v: %s", user, err, out)
	}
	all := make(map[string]string)
	for line := range strings.Lines(out) {
		name, value, ok := strings.Cut(strings.ToLower(strings.TrimSpace(line)), " ")
		if !ok {
			name, value = "priority", name
		}
		all[name] = value
	}
	return all
}

func TestInLimitsAgreeWithPAM(t *testing.T) {
	furnish(t)
	d := New(Options{})
	before := map[string]map[string]string{"bob": limitsOf(t, "bob"), "rob": limitsOf(t, "rob"), "root": limitsOf(t, "root")}
	for _, test := range limitCases {
		filetest.Write(t, "/etc/security/limits.conf", test.text, 0o644)
		a, err := d.Find(t.Context(), test.user)
		if err != nil {
			t.Fatal(err)
		}
		want := over(t, d.Limits(a), before[test.user])
		if got := limitsOf(t, test.user); !maps.Equal(got, want) {
			t.Errorf("%s in\n%s\nPAM  %v\nwe   %v", test.user, test.text, got, want)
		}
	}
}

// over applies limits on top of a process's default limits.
func over(t *testing.T, l Limits, before map[string]string) map[string]string {
	t.Helper()
	after := maps.Clone(before)
	for _, limit := range l.Resources {
		name := resourceNames[limit.Resource]
		soft, hard, _ := strings.Cut(before[name], " ")
		was := unix.Rlimit{Cur: amount(t, soft), Max: amount(t, hard)}
		now := limit.Over(was)
		if now.Max > was.Max && !mayRaise() {
			continue
		}
		after[name] = written(now.Cur) + " " + written(now.Max)
	}
	if l.Nice != nil {
		after["priority"] = strconv.Itoa(*l.Nice)
	}
	return after
}

// mayRaise: root may not, in some machines.
var mayRaise = sync.OnceValue(func() bool {
	var l unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_RTPRIO, &l)
	l.Max++
	return err == nil && unix.Setrlimit(unix.RLIMIT_RTPRIO, &l) == nil
})

func amount(t *testing.T, text string) uint64 {
	t.Helper()
	if text == "unlimited" {
		return unix.RLIM_INFINITY
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func written(n uint64) string {
	if n == unix.RLIM_INFINITY {
		return "unlimited"
	}
	return strconv.FormatUint(n, 10)
}

func TestInEnvironmentAgreesWithPAM(t *testing.T) {
	furnish(t)
	d := New(Options{})
	environment := func() []string {
		out, err := throughPAM(t, "bob", "env", "-0")
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for entry := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
			if name, _, _ := strings.Cut(entry, "="); name != "INVOCATION_ID" && name != "SYSTEMD_EXEC_PID" {
				all = append(all, entry)
			}
		}
		return all
	}
	before := environment()
	for _, test := range environmentCases {
		filetest.Write(t, "/etc/environment", test.text, 0o644)
		want := append(slices.Clone(before), d.Environment(crontab.RHEL)...)
		got := environment()
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%q:\nPAM  %q\nwe   %q", test.text, got, want)
		}
	}
}

func TestInRefusalAgreesWithPAM(t *testing.T) {
	furnish(t)
	d := New(Options{})
	bob, err := d.Find(t.Context(), "bob")
	if err != nil {
		t.Fatal(err)
	}
	others, err := os.ReadFile("/etc/shadow")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range refusalCases {
		line, ok := ofToday(test.line)
		if !ok {
			continue
		}
		var lines []string
		for old := range strings.Lines(string(others)) {
			if !strings.HasPrefix(old, "bob:") {
				lines = append(lines, old)
			}
		}
		filetest.Write(t, "/etc/shadow", strings.Join(lines, "")+line+"\n", 0o644)
		_, refused := throughPAM(t, "bob", "true")
		if got := d.Refusal(bob, time.Now()); (got == "") != (refused == nil) {
			t.Errorf("%s: we say %q, PAM %v", line, got, refused)
		}
	}
}

// ofToday moves the dates of a case, which are of the year 2024, to the present.
// It is false for a line that the C library does not understand, as PAM refuses
// whom it cannot judge, and where the versions of PAM differ: see refusal.
func ofToday(line string) (string, bool) {
	field := strings.Split(line, ":")
	if len(field) != 9 || field[0] != "bob" || field[2] == "" && field[4] != "" {
		return "", false
	}
	if days(field[2])+days(field[4]) == today {
		return "", false
	}
	for i, text := range field[2:8] {
		n, err := strconv.ParseUint(text, 10, 31)
		switch {
		case text == "":
			continue
		case err != nil:
			return "", false
		case (i == 0 || i == 5) && n > 1000:
			n += uint64(time.Now().Unix()/86400) - today
		}
		field[2+i] = fmt.Sprint(n)
	}
	return strings.Join(field, ":"), true
}

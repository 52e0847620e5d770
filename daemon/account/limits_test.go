package account

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

var resourceNames = map[int]string{
	unix.RLIMIT_CORE: "core", unix.RLIMIT_DATA: "data", unix.RLIMIT_FSIZE: "fsize", unix.RLIMIT_MEMLOCK: "memlock",
	unix.RLIMIT_NOFILE: "nofile", unix.RLIMIT_RSS: "rss", unix.RLIMIT_STACK: "stack", unix.RLIMIT_CPU: "cpu",
	unix.RLIMIT_NPROC: "nproc", unix.RLIMIT_AS: "as", unix.RLIMIT_LOCKS: "locks", unix.RLIMIT_SIGPENDING: "sigpending",
	unix.RLIMIT_MSGQUEUE: "msgqueue", unix.RLIMIT_NICE: "nice", unix.RLIMIT_RTPRIO: "rtprio", unix.RLIMIT_RTTIME: "rttime",
}

// said is limits in words: "nofile 10/20", with - for a half that is kept.
func said(l Limits) string {
	var words []string
	for _, limit := range l.Resources {
		words = append(words, fmt.Sprintf("%s %s/%s", resourceNames[limit.Resource], saidHalf(limit.Soft), saidHalf(limit.Hard)))
	}
	if l.Nice != nil {
		words = append(words, fmt.Sprintf("priority %d", *l.Nice))
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

func saidHalf(value *uint64) string {
	switch {
	case value == nil:
		return "-"
	case *value == unix.RLIM_INFINITY:
		return "inf"
	}
	return fmt.Sprint(*value)
}

// limitCases are limits.conf and what it means for a user, with numbers that a
// process can live with: they are also tried on PAM.
var limitCases = []struct {
	text, user, want string
}{
	{"", "bob", ""},
	{"# bob - msgqueue 1\n\n \t\n", "bob", ""},
	{"bob soft msgqueue 10\nbob hard msgqueue 20", "bob", "msgqueue 10/20"},
	{"bob soft msgqueue 10", "bob", "msgqueue 10/-"},
	{"  bob\t-  msgqueue\t10 # ten", "bob", "msgqueue 10/10"},
	{"bob - msgqueue 10", "rob", ""},
	{"BOB - msgqueue 10", "bob", ""},
	{"bob HARD MSGQUEUE 10", "bob", "msgqueue -/10"},

	// units
	{"bob - core 4000000\nbob - data 4000000\nbob - fsize 4000000\nbob - memlock 4000\nbob - rss 4000\nbob - stack 4000\nbob - as 4000000", "bob",
		"as 4096000000/4096000000, core 4096000000/4096000000, data 4096000000/4096000000, fsize 4096000000/4096000000, " +
			"memlock 4096000/4096000, rss 4096000/4096000, stack 4096000/4096000"},
	{"bob - cpu 2\nbob - nproc 2000\nbob - locks 2\nbob - sigpending 2\nbob - msgqueue 2\nbob - rtprio 2", "bob",
		"cpu 120/120, locks 2/2, msgqueue 2/2, nproc 2000/2000, rtprio 2/2, sigpending 2/2"},
	{"bob - nice -5\nbob - priority 3", "bob", "nice 25/25, priority 3"},
	{"bob - nice -99\nbob - priority 99", "bob", "nice 40/40, priority 19"},
	{"bob - core -1\nbob soft fsize Unlimited\nbob hard as infinity\nbob - stack -", "bob",
		"as -/inf, core inf/inf, fsize inf/-, stack inf/inf"},
	{"bob - nofile unlimited", "bob", "nofile 1048576/1048576"}, // nr_open
	{"bob - core 99999999999999999999", "bob", "core inf/inf"},
	{"bob - core 18014398509481984", "bob", "core inf/inf"}, // 2^54 KiB
	{"bob - msgqueue 10k", "bob", "msgqueue 10/10"},
	{"bob - msgqueue 10 20 30", "bob", "msgqueue 10/10"},

	// whom
	{"@adm - msgqueue 1", "bob", "msgqueue 1/1"},
	{"@adm - msgqueue 1", "rob", ""},
	{"@bob - msgqueue 1", "bob", "msgqueue 1/1"}, // the primary group
	{"@nosuch - msgqueue 1", "bob", ""},
	{"1000:1000 - msgqueue 1", "bob", "msgqueue 1/1"},
	{"1001:2000 - msgqueue 1", "bob", ""},
	{"500: - msgqueue 1", "bob", "msgqueue 1/1"},
	{":1000 - msgqueue 1", "bob", "msgqueue 1/1"},
	{":2000 - msgqueue 1", "bob", ""}, // exactly 2000, not up to it
	{"@:4 - msgqueue 1", "bob", "msgqueue 1/1"},
	{"@0:99 - msgqueue 1", "bob", ""}, // of a range only the primary group counts
	{"@1000:1000 - msgqueue 1", "bob", "msgqueue 1/1"},
	{"@900: - msgqueue 1", "bob", "msgqueue 1/1"},
	{"%adm - maxlogins 1\n% - maxlogins 2\nbob - maxlogins 3\n* - maxsyslogins 1\n%:4 - msgqueue 2", "bob", ""},

	// root
	{"* - msgqueue 1\n@root - msgqueue 2", "root", ""},
	{"* - msgqueue 1\n@:0 - msgqueue 4", "root", "msgqueue 4/4"},
	{"0:0 - msgqueue 5", "root", "msgqueue 5/5"},
	{"@0:0 - msgqueue 6", "root", "msgqueue 6/6"},
	{"root - msgqueue 1", "root", "msgqueue 1/1"},
	{"root - priority 5", "root", "priority 5"},
	{"root - priority -5", "root", "priority -5"},

	// which counts
	{"bob - msgqueue 1\n@adm - msgqueue 2\n* - msgqueue 3", "bob", "msgqueue 1/1"},
	{"* - msgqueue 3\n@adm - msgqueue 2\nbob - msgqueue 1", "bob", "msgqueue 1/1"},
	{"@adm - msgqueue 2\n* - msgqueue 3", "bob", "msgqueue 2/2"},
	{"@adm - msgqueue 2\n@sudo - msgqueue 3", "bob", "msgqueue 3/3"},
	{"bob soft msgqueue 2\n* hard msgqueue 3", "bob", "msgqueue 2/3"},
	{"bob soft msgqueue 2\n* - msgqueue 3", "bob", "msgqueue 2/-"}, // the soft half lost, so the line did
	{"bob - priority 1\n* - priority 2", "bob", "priority 2"},
	{"* - msgqueue 3\nbob -", "bob", ""},
	{"* - msgqueue 3\n@adm -", "bob", ""},
	{"* - msgqueue 3\n:1000 -", "bob", ""},
	{"* - msgqueue 3\n* -", "bob", "msgqueue 3/3"},
	{"* - msgqueue 3\nrob -", "bob", "msgqueue 3/3"},
}

func TestLimits(t *testing.T) {
	for _, test := range limitCases {
		files := basic(switchFiles)
		files["/etc/security/limits.conf"] = test.text
		files["/proc/sys/fs/nr_open"] = "1048576\n"
		h := newTestDirectory(t, files)
		if got := said(h.Limits(h.find(test.user))); got != test.want {
			t.Errorf("%s in\n%s\ngot  %s\nwant %s", test.user, test.text, got, test.want)
		}
		if diagnostics := h.Diagnostics(0); len(diagnostics) > 0 {
			t.Errorf("%q: diagnostics %v, want none", test.text, diagnostics)
		}
	}
}

func TestLimitsBadLines(t *testing.T) {
	bad := []string{
		"bob", "bob soft", "bob - nofile", "bob sort nofile 1", "bob - files 1", "bob - nofile x", "bob - nofile -5", "bob - nofile --5",
		"bob - nice high", "@ - nofile 1", ": - nofile 1", "@: - nofile 1", "1:2:3 - nofile 1", "a:b - nofile 1", "-1: - nofile 1",
		"bob - nofile unlimited", "\x1b[2J - \x1b 1",
	}
	files := basic(switchFiles)
	files["/etc/security/limits.conf"] = strings.Join(bad, "\n") + "\nbob - core 1\n"
	h := newTestDirectory(t, files)
	if got, want := said(h.Limits(h.find("bob"))), "core 1024/1024"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	diagnostics := h.Diagnostics(0)
	if len(diagnostics) != len(bad) {
		t.Fatalf("%d diagnostics on %d lines: %v", len(diagnostics), len(bad), diagnostics)
	}
	for i, diagnostic := range diagnostics {
		place := fmt.Sprintf("%s/etc/security/limits.conf:%d: ", h.root, i+1)
		if text := diagnostic.Error(); !strings.HasPrefix(text, place) || strings.Contains(text, "\x1b") {
			t.Errorf("line %q: diagnostic %q, want one that begins with %s and shows no control bytes", bad[i], text, place)
		}
	}
}

func TestLimitsFolder(t *testing.T) {
	files := basic(switchFiles)
	files["/etc/security/limits.conf"] = "bob - nofile 1\nbob - core 1\n"
	files["/etc/security/limits.d/20.conf"] = "bob - nofile 20\n"
	files["/etc/security/limits.d/10.conf"] = "bob - nofile 10\n"
	files["/etc/security/limits.d/.30.conf"] = "bob - nofile 30\n"
	files["/etc/security/limits.d/40.conf.dpkg-old"] = "bob - nofile 40\n"
	h := newTestDirectory(t, files)
	want := func(want string) {
		t.Helper()
		if got := said(h.Limits(h.find("bob"))); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	want("core 1024/1024, nofile 20/20")
	h.write("/etc/security/limits.d/20.conf", "bob - nofile 21\n")
	want("core 1024/1024, nofile 21/21")
	h.write("/etc/security/limits.d/30.conf", "bob - nofile 30\n")
	want("core 1024/1024, nofile 30/30")
	h.write("/etc/security/limits.d/50.conf", "bob -\n")
	want("")
}

// TestLimitsOfGroupsElsewhere resolves a group of a directory service while it looks up the user,
// because Limits cannot wait.
func TestLimitsOfGroupsElsewhere(t *testing.T) {
	s := lenasService()
	h := served(t, s)
	h.write("/etc/security/limits.conf", "@staff - nofile 7\n@-x - nofile 8\n@none - nofile 9\n@adm - core 1\n")
	if got, want := said(h.Limits(h.find("lena"))), "nofile 7/7"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := s.asked()[2], "getent -- group staff none"; got != want {
		t.Errorf("asked %q, want %q", got, want)
	}
}

func TestLimitOver(t *testing.T) {
	n := func(v uint64) *uint64 { return &v }
	for _, test := range []struct {
		limit Limit
		want  unix.Rlimit
	}{
		{Limit{}, unix.Rlimit{Cur: 10, Max: 20}},
		{Limit{Soft: n(15)}, unix.Rlimit{Cur: 15, Max: 20}},
		{Limit{Soft: n(30)}, unix.Rlimit{Cur: 20, Max: 20}},
		{Limit{Hard: n(5)}, unix.Rlimit{Cur: 5, Max: 5}},
		{Limit{Hard: n(50)}, unix.Rlimit{Cur: 10, Max: 50}},
		{Limit{Soft: n(60), Hard: n(50)}, unix.Rlimit{Cur: 50, Max: 50}},
	} {
		if got := test.limit.Over(unix.Rlimit{Cur: 10, Max: 20}); got != test.want {
			t.Errorf("%s over 10/20 is %+v, want %+v", said(Limits{Resources: []Limit{test.limit}}), got, test.want)
		}
	}
}

func FuzzLimits(f *testing.F) {
	f.Add("bob soft nofile 10\n@adm - core -1\n500:1000 hard cpu 9 # x\n:4 -\n* - nice -5\n")
	d := New(Options{Root: f.TempDir()})
	bob := Account{Name: "bob", UID: 1000, GID: 1000, Groups: []uint32{1000, 4}}
	f.Fuzz(func(t *testing.T, text string) {
		p := limitsParser{ceiling: 1 << 20}
		p.text("limits.conf", text)
		var set setting
		for _, r := range p.rules {
			if d.isFor(r.domain, bob) && !r.exempt {
				set.apply(r)
			}
		}
		l := set.limits()
		if l.Nice != nil && (*l.Nice < -20 || *l.Nice > 19) {
			t.Errorf("nice %d", *l.Nice)
		}
		for _, limit := range l.Resources {
			if resourceNames[limit.Resource] == "" {
				t.Errorf("resource %d", limit.Resource)
			}
		}
		for _, diagnostic := range p.diagnostics {
			if strings.ContainsAny(diagnostic.Error(), "\x1b\n\x00") {
				t.Errorf("diagnostic %q", diagnostic)
			}
		}
	})
}

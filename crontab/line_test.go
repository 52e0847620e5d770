package crontab

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/cronring/cronring/crontab/source"
)

// readOne parses text and returns what its only entry is, or "" if there is
// none, with the codes of all diagnostics.
func readOne(t *testing.T, text string, c Config) (entry string, codes []string) {
	t.Helper()
	if c.Zone == nil {
		c.Zone = time.LoadLocation
	}
	file, diagnostics := Parse("crontab", text, c)
	for _, d := range diagnostics {
		codes = append(codes, string(d.Code))
	}
	for i := range file.Entries {
		e := &file.Entries[i]
		entry += e.Spec() + "|" + e.Command()
	}
	return entry, codes
}

// TestLineClaims checks the parser against the manual page: each line of a user's crontab on a
// Debian host is an entry with the given fields and diagnostics.
func TestLineClaims(t *testing.T) {
	long := strings.Repeat("x", MaxCommand)
	tests := []struct {
		claim, text, want string
		codes             string
	}{
		{"tabs and blanks separate", "0\t1  2 3\t4 \t cmd\n", "0 1 2 3 4|cmd", "B102"},
		{"leading blanks are skipped", " \t0 1 * * * cmd\n", "0 1 * * *|cmd", ""},
		{"trailing blanks belong to the command", "0 1 * * * cmd  \n", "0 1 * * *|cmd  ", ""},
		{"form feed is no separator", "0 1 * * *\fcmd\n", "", "B104 B218"},
		{"vertical tab is an ordinary character", "0 1 * * * \vcmd\n", "0 1 * * *|\vcmd", ""},
		{"no-break space is an ordinary character", "0 1 * * * \u00a0cmd\n", "0 1 * * *|\u00a0cmd", ""},
		{"comment", "  # 0 1 * * * cmd\n", "", ""},
		{"no comment at the end of a line", "0 1 * * * cmd # note\n", "0 1 * * *|cmd # note", ""},
		{"no continuation", "0 1 * * * cmd \\\n", `0 1 * * *|cmd \`, "B212"},
		{"one CR is dropped", "0 1 * * * cmd\r\n", "0 1 * * *|cmd", "B302"},
		{"CR inside stays", "0 1 * * * a\rb\n", "0 1 * * *|a\rb", ""},
		{"CR alone is a blank line", "\r\n", "", "B302"},
		{"diagnostic on CR once", "\r\n\r\n0 1 * * * cmd\r\n", "0 1 * * *|cmd", "B302"},
		{"byte order mark is skipped", "\ufeff0 1 * * * cmd\n", "0 1 * * *|cmd", "B303"},
		{"last line must end", "0 1 * * * a\n0 2 * * * b", "0 1 * * *|a", "B301"},
		{"assignment must end too", "A=b", "", "B301"},
		{"comment need not end", "# x", "", ""},
		{"blanks need not end", "0 1 * * * a\n  \t", "0 1 * * *|a", ""},
		{"NUL in an entry", "0 1 * * * a\x00b\n", "", "B221"},
		{"NUL in a comment", "# \x00\n", "", ""},
		{"bytes above 0x7f", "0 1 * * * \xff\xfe\n", "0 1 * * *|\xff\xfe", ""},
		{"longest command", "0 1 * * * " + long + "\n", "0 1 * * *|" + long, ""},
		{"too long a command", "0 1 * * * " + long + "x\n", "", "B220"},
		{"one bad line costs itself only", "61 1 * * * a\n0 1 * * * b\n", "0 1 * * *|b", "B001"},
		{"time fields as long as they like", "0 1 * * *" + strings.Repeat(" ", 60_000) + "a\n", "0 1 * * *|a", ""},
		{"but not longer", "0 1 * * *" + strings.Repeat(" ", 66_000) + "a\n", "", "B222"},

		{"0=1 is an assignment", "0=1\n", "", "B204"},
		{"*=b is an assignment", "*=b\n", "", "B204"},
		{"@daily=1 is an assignment", "@daily=1\n", "", "B204"},
		{"* = b is an assignment", "* = * * * * b\n", "", "B204"},
		{"A.b=c", "A.b=c\n", "", "B204"},
		{"export is the shell's", "export A=b\n", "", "B201"},
		{"name with a blank", "A B=c\n", "", "B004"},
		{"open quote", "A=\"b\n", "", "B201"},
		{"other quote", "A='b\"\n", "", "B201"},
		{"comment behind a quote", "A=\"b\" # c\n", "", "B201"},
		{"text behind a quote", "A=\"b\"c\n", "", "B201"},
		{"empty name", "=b\n", "", "B203"},

		{"empty command", "* * * * *\n", "", "B218"},
		{"empty command behind blanks", "* * * * *  \n", "", "B218"},
		{"nickname alone", "@daily\n", "", "B218"},
		{"nickname", " @daily cmd\n", "@daily|cmd", ""},
		{"nicknames are lower case", "@Daily cmd\n", "", "B013"},
		{"@reboot", "@reboot cmd\n", "@reboot|cmd", ""},
		{"sixth star", "* * * * * * cmd\n", "", "B219"},
		{"seconds in front make a command of the sixth", "0 0 12 * * 1 cmd\n", "0 0 12 * *|1 cmd", "B215"},

		{"- prefix", "-1 * * * * cmd\n", "1 * * * *|cmd", "B217"},
		{"- prefix of a nickname", "-@daily cmd\n", "@daily|cmd", "B217"},
		{"- and blank", "- 1 * * * cmd\n", "", "B224"},
		{"-n flag", "0 1 * * * -n cmd\n", "0 1 * * *|cmd", ""},
		{"-n twice", "0 1 * * * -n -n cmd\n", "0 1 * * *|-n cmd", "B216"},
		{"-n alone", "0 1 * * * -n\n", "", "B218"},
		{"-nice is a command", "0 1 * * * -nice cmd\n", "0 1 * * *|-nice cmd", "B216"},
		{"-x is a command", "0 1 * * * -x cmd\n", "0 1 * * *|-x cmd", "B216"},
		{"account in a user's crontab", "0 1 * * * root cmd\n", "0 1 * * *|root cmd", "B214"},
		{"account alone is a command", "0 1 * * * root\n", "0 1 * * *|root", ""},

		{"% ends the command", "0 1 * * * date +%F\n", "0 1 * * *|date +", "B210"},
		{"text behind %", "0 1 * * * mail bob%Hello%World\n", "0 1 * * *|mail bob", "B211"},
		{`\% is %`, `0 1 * * * date +\%F` + "\n", "0 1 * * *|date +%F", ""},
		{`\\ is untouched`, `0 1 * * * sed 's/\\/x/'` + "\n", `0 1 * * *|sed 's/\\/x/'`, "B213"},
		{`\x is untouched`, `0 1 * * * a\x` + "\n", `0 1 * * *|a\x`, ""},
		{`\\% splits`, `0 1 * * * a\\%b` + "\n", `0 1 * * *|a\\`, "B210 B213"},

		{"options behind a command", "0 1 * * * backup #@ overlap=skip timeout=1h\n", "0 1 * * *|backup #@ overlap=skip timeout=1h", "B420"},
		{"an option for people there", "0 1 * * * backup #@ x-owner=ops\n", "0 1 * * *|backup #@ x-owner=ops", "B420"},
		{"a comment of the shell", "0 1 * * * backup # overlap=skip\n", "0 1 * * *|backup # overlap=skip", ""},
		{"text behind #@", "0 1 * * * backup #@ for ops\n", "0 1 * * *|backup #@ for ops", ""},
		{"#@ in quotes", "0 1 * * * echo '#@ a=b' \"x #@ a=b\"\n", "0 1 * * *|echo '#@ a=b' \"x #@ a=b\"", ""},
		{"#@ in a word", "0 1 * * * echo a#@ a=b #@a=b\n", "0 1 * * *|echo a#@ a=b #@a=b", ""},

		{"CRON_TZ", "CRON_TZ=Asia/Tokyo\n0 1 * * * a\n", "0 1 * * *|a", "B207"},
		{"unknown zone", "CRON_TZ=Mars/Base\n0 1 * * * a\n", "0 1 * * *|a", "B206 B207"},
		{"TZ", "TZ=Asia/Tokyo\n", "", "B208"},
		{"RANDOM_DELAY", "RANDOM_DELAY=45\n", "", ""},
		{"bad RANDOM_DELAY", "RANDOM_DELAY=x\n0 1 * * * a\n", "0 1 * * *|a", "B205"},
		{"too high RANDOM_DELAY", "RANDOM_DELAY=1441\n", "", "B205"},
		{"no expansion", "PATH=$PATH:/opt/bin\n", "", "B209"},
		{"no home", "PATH=~/bin:/bin\n", "", "B209"},
		{"comment behind a value", "A=b # c\n", "", "B225"},
		{"LOGNAME", "LOGNAME=evil\n", "", "B226"},
		{"USER", "USER=evil\n", "", "B226"},
		{"SHELL", "SHELL=bash\n", "", "B227"},
		{"MAILTO", "MAILTO=ann@example.org,bob\nMAILTO=\nMAILTO=\"\"\n", "", ""},
		{"blank in MAILTO", "MAILTO=ann, bob\n", "", "B229"},
		{"name in MAILTO", "MAILTO=Ann <ann@example.org>\n", "", "B229"},
		{"flag in MAILTO", "MAILTO=-t\n", "", "B229"},
		{"MAILFROM", "MAILFROM=Ann <ann@example.org>\n", "", "B229"},
	}
	for _, tt := range tests {
		t.Run(tt.claim, func(t *testing.T) {
			got, codes := readOne(t, tt.text, Config{})
			slices.Sort(codes)
			if got != tt.want || strings.Join(codes, " ") != tt.codes {
				t.Errorf("Parse(%.80q)\ngot  %.80q %v\nwant %.80q [%s]", tt.text, got, codes, tt.want, tt.codes)
			}
		})
	}
}

func TestParseRefusesHugeFile(t *testing.T) {
	text := strings.Repeat("0 1 * * * a\n", MaxText/12+1)
	file, diagnostics := Parse("huge", text, Config{})
	if len(file.Entries) != 0 || len(diagnostics) != 1 || diagnostics[0].Code != "B304" {
		t.Errorf("got %d entries and %v, want none and B304", len(file.Entries), diagnostics)
	}
}

func TestParseTakesManyLines(t *testing.T) {
	const lines = 20_000
	file, diagnostics := Parse("many", strings.Repeat("0 1 * * * a\n", lines), Config{})
	if len(file.Entries) != lines || len(diagnostics) != 0 {
		t.Errorf("got %d entries and %v, want %d and none", len(file.Entries), diagnostics, lines)
	}
}

func TestParseBoundsDiagnostics(t *testing.T) {
	_, diagnostics := Parse("bad", strings.Repeat("x\n", 2*source.MaxDiagnostics), Config{})
	if len(diagnostics) != source.MaxDiagnostics+1 || diagnostics[source.MaxDiagnostics].Code != "B305" {
		t.Errorf("got %d diagnostics ending in %v, want %d ending in B305", len(diagnostics), diagnostics[len(diagnostics)-1], source.MaxDiagnostics+1)
	}
}

func TestAssignments(t *testing.T) {
	tests := []struct{ line, name, value string }{
		{"A=b", "A", "b"},
		{"A = b", "A", "b"},
		{"A\t=\tb", "A", "b"},
		{"  A=b", "A", "b"},
		{"A=b  \t", "A", "b"},
		{"A=b # c", "A", "b # c"},
		{"A==b", "A", "=b"},
		{"A=", "A", ""},
		{"A= ", "A", ""},
		{`A=""`, "A", ""},
		{`A=''`, "A", ""},
		{`A="b"`, "A", "b"},
		{`A=" b "`, "A", " b "},
		{`A="b" `, "A", "b"},
		{`A="it's"`, "A", "it's"},
		{`A=b"c"`, "A", `b"c"`},
		{`A=$B:~/x%y\z`, "A", `$B:~/x%y\z`},
		{`'A B'=b`, "A B", "b"},
		{`"A"=b`, "A", "b"},
		{`'A=B'=c`, "A", "B'=c"},
		{"9A=b", "9A", "b"},
		{"A-b=c", "A-b", "c"},
	}
	for _, tt := range tests {
		file, _ := Parse("env", tt.line+"\n0 1 * * * x\n", Config{})
		want := []string{tt.name + "=" + tt.value}
		if len(file.Entries) != 1 {
			t.Errorf("%q: got %d entries, want 1", tt.line, len(file.Entries))
			continue
		}
		if got := file.Entries[0].Env(); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", tt.line, got, want)
		}
	}
}

func TestAssignmentTooLongIsLeftOut(t *testing.T) {
	file, diagnostics := Parse("env", "A="+strings.Repeat("x", MaxSetting-1)+"\nB="+strings.Repeat("x", MaxSetting-2)+"\n0 1 * * * x\n", Config{})
	_, a := file.Entries[0].Lookup("A")
	_, b := file.Entries[0].Lookup("B")
	if a || !b || len(diagnostics) != 1 || diagnostics[0].Code != "B202" {
		t.Errorf("got A %v, B %v, %v; want only B and one B202", a, b, diagnostics)
	}
}

func TestAssignmentsActOnLinesBelow(t *testing.T) {
	file, _ := Parse("env", "A=1\nB=1\n0 1 * * * x\nA=2\nC=3\n0 2 * * * y\n", Config{})
	for i, want := range [][]string{{"A=1", "B=1"}, {"A=2", "B=1", "C=3"}} {
		if got := file.Entries[i].Env(); !slices.Equal(got, want) {
			t.Errorf("entry %d: got %q, want %q", i, got, want)
		}
	}
	if got, ok := file.Entries[1].Lookup("A"); got != "2" || !ok {
		t.Errorf("Lookup(A): got %q, %v, want 2", got, ok)
	}
	if got, ok := file.Entries[0].Lookup("C"); ok {
		t.Errorf("Lookup(C): got %q, want none", got)
	}
}

func TestStdin(t *testing.T) {
	tests := []struct {
		line, command, stdin string
		has                  bool
	}{
		{`cat`, "cat", "", false},
		{`cat%`, "cat", "", true},
		{`cat%a`, "cat", "a\n", true},
		{`cat%a%b`, "cat", "a\nb\n", true},
		{`cat%a%`, "cat", "a\n", true},
		{`cat%%`, "cat", "\n", true},
		{`cat%a\%b`, "cat", "a%b\n", true},
		{`cat%a\\b\c`, "cat", `a\\b\c` + "\n", true},
		{`cat%a\\%b`, "cat", `a\%b` + "\n", true},
		{`cat%a\`, "cat", `a\` + "\n", true},
		{`cat \%%a`, "cat %", "a\n", true},
		{`cat\`, `cat\`, "", false},
		{`printf '[\%s]' a\\b c\%d`, `printf '[%s]' a\\b c%d`, "", false},
	}
	for _, tt := range tests {
		file, _ := Parse("stdin", "0 1 * * * "+tt.line+"\n", Config{})
		e := &file.Entries[0]
		stdin, has := e.Stdin()
		if e.Command() != tt.command || stdin != tt.stdin || has != tt.has {
			t.Errorf("%q: got %q, %q, %v; want %q, %q, %v", tt.line, e.Command(), stdin, has, tt.command, tt.stdin, tt.has)
		}
	}
}

func TestSystemFormat(t *testing.T) {
	tests := []struct{ line, user, command, codes string }{
		{"0 1 * * * root cmd a", "root", "cmd a", ""},
		{"@daily\troot\tcmd", "root", "cmd", ""},
		{"0 1 * * * bob:staff cmd", "bob:staff", "cmd", "B223"},
		{"0 1 * * * \"bob\" cmd", `"bob"`, "cmd", "B223"},
		{"0 1 * * * /bin/x -v", "/bin/x", "-v", "B216 B223"},
		{"0 1 * * * root -n cmd", "root", "cmd", ""},
		{"0 1 * * * * cmd", "*", "cmd", "B215"},
		{"-0 1 * * * root cmd", "root", "cmd", ""},
		{"0 1 * * * DOM\\bob cmd", "DOM\\bob", "cmd", ""},
		{"0 1 * * * root", "", "", "B218"},
		{"0 1 * * * cmd-of-one-word  ", "", "", "B218"},
		{"0 1 * * *", "", "", "B218"},
		{"0 1 * * * root -n", "", "", "B218"},
	}
	for _, tt := range tests {
		file, diagnostics := Parse("system", tt.line+"\n", Config{Format: System, Owner: "nobody"})
		var codes []string
		for _, d := range diagnostics {
			codes = append(codes, string(d.Code))
		}
		slices.Sort(codes)
		var user, command string
		if len(file.Entries) == 1 {
			user, command = file.Entries[0].User(), file.Entries[0].Command()
		}
		if user != tt.user || command != tt.command || strings.Join(codes, " ") != tt.codes {
			t.Errorf("%q: got %q %q %v, want %q %q [%s]", tt.line, user, command, codes, tt.user, tt.command, tt.codes)
		}
	}
}

func TestEntryMethods(t *testing.T) {
	text := "# one\nCRON_TZ=Asia/Tokyo\n  -30 2 * * 1-5\tbob  -n  run it%in\r\n@reboot root x\n"
	file, _ := Parse("t", text, Config{Format: System, Zone: time.LoadLocation})
	e := &file.Entries[0]
	stdin, _ := e.Stdin()
	got := fmt.Sprintf("%d|%s|%s|%s|%s|%q|%v|%v|%v|%s", e.Line(), e.Raw(), e.Spec(), e.User(), e.Command(), stdin, e.Quiet(), e.MailOnFailure(), e.Reboot(), e.Zone())
	want := "3|  -30 2 * * 1-5\tbob  -n  run it%in|30 2 * * 1-5|bob|run it|\"in\\n\"|true|true|false|Asia/Tokyo"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if e.File() != file || !e.Options().Enabled || !file.Entries[1].Reboot() {
		t.Error("crontab, options or @reboot is wrong")
	}
}

func TestQuietNeedsPrivilege(t *testing.T) {
	for _, privileged := range []bool{true, false} {
		file, diagnostics := Parse("t", "-0 1 * * * x\n", Config{Owner: "root", Privileged: privileged})
		if got := file.Entries[0].Quiet(); got != privileged || (len(diagnostics) == 0) != privileged {
			t.Errorf("privileged %v: got quiet %v and %v", privileged, got, diagnostics)
		}
	}
}

func TestUnknownZoneHoldsEntriesBelow(t *testing.T) {
	text := "0 1 * * * a\nCRON_TZ=Mars/Base\n0 1 * * * b\n#@ tz=Europe/Paris\n0 1 * * * c\nCRON_TZ=\n0 1 * * * d\n"
	file, _ := Parse("t", text, Config{Zone: time.LoadLocation})
	for i, held := range []bool{false, true, false, false} {
		if got := file.Entries[i].Options().Held; (got != "") != held {
			t.Errorf("entry %d: got held %q, want %v", i, got, held)
		}
	}
	if want := `CRON_TZ in line 2 is an unknown zone "Mars/Base".`; file.Entries[1].Options().Held != want {
		t.Errorf("got %q, want %q", file.Entries[1].Options().Held, want)
	}
}

func TestEntryIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(Entry{}); size > 56 {
		t.Errorf("an entry takes %d bytes, want at most 56: a host may hold 100,000", size)
	}
}

func TestEqualTimesShareSchedule(t *testing.T) {
	cache := NewCache()
	c := Config{Zone: time.LoadLocation, Cache: cache}
	a, _ := Parse("a", "0 1 * * * x\n0 1 * * * y\n0 2 * * * z\nCRON_TZ=Asia/Tokyo\n0 1 * * * x\n#@ sec=30\n0 1 * * * x\n", c)
	b, _ := Parse("b", "0 1 * * * x\n#@ sec=30 tz=Asia/Tokyo\n0 1 * * * x\n~ 1 * * * x\n~ 1 * * * x\n", c)
	s := func(t *File, i int) any { return t.Entries[i].Schedule }
	if s(a, 0) != s(a, 1) || s(a, 0) != s(b, 0) || s(a, 4) != s(b, 1) {
		t.Error("equal times in the same zone are not shared")
	}
	d, _ := Parse("d", "#@ dst=literal\n0 1 * * * x\n#@ dst=literal\n0 1 * * * y\n#@ dst=second\n0 1 * * * x\n#@ dst=cron\n0 1 * * * x\n", c)
	if s(d, 0) != s(d, 1) || s(d, 0) == s(d, 2) || s(d, 0) == s(a, 0) || s(d, 3) != s(a, 0) {
		t.Error("schedules are shared, or not, whatever dst= says")
	}
	if s(a, 0) == s(a, 2) || s(a, 0) == s(a, 3) || s(a, 3) == s(a, 4) || s(b, 2) == s(b, 3) {
		t.Error("different times are shared")
	}
}

func TestFamilyChangesDiagnosticsOnly(t *testing.T) {
	text := "CRON_TZ=Asia/Tokyo\n0 1 * * * a\\\\b\n"
	debian, _ := readOne(t, text, Config{Family: Debian})
	rhel, codes := readOne(t, text, Config{Family: RHEL})
	if debian != rhel || len(codes) != 0 {
		t.Errorf("got %q and %q with %v, want the same without diagnostics", debian, rhel, codes)
	}
}

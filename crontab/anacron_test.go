package crontab

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
)

// stockDebian and stockRHEL are the crontabs that the packages ship.
const (
	stockDebian = `# /etc/anacrontab: configuration file for anacron

# See anacron(8) and anacrontab(5) for details.

SHELL=/bin/sh
HOME=/root
LOGNAME=root

# These replace cron's entries
1	5	cron.daily	run-parts --report /etc/cron.daily
7	10	cron.weekly	run-parts --report /etc/cron.weekly
@monthly	15	cron.monthly	run-parts --report /etc/cron.monthly
`
	stockRHEL = `# /etc/anacrontab: configuration file for anacron

SHELL=/bin/sh
PATH=/sbin:/bin:/usr/sbin:/usr/bin
MAILTO=root
# the maximal random delay added to the base delay of the jobs
RANDOM_DELAY=45
# the jobs will be started during the following hours only
START_HOURS_RANGE=3-22

#period in days   delay in minutes   job-identifier   command
1	5	cron.daily		nice run-parts /etc/cron.daily
7	25	cron.weekly		nice run-parts /etc/cron.weekly
@monthly 45	cron.monthly		nice run-parts /etc/cron.monthly
`
)

// tellAnacron describes in one line what anacron would do for an entry.
func tellAnacron(e *Entry) string {
	p := e.Options().Period
	every := fmt.Sprint(p.Days)
	if p.Month {
		every = "month"
	} else if p.Year {
		every = "year"
	}
	text := fmt.Sprintf("%s +%s", every, timetable.DurationText(p.Delay))
	if p.Until > 0 {
		text += fmt.Sprintf(" %d-%d", p.From, p.Until)
	}
	return fmt.Sprintf("%s %s: %s", text, p.ID, e.Command())
}

func readAnacron(text string, family Family) (entries, codes []string) {
	file, diagnostics := Parse("/etc/anacrontab", text, Config{Format: Anacron, Family: family, Seed: 1})
	for i := range file.Entries {
		entries = append(entries, tellAnacron(&file.Entries[i]))
	}
	for _, d := range diagnostics {
		codes = append(codes, string(d.Code))
	}
	return entries, codes
}

func TestAnacrontabOfTheFamilies(t *testing.T) {
	got, codes := readAnacron(stockDebian, Debian)
	want := []string{
		"1 +5m cron.daily: run-parts --report /etc/cron.daily",
		"7 +10m cron.weekly: run-parts --report /etc/cron.weekly",
		"month +15m cron.monthly: run-parts --report /etc/cron.monthly",
	}
	if !slices.Equal(got, want) || len(codes) > 0 {
		t.Errorf("Debian: got %q, diagnostics %q, want %q", got, codes, want)
	}
	file, diagnostics := Parse("/etc/anacrontab", stockRHEL, Config{Format: Anacron, Family: RHEL, Seed: 1})
	if len(diagnostics) > 0 || len(file.Entries) != 3 {
		t.Fatalf("RHEL: got %d entries, diagnostics %v", len(file.Entries), diagnostics)
	}
	drawn := file.Entries[0].Options().Period.Delay - 5*time.Minute
	if drawn < 0 || drawn > 45*time.Minute || drawn%time.Minute != 0 {
		t.Errorf("RANDOM_DELAY=45 adds %s", drawn)
	}
	for i, delay := range []time.Duration{5, 25, 45} {
		p := file.Entries[i].Options().Period
		if p.Delay != delay*time.Minute+drawn {
			t.Errorf("%s: delay %s, want %d minutes and the draw of %s", p.ID, p.Delay, delay, drawn)
		}
		if p.From != 3 || p.Until != 22 {
			t.Errorf("%s: hours %d-%d, want 3-22", p.ID, p.From, p.Until)
		}
	}
}

func TestAnacrontabDrawIsOfTheHost(t *testing.T) {
	delays := map[time.Duration]bool{}
	for seed := range uint64(50) {
		c := Config{Format: Anacron, Family: RHEL, Seed: seed}
		a, _ := Parse("a", stockRHEL, c)
		b, _ := Parse("a", stockRHEL, c)
		one, two := a.Entries[0].Options().Period.Delay, b.Entries[0].Options().Period.Delay
		if one != two {
			t.Fatalf("seed %d: read twice, the delay is %s and %s", seed, one, two)
		}
		delays[one] = true
	}
	if len(delays) < 10 {
		t.Errorf("50 hosts draw only %d delays", len(delays))
	}
}

// TestAnacrontabClaims holds the parser to the manual page.
func TestAnacrontabClaims(t *testing.T) {
	tests := []struct {
		claim, text string
		debian      []string
		debianCodes string
		rhel        []string
		rhelCodes   string
	}{
		{claim: "blanks and tabs separate", text: " \t1 \t 5  a \t b  c \n",
			debian: []string{"1 +5m a: b  c "}, rhel: []string{"1 +5m a: b  c "}},
		{claim: "comments and blank lines", text: "# 1 5 a b\n \n\t# x\n"},
		{claim: "a bad line costs itself only", text: "one 5 a b\n1 5 c d\n",
			debian: []string{"1 +5m c: d"}, debianCodes: "B501", rhel: []string{"1 +5m c: d"}, rhelCodes: "B501"},
		{claim: "digits only", text: "+1 5 a b\n1 -5 a b\n1.5 5 a b\n1 5m a b\n0x1 5 a b\n",
			debianCodes: "B501 B501 B501 B501 B501", rhelCodes: "B501 B501 B501 B501 B501"},
		{claim: "numbers out of range", text: "9999999999 5 a b\n1 9999999999 a b\n1 99999999999999999999 a b\n",
			debianCodes: "B503 B503 B503", rhelCodes: "B503 B503 B503"},
		{claim: "leading zeros", text: "007 005 a b\n", debian: []string{"7 +5m a: b"}, rhel: []string{"7 +5m a: b"}},
		{claim: "names of both", text: "@monthly 1 a b\n@yearly 1 c d\n",
			debian: []string{"month +1m a: b", "year +1m c: d"}, rhel: []string{"month +1m a: b", "year +1m c: d"}},
		{claim: "names of cronie", text: "@daily 1 a b\n@weekly 1 c d\n@annually 1 e f\n", debianCodes: "B502 B502 B502",
			rhel: []string{"1 +1m a: b", "7 +1m c: d", "year +1m e: f"}},
		{claim: "no other names", text: "@hourly 1 a b\n@Monthly 1 a b\n@ 1 a b\n", debianCodes: "B502 B502 B502", rhelCodes: "B502 B502 B502"},
		{claim: "no slash in an identifier", text: "1 5 a/b c\n1 5 .. c\n1 5 . c\n", debianCodes: "B504 B504 B504", rhelCodes: "B504 B504 B504"},
		{claim: "no control byte in an identifier", text: "1 5 a\x1b[2J c\n", debianCodes: "B504", rhelCodes: "B504"},
		{claim: "a command is needed", text: "1 5 a\n1 5\n1 5 a \t\n", debianCodes: "B218 B501 B218", rhelCodes: "B218 B501 B218"},
		{claim: "% is a character", text: "1 5 a date +%F%x\n", debian: []string{"1 +5m a: date +%F%x"}, rhel: []string{"1 +5m a: date +%F%x"}},
		{claim: "= in a command", text: "1 5 a A=b c\n", debian: []string{"1 +5m a: A=b c"}, rhel: []string{"1 +5m a: A=b c"}},
		{claim: "a last line without newline counts", text: "1 5 a b", debian: []string{"1 +5m a: b"}, rhel: []string{"1 +5m a: b"}},
		{claim: "a backslash joins lines", text: "1 5 a b \\\nc\n7 5 d e\n",
			debian: []string{"1 +5m a: b  c", "7 +5m d: e"}, rhel: []string{"1 +5m a: b  c", "7 +5m d: e"}},
		{claim: "other backslashes", text: "1 5 a b \\$c\\\\d\n", debian: []string{"1 +5m a: b $cd"}, debianCodes: "B507",
			rhel: []string{`1 +5m a: b \$c\\d`}},
		{claim: "a comment is joined too", text: "# note \\\n1 5 a b\n7 5 d e\n", debian: []string{"7 +5m d: e"}, debianCodes: "B507",
			rhel: []string{"7 +5m d: e"}, rhelCodes: "B507"},
		{claim: "CR is dropped", text: "1 5 a b\r\n", debian: []string{"1 +5m a: b"}, debianCodes: "B302", rhel: []string{"1 +5m a: b"}, rhelCodes: "B302"},
		{claim: "NUL", text: "1 5 a b\x00\n7 5 c d\n", debian: []string{"7 +5m c: d"}, debianCodes: "B221", rhel: []string{"7 +5m c: d"}, rhelCodes: "B221"},
		{claim: "hours count for all lines", text: "1 5 a b\nSTART_HOURS_RANGE=3-22\n7 5 c d\n", debian: []string{"1 +5m a: b", "7 +5m c: d"}, debianCodes: "B508",
			rhel: []string{"1 +5m 3-22 a: b", "7 +5m 3-22 c: d"}},
		{claim: "a preferred hour", text: "1 5 a b\nPREFERRED_HOUR=4\n", debian: []string{"1 +5m a: b"}, debianCodes: "B508", rhel: []string{"1 +5m 4-5 a: b"}},
		{claim: "a preferred hour within the hours", text: "START_HOURS_RANGE=3-22\nPREFERRED_HOUR=3\n1 5 a b\n", debian: []string{"1 +5m a: b"}, debianCodes: "B508 B508",
			rhel: []string{"1 +5m 3-4 a: b"}},
		{claim: "a preferred hour outside", text: "START_HOURS_RANGE=3-22\nPREFERRED_HOUR=22\n1 5 a b\n", debian: []string{"1 +5m a: b"}, debianCodes: "B508 B508",
			rhel: []string{"1 +5m 22-23 a: b"}, rhelCodes: "B509"},
		{claim: "hours that cannot be read", text: "START_HOURS_RANGE=22-3\nSTART_HOURS_RANGE= 3-22\nSTART_HOURS_RANGE=3\nPREFERRED_HOUR=24\nRANDOM_DELAY=-1\n1 5 a b\n",
			debian: []string{"1 +5m a: b"}, debianCodes: "B508 B508 B508 B508 B508", rhel: []string{"1 +5m a: b"}, rhelCodes: "B506 B506 B506 B506 B506"},
		{claim: "no random delay", text: "RANDOM_DELAY=0\n1 5 a b\n", debian: []string{"1 +5m a: b"}, debianCodes: "B508", rhel: []string{"1 +5m a: b"}},
		{claim: "period 0 is always due", text: "0 5 a b\n", debian: []string{"0 +5m a: b"}, rhel: []string{"0 +5m a: b"}},
	}
	for _, tt := range tests {
		for _, f := range []struct {
			family Family
			want   []string
			codes  string
		}{{Debian, tt.debian, tt.debianCodes}, {RHEL, tt.rhel, tt.rhelCodes}} {
			got, codes := readAnacron(tt.text, f.family)
			if !slices.Equal(got, f.want) || strings.Join(codes, " ") != f.codes {
				t.Errorf("%s (family %d): Parse(%q) = %q with %q, want %q with %q", tt.claim, f.family, tt.text, got, codes, f.want, f.codes)
			}
		}
	}
}

func TestAnacrontabEntryIsAJobOfRoot(t *testing.T) {
	text := "A= ' x' \nB=1\n7 10 cron.weekly one %two\nB=\n"
	file, _ := Parse("/etc/anacrontab", text, Config{Format: Anacron, Owner: "bob"})
	e := &file.Entries[0]
	if got := fmt.Sprint(e.User(), e.Dir(), e.Spec(), e.Line()); got != "root/7 103" {
		t.Errorf("got %q", got)
	}
	if _, has := e.Stdin(); has {
		t.Error("it has an input")
	}
	if got, want := e.Env(), []string{"A= ' x' ", "B=1"}; !slices.Equal(got, want) {
		t.Errorf("Env() = %q, want %q: values are raw, and hold for the lines below", got, want)
	}
	o := e.Options()
	if o.Name != "cron.weekly" || o.Catchup != option.CatchupOnce || o.Deadline != 0 || o.Overlap != option.OverlapSkip || !o.Enabled || o.Held != "" {
		t.Errorf("got options %+v", o)
	}
	if o == option.Plain || option.Plain.Period != nil {
		t.Error("the options of all other entries were changed")
	}
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	if next := e.Schedule.Next(at); !next.Equal(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)) || !timetable.FixedTime(e.Schedule) {
		t.Errorf("Next(%s) = %s, want each midnight, as a fixed time", at, next)
	}
	if got, want := timetable.Describe(e.Schedule), "once in 7 days, 10m after it is found due"; got != want {
		t.Errorf("Describe = %q, want %q", got, want)
	}
	if got := timetable.PerYear(e.Schedule, 2026); got != 52 {
		t.Errorf("PerYear = %d, want 52", got)
	}
}

func TestAnacrontabTakesOptions(t *testing.T) {
	file, diagnostics := Parse("a", "#@ name=backup timeout=1h overlap=allow catchup=skip\n1 5 a b\n1 5 c d\n#@ every=5m\n1 5 e f\n", Config{Format: Anacron})
	first, second, third := file.Entries[0].Options(), file.Entries[1].Options(), file.Entries[2].Options()
	if first.Name != "backup" || first.Period.ID != "a" || first.Timeout != time.Hour || first.Overlap != option.OverlapAllow || first.Catchup != option.CatchupSkip {
		t.Errorf("with options: got %+v", first)
	}
	if second.Name != "c" || second.Timeout != 0 {
		t.Errorf("without: got %+v", second)
	}
	if third.Degraded == "" || len(diagnostics) != 1 || diagnostics[0].Code != "B410" {
		t.Errorf("every= on a line of anacrontab: got %+v, diagnostics %v", third, diagnostics)
	}
	if next := file.Entries[2].Schedule.Next(time.Unix(0, 0)); next.Unix() != 86400 {
		t.Errorf("every= moved the line to %s", next)
	}
}

func TestAnacrontabIdentifierThatIsNoName(t *testing.T) {
	file, diagnostics := Parse("a", "1 5 a+b c\n", Config{Format: Anacron})
	if o := file.Entries[0].Options(); o.Name != "" || o.Period.ID != "a+b" || o.Held != "" || len(diagnostics) > 0 {
		t.Errorf("got %+v, diagnostics %v; want the period a+b of a job without name", o, diagnostics)
	}
}

func TestAnacrontabIdentifierTwiceHoldsTheLater(t *testing.T) {
	file, diagnostics := Parse("a", "1 5 a b\n7 5 a c\n", Config{Format: Anacron})
	if first := file.Entries[0].Options(); first.Held != "" || first.Name != "a" {
		t.Errorf("the first: got %+v", first)
	}
	if second := file.Entries[1].Options(); second.Held == "" || second.Name != "" || len(diagnostics) != 1 || diagnostics[0].Code != "B505" {
		t.Errorf("the second: got %+v, diagnostics %v", second, diagnostics)
	}
}

func TestAnacrontabNoMailIsForTheLinesBelow(t *testing.T) {
	file, _ := Parse("a", "MAILTO=ops\n1 5 a b\nNO_MAIL_OUTPUT=1\n1 5 c d\nNO_MAIL_OUTPUT=\n1 5 e f\n", Config{Format: Anacron, Family: RHEL})
	for i, want := range []string{"ops", "", "ops"} {
		if got, ok := file.Entries[i].Lookup("MAILTO"); !ok || got != want {
			t.Errorf("entry %d: MAILTO is %q, want %q", i, got, want)
		}
	}
}

func TestAnacrontabDiagnosticsNameThePlaceInTheFile(t *testing.T) {
	_, diagnostics := Parse("a", "1 \\\n  5 \\\n a/b c\n", Config{Format: Anacron, Family: RHEL})
	if len(diagnostics) != 1 || diagnostics[0].Line != 3 || diagnostics[0].Column != 2 || diagnostics[0].Length != 3 {
		t.Errorf("got %+v, want line 3, column 2, length 3", diagnostics)
	}
}

func TestStandInsForAnacron(t *testing.T) {
	tests := []struct{ line, want string }{
		{"25 6 * * * root test -x /usr/sbin/anacron || ( cd / && run-parts --report /etc/cron.daily )", "cron.daily"},
		{"25 6 * * * root test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }", "cron.daily"},
		{"47 6 * * 7 root test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.weekly; }", "cron.weekly"},
		{"52 6 1 * * root test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.monthly; }", "cron.monthly"},
		{"02 4 * * * root [ ! -f /etc/cron.hourly/0anacron ] && run-parts /etc/cron.daily", "cron.daily"},
		{"22 4 * * 0 root /usr/bin/run-parts -v /etc/cron.weekly/", "cron.weekly"},
		{"17 * * * * root cd / && run-parts --report /etc/cron.hourly", ""},
		{"01 * * * * root run-parts /etc/cron.hourly", ""},
		{"25 6 * * * root ls /etc/cron.daily", ""},
		{"25 6 * * * root run-parts /opt/daily # not /etc/cron.daily", ""},
		{"25 6 * * * root run-parts /etc/cron.daily.old", ""},
		{"@reboot root run-parts /etc/cron.daily", ""},
	}
	for _, tt := range tests {
		for _, standIn := range []bool{true, false} {
			file, _ := Parse("/etc/crontab", tt.line+"\n", Config{Format: System, StandIn: standIn})
			o, got := file.Entries[0].Options(), ""
			if o.Period != nil {
				got = o.Period.ID
				if o.Catchup != option.CatchupOnce || o.Overlap != option.OverlapSkip || o.Deadline != 0 || o.Name != "" || o.Period.Delay != 0 || o.Period.Until != 0 {
					t.Errorf("%s: got %+v", tt.line, o)
				}
			}
			if standIn && got != tt.want || !standIn && o != option.Plain {
				t.Errorf("%s (stand in: %t): got period %q, want %q", tt.line, standIn, got, tt.want)
			}
		}
	}
	file, _ := Parse("/etc/crontab", "#@ catchup=skip overlap=queue\n25 6 * * * root run-parts /etc/cron.daily\n", Config{Format: System, StandIn: true})
	if o := file.Entries[0].Options(); o.Period == nil || o.Catchup != option.CatchupSkip || o.Overlap != option.OverlapQueue {
		t.Errorf("the author's options do not win: %+v", o)
	}
	file, _ = Parse("bob", "25 6 * * * run-parts /etc/cron.daily\n", Config{StandIn: true})
	if file.Entries[0].Options().Period != nil {
		t.Error("a user's line stands in for anacron")
	}
}

// FuzzAnacrontab reads any text as both families: diagnostics name places of the
// text, and each entry reads the same by itself.
func FuzzAnacrontab(f *testing.F) {
	for _, family := range []bool{false, true} {
		f.Add(stockDebian, family)
		f.Add(stockRHEL, family)
		f.Add("1 5 a b \\\n c\\d\r\n#@ timeout=5m \\\nx\nA \\\n=b\\", family)
		f.Add("1 5 a \r\r\n", family)
		f.Add("\\\n\\\n1\\ 5 \\a/b c\\\\\n@daily\\\n\\", family)
		f.Add("NO_MAIL_OUTPUT=1\nPREFERRED_HOUR=3\nSTART_HOURS_RANGE=4-5\n#@ name=x tz=UTC every=1h\n@yearly 00 x y\x00", family)
	}
	f.Fuzz(func(t *testing.T, text string, rhel bool) {
		c := Config{Format: Anacron, Zone: zones, Seed: 1}
		if rhel {
			c.Family = RHEL
		}
		file, diagnostics := Parse("fuzz", text, c)
		checkDiagnostics(t, text, diagnostics)
		last := 0
		for i := range file.Entries {
			e := &file.Entries[i]
			if e.Line() <= last {
				t.Fatalf("entry %d is in line %d, after line %d", i, e.Line(), last)
			}
			last = e.Line()
			p := e.Options().Period
			if p == nil || !isStampName(p.ID) || p.Delay < 0 || p.Until < 0 || p.From < 0 || p.Until > 24 || e.Command() == "" || e.User() != "root" {
				t.Fatalf("%q: got %+v, command %q", e.Raw(), p, e.Command())
			}
			if strings.HasSuffix(e.Raw(), `\`) {
				continue // alone it would continue in the next line
			}
			again, _ := Parse("again", e.Raw()+"\n", c)
			if len(again.Entries) != 1 || again.Entries[0].Command() != e.Command() || again.Entries[0].Spec() != e.Spec() {
				t.Fatalf("%q: read again, got %d entries", e.Raw(), len(again.Entries))
			}
		}
	})
}

func TestIdentityOfPeriods(t *testing.T) {
	line := func(text string, seed uint64) string {
		file, _ := Parse("a", text, Config{Format: Anacron, Family: RHEL, Seed: seed})
		return timetable.Identity(file.Entries[0].Schedule)
	}
	if a, b := line("RANDOM_DELAY=600\n1 5 a b\n", 1), line("RANDOM_DELAY=600\n1 5 a b\n", 2); a != b {
		t.Errorf("another draw makes another schedule: %q, %q", a, b)
	}
	if a, b := line("1 5 a b\n", 1), line("7 5 a b\n", 1); a == b {
		t.Errorf("two periods have one identity: %q", a)
	}
}

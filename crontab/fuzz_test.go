package crontab

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/lex"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
)

// addCorpus seeds a fuzz target with the real crontabs and the strange ones.
func addCorpus(f *testing.F, add func(text string)) {
	for _, pattern := range []string{"*.crontab", "*.cron.d", "real/*"} {
		paths, err := filepath.Glob(filepath.Join(corpus, pattern))
		if err != nil {
			f.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			add(string(text))
		}
	}
}

// zones contains two zones and reads no disk, so that fuzzing is fast.
func zones(name string) (*time.Location, error) {
	switch name {
	case "UTC":
		return time.UTC, nil
	case "Asia/Kolkata":
		return time.FixedZone(name, 19800), nil
	}
	return nil, os.ErrNotExist
}

func FuzzParse(f *testing.F) {
	for _, system := range []bool{false, true} {
		addCorpus(f, func(text string) { f.Add(text, system) })
		f.Add("-*/5 0~9 * * mon\t-n x%y\\%z\\\r\n", system)
		f.Add("0 0 1 1 *00 0 \r\r\n", system)
		f.Add("CRON_TZ=Asia/Kolkata\nRANDOM_DELAY=9\n0 1 * * * a\x00\n@reboot b", system)
	}
	f.Fuzz(func(t *testing.T, text string, system bool) {
		c := Config{Zone: zones, Seed: 1, Owner: "bob"}
		if system {
			c.Format = System
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
			checkEntry(t, e, c)
		}
	})
}

func checkDiagnostics(t *testing.T, text string, diagnostics []diagnostic.Diagnostic) {
	t.Helper()
	lines := strings.Split(strings.TrimPrefix(text, lex.ByteOrderMark), "\n")
	for _, d := range diagnostics {
		if d.Line < 1 || d.Line > len(lines) {
			t.Fatalf("%v %s: the text has %d lines", d, d.Code, len(lines))
		}
		if n := len(lines[d.Line-1]); d.Column < 0 || d.Column > n+1 || d.Length < 0 || d.Column+d.Length > n+2 {
			t.Fatalf("%v %s: length %d is beyond the %d bytes of the line", d, d.Code, d.Length, n)
		}
		if d.Code.Meaning() == "" || d.Message == "" || strings.HasSuffix(d.Message, ".") {
			t.Fatalf("%v: code %q is not listed, or the message is no message", d, d.Code)
		}
		if strings.ContainsFunc(d.Message+d.Fix, func(r rune) bool { return r < ' ' }) {
			t.Fatalf("%q, %q: a control byte would reach the terminal", d.Message, d.Fix)
		}
	}
}

// checkEntry reads an entry's line again by itself: it must say the same.
func checkEntry(t *testing.T, e *Entry, c Config) {
	t.Helper()
	if e.Command() == "" && !strings.HasPrefix(e.rest(), "%") {
		t.Fatalf("line %d: no command in %q", e.Line(), e.Raw())
	}
	again, diagnostics := Parse("again", e.Raw()+"\r\n", c) // a CR at the end of Raw belongs to the command
	if len(again.Entries) != 1 {
		t.Fatalf("%q: read again, got %d entries: %v", e.Raw(), len(again.Entries), diagnostics)
	}
	a := &again.Entries[0]
	stdin, has := e.Stdin()
	stdinAgain, hasAgain := a.Stdin()
	if a.Spec() != e.Spec() || a.User() != e.User() || a.Command() != e.Command() || stdinAgain != stdin || hasAgain != has ||
		a.Quiet() != e.Quiet() || a.MailOnFailure() != e.MailOnFailure() || a.Reboot() != e.Reboot() {
		t.Fatalf("%q: read again, got %q %q %q", e.Raw(), a.Spec(), a.User(), a.Command())
	}
	if _, delayed := e.Lookup("RANDOM_DELAY"); delayed || e.Options() != option.Plain || e.Zone().String() != a.Zone().String() {
		return
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if next, nextAgain := e.Schedule.Next(start), a.Schedule.Next(start); !next.Equal(nextAgain) {
		t.Fatalf("%q: next is %v, and read again %v", e.Raw(), next, nextAgain)
	}
}

// FuzzDirective reads any text behind #@ above a good entry: the entry must be
// there, and each diagnostic that is an error must hold or degrade it.
func FuzzDirective(f *testing.F) {
	for _, s := range option.Vocabulary() {
		f.Add(s.Key + "=" + s.Values)
		f.Add("?" + s.Key + "=\"" + s.Values + "\"")
	}
	for _, v := range optionValues {
		for value := range strings.FieldsSeq(v.good + " " + v.bad) {
			f.Add(v.key + "=" + value)
		}
	}
	f.Add("after=a:done,b when=one_success wait=5m pool=x:2 if='test -e /x' on=job:c:fail,lost trigger=manual")
	f.Add("retry=2 retry-on=1,timeout no-retry-on=lost skip-code=0 ok=0,1 stop-signal=KILL stop-grace=1s max-instances=3 overlap=skip")
	f.Add("nice=-5 idle slice=x io-weight=9 cpu=50% memory=1G memory-high=2G output-max=1M keep=1d notify=a notify-on=fail,each")
	f.Add("name=a timeout=5m retry=3 backoff=1s..5mx2 -- note")
	f.Add("\f")
	f.Add("-- =")
	f.Add("--='")
	f.Add("default catchup=all:5 from=2026-01-01T00:00 count=3")
	f.Fuzz(func(t *testing.T, items string) {
		if strings.ContainsAny(items, "\n") {
			return
		}
		text := "#@ " + items + "\n0 1 * * * x\n"
		file, diagnostics := Parse("fuzz", text, Config{Zone: zones})
		checkDiagnostics(t, text, diagnostics)
		if len(file.Entries) != 1 {
			t.Fatalf("%q: got %d entries, want 1: %v", items, len(file.Entries), diagnostics)
		}
		e := &file.Entries[0]
		o := e.Options()
		if first := strings.TrimLeft(items, lex.Blanks); !strings.HasPrefix(first, "file") && !strings.HasPrefix(first, "default") {
			for _, d := range diagnostics {
				if d.Severity == diagnostic.Error && d.Line == 1 && o.Held == "" && o.Degraded == "" {
					t.Fatalf("%q: %v, but the entry is neither held nor degraded", items, d)
				}
			}
		}
		if o.Retry < 0 || o.Timeout < 0 || o.Grace < 0 || o.Deadline < 0 || o.MaxMade < 1 || o.RetryJitter < 0 || o.RetryJitter > 100 ||
			o.Backoff.Min < 0 || o.Backoff.Max < o.Backoff.Min || !(o.Backoff.Factor >= 1) ||
			o.Priority < 1 || o.Priority > option.Plain.Priority || o.Slots < 0 || o.MaxInstances < 0 || o.OutputMax < 0 || o.OutputMax > option.MaxOutput ||
			o.Exhausted == option.ExhaustedDefault || len(o.OK) == 0 || o.StopSignal == 0 || o.Wait < 0 || o.Breaker.Hold < 0 ||
			o.Keep.Runs < 0 || o.Keep.Age < 0 || o.Keep == (option.Keep{}) || o.NotifyOn == 0 {
			t.Fatalf("%q: got %+v", items, o)
		}
		for _, code := range o.SkipCodes {
			if slices.Contains(o.OK, code) {
				t.Fatalf("%q: exit status %d is success and skipped", items, code)
			}
		}
		if r := o.Resources; r != nil && (r.Memory < 0 || r.MemoryHigh < 0 || r.CPU < 0 || r.Tasks < 0 || r.NoFile < 0 || r.Slice != "" ||
			r.Nice != nil && *r.Nice < 0 || r.IOWeight > option.UsualWeight || r.CPUWeight > option.UsualWeight) {
			t.Fatalf("%q: a user's entry got %+v", items, *r)
		}
		if started := (o.IsStartedByEvents() || o.Manual) && !o.StartsAtBoot(); started != (e.Schedule == timetable.Never) {
			t.Fatalf("%q: got schedule %v with on= %v %+v, trigger=manual %v", items, e.Schedule, o.On, o.Triggers, o.Manual)
		}
		for _, d := range file.Losses() {
			if d.Line < 1 || d.Line > 2 || d.Code.Meaning() == "" {
				t.Fatalf("%q: got %v", items, d)
			}
		}
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		if next := e.Schedule.Next(start); !next.IsZero() && !next.After(start) {
			t.Fatalf("%q: next after %v is %v", items, start, next)
		}
	})
}

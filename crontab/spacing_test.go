package crontab

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
)

func TestSpacing(t *testing.T) {
	const day = 24 * time.Hour
	for _, test := range []struct {
		options, spec string
		want          time.Duration
	}{
		{"", "* * * * *", time.Minute},
		{"", "*/7 * * * *", 4 * time.Minute}, // from :56 to :00
		{"", "0,30 3 * * *", 30 * time.Minute},
		{"", "50,10 3,4 * * *", 20 * time.Minute},
		{"", "0 3 * * *", day},
		{"", "0 1,23 * * *", 2 * time.Hour},
		{"", "59 23 * * 1,3,6", 2 * day},
		{"", "0 0 * * 0", 7 * day},
		{"", "0 0 1 * *", 28 * day},
		{"", "0 0 31 * *", 31 * day},
		{"", "0 0 1,31 * *", day},
		{"", "0 0 1 * 0", day}, // the first or a Sunday
		{"", "0 0 1 1 *", 365 * day},
		{"", "0 0 29 2 *", 1461 * day},
		{"", "0 0 30 2 *", 0},
		{"sec=*", "* * * * *", time.Second},
		{"sec=5,50", "0 3 * * *", 45 * time.Second},
		{"sec=5,50", "* * * * *", 15 * time.Second},
		{"sec=30", "0 3 * * *", day},
		{"every=90s", "* * * * *", 90 * time.Second},
		{"at=2026-11-20", "* * * * *", 0},
		{"spread=1h from=2026-01-01 until=2027-01-01 count=5", "0 3 * * *", day},
	} {
		file, _ := Parse("t", "#@ x-y "+test.options+"\n"+test.spec+" x\n", Config{Zone: zones})
		if got := timetable.Spacing(file.Entries[0].Schedule); got != test.want {
			t.Errorf("%s %s: got %s, want %s", test.options, test.spec, got, test.want)
		}
	}
	if got := timetable.Spacing(cron.Every(time.Hour)); got != 0 {
		t.Errorf("a schedule of another package: got %s, want 0", got)
	}
}

// TestJitterNotShorterThanThePeriod holds that a jitter= of one entry is left
// out with a clear message, and one for several entries is lowered.
func TestJitterNotShorterThanThePeriod(t *testing.T) {
	for _, test := range []struct {
		text, message, fix string
		delay              time.Duration // the longest; 0: none
	}{
		{"#@ jitter=4m59s\n*/5 * * * * x\n", "", "", 299 * time.Second},
		{"#@ jitter=5m\n*/5 * * * * x\n", "jitter=5m is not shorter than the time between two occurrences, which can be 5m: the entry runs without it", "write `jitter=4m59s` or less", 0},
		{"#@ jitter=1d sec=*\n* * * * * x\n", "which can be 1s", "delete `jitter`", 0},
		{"#@ jitter=52w every=1s\n* * * * * x\n", "which can be 1s", "delete `jitter`", 0},
		{"#@ ?jitter=52w every=1s\n* * * * * x\n", "it is ignored", "", 0},
		{"#@ jitter=52w at=2026-12-24\n* * * * * x\n", "", "", 364 * 24 * time.Hour},
		{"#@ default jitter=1h\n*/5 * * * * x\n", "", "", 299 * time.Second},
		{"RANDOM_DELAY=45\n*/5 * * * * x\n", "", "", 299 * time.Second},
		{"RANDOM_DELAY=45\n#@ jitter=1h\n0 3 * * * x\n", "", "", time.Hour},
	} {
		file, diagnostics := Parse("t", test.text, Config{Zone: zones})
		e := file.Entries[0]
		_, delay := jitterOf(e.Schedule)
		message, fix := "", ""
		if len(diagnostics) > 0 {
			message, fix = diagnostics[0].Message, diagnostics[0].Fix
		}
		if delay != test.delay || !strings.Contains(message, test.message) || test.message == "" && message != "" || fix != test.fix {
			t.Errorf("%q: got %s, %q, %q; want %s, %q, %q", test.text, delay, message, fix, test.delay, test.message, test.fix)
		}
		if refused := strings.Contains(message, "without it"); refused != (e.Options().Degraded != "") {
			t.Errorf("%q: got degraded %q", test.text, e.Options().Degraded)
		}
	}
}

// TestPerYearOfSecondsInAPartOfAYear compares PerYear with a walk. It goes over the minutes of 31 million
// occurrences alone.
func TestPerYearOfSecondsInAPartOfAYear(t *testing.T) {
	for _, options := range []string{
		"sec=* from=2026-03-01T10:00:07 until=2026-03-01T12:30:31", "sec=5,50 from=2026-03-01T10:00:05 until=2026-03-01T10:00:50",
		"sec=0 from=2026-12-31T23:59 until=2027-01-02", "sec=10,20,59 from=2025-12-31T23:59:30 until=2026-01-01T00:01:20", "sec=* until=2025-01-01",
		"sec=30 from=2026-03-01T10:00:07 count=7", "every=7s from=2026-03-01 until=2026-03-01T05:00", "sec=*/7 from=2026-05-05 until=2026-05-06 spread=1h",
	} {
		file, _ := Parse("t", "#@ "+options+"\n*/3 * * * * x\n", Config{Zone: zones})
		s := file.Entries[0].Schedule
		inner := s
		if strings.Contains(options, "spread=") {
			inner = s.(interface{ Unwrap() cron.Schedule }).Unwrap()
		}
		want := 0
		for at := inner.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(-1)); !at.IsZero() && at.Year() == 2026; at = inner.Next(at) {
			want++
		}
		if got := timetable.PerYear(s, 2026); got != want {
			t.Errorf("%s: got %d, want %d", options, got, want)
		}
	}
	file, _ := Parse("t", "* * * * * x\n", Config{Zone: zones})
	minutes := &asks{Schedule: file.Entries[0].Schedule}
	every := timetable.Between(timetable.Seconds(minutes, 1<<60-1), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Time{})
	if got := timetable.PerYear(every, 2026); got != 365*86400 || minutes.n > 366*24*60 {
		t.Errorf("got %d after %d calls of Next, want %d", got, minutes.n, 365*86400)
	}
}

// endOfYears is the last second of LastYear.
var endOfYears = time.Date(timetable.LastYear+1, 1, 1, 0, 0, 0, 0, time.UTC).Unix() - 1

// jitterOf returns the longest delay of a schedule with a jitter, and the
// schedule without it.
func jitterOf(s cron.Schedule) (inner cron.Schedule, limit time.Duration) {
	_, text, ok := strings.Cut(fmt.Sprint(s), " jitter=")
	if !ok {
		return s, 0
	}
	limit, _ = option.ParseDuration(text)
	return s.(interface{ Unwrap() cron.Schedule }).Unwrap(), limit
}

// asks counts the calls of Next.
type asks struct {
	cron.Schedule
	n int
}

func (a *asks) Next(t time.Time) time.Time { a.n++; return a.Schedule.Next(t) }

// FuzzSchedule reads any time options above any fields: Next is after its argument or the zero
// Time, in range, and calls Next of the fields only a few times.
func FuzzSchedule(f *testing.F) {
	f.Add("at=2300-01-01", "* * * * *", int64(1795140000))
	f.Add("every=1s jitter=52w", "* * * * *", int64(1795140000))
	f.Add("sec=* jitter=1d", "* * * * *", int64(1795140000))
	f.Add("every=106751d", "* * * * *", int64(1795140000))
	f.Add("from=2026-01-01 count=1000000 spread=1h", "* * * * *", int64(0))
	for i, value := range modifierValues {
		f.Add(value, "*/7 3 * * *", endOfYears)
		f.Add(value+" "+modifierValues[(i*7+3)%len(modifierValues)], "0 0 29 2 */7", int64(i)*1e8)
	}
	f.Fuzz(func(t *testing.T, options, fields string, from int64) {
		if len(options)+len(fields) > 500 || strings.ContainsAny(options+fields, "\n\r") {
			t.Skip()
		}
		begun := cpuTime(t)
		file, _ := Parse("fuzz", "#@ "+options+"\n"+fields+" x\n", Config{Zone: zones, Seed: 3})
		for i := range file.Entries {
			checkNext(t, file.Entries[i].Schedule, time.Unix(from, 0))
		}
		if took := cpuTime(t) - begun; took > 5*time.Second {
			t.Fatalf("%q above %q: took %s of processor time", options, fields, took)
		}
	})
}

// cpuTime returns the processor time that this process has used. Other processes do not lengthen it.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// TestSchedulesOfExtremeOptions is FuzzSchedule over all pairs of values.
func TestSchedulesOfExtremeOptions(t *testing.T) {
	for _, a := range modifierValues {
		for _, b := range modifierValues {
			file, _ := Parse("t", "#@ "+a+" "+b+"\n* * * * * x\n", Config{Zone: zones, Seed: 3})
			for _, from := range []time.Time{{}, time.Unix(0, 0), time.Date(2026, 11, 20, 21, 7, 31, 0, time.UTC), time.Unix(endOfYears, 0), time.Unix(1<<40, 0)} {
				checkNext(t, file.Entries[0].Schedule, from)
			}
		}
	}
}

func checkNext(t *testing.T, s cron.Schedule, at time.Time) {
	t.Helper()
	if inner, limit := jitterOf(s); limit > 0 { // the only modifier that looks at several occurrences of what it delays
		counted := &asks{Schedule: inner}
		timetable.Jitter(counted, limit, 3).Next(at)
		if counted.n > 5 {
			t.Fatalf("%v after %s: asked %d times", s, at, counted.n)
		}
	}
	for range 20 {
		next := s.Next(at)
		if next.IsZero() {
			return
		}
		if !next.After(at) || next.Unix() > endOfYears {
			t.Fatalf("%v after %s: got %s", s, at, next)
		}
		at = next
	}
}

// modifierValues are values of the time options, extreme ones among them.
var modifierValues = []string{
	"every=106751d", "every=106751d23h47m", "every=36525d", "every=100000d phase=99999d", "every=36525d phase=36524d", "every=1s", "every=1m",
	"jitter=52w", "jitter=106751d", "jitter=36525d", "jitter=1d", "jitter=59s", "sec=*", "sec=0,59",
	"spread=106751d", "spread=36525d", "at=9999-12-31", "at=2300-01-01", "at=2199-12-31T23:59:59", "at=0001-01-01", "from=2300-01-01", "from=1970-01-01",
	"from=2199-12-31", "until=2199-12-31", "until=9999-12-31", "count=1000", "count=1000000", "tz=Asia/Kolkata", "dst=second", "dst=literal",
}

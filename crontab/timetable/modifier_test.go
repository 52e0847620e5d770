package timetable

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
)

// occurrences lists up to n from from on, as UTC times of day or dates.
func occurrences(s cron.Schedule, from time.Time, n int, layout string) string {
	var list []string
	for at := s.Next(from.Add(-time.Nanosecond)); !at.IsZero() && len(list) < n; at = s.Next(at) {
		list = append(list, at.UTC().Format(layout))
	}
	return fmt.Sprint(list)
}

func TestModifiers(t *testing.T) {
	noon := utc(t, "2026-11-20 12:00")
	minutes, daily := mustSchedule(t, "* * * * *", nil), mustSchedule(t, "30 2 * * *", nil)
	foreign, err := cron.ParseStandard("CRON_TZ=UTC * * * * *")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name     string
		schedule cron.Schedule
		want     string
		text     string
	}{
		{"every", Every(90*time.Minute, 0), "[20T12:00:00 20T13:30:00 20T15:00:00 20T16:30:00]", "every=1h30m"},
		{"every with phase", Every(4*time.Hour, 10*time.Minute), "[20T12:10:00 20T16:10:00 20T20:10:00 21T00:10:00]", "every=4h phase=10m"},
		{"every with phase beyond period", Every(time.Hour, -50*time.Minute), "[20T12:10:00 20T13:10:00 20T14:10:00 20T15:10:00]", "every=1h phase=10m"},
		{"every under a second", Every(0, 0), "[20T12:00:00 20T12:00:01 20T12:00:02 20T12:00:03]", "every=1s"},
		{"at", At(noon.Add(time.Hour)), "[20T13:00:00]", "at=2026-11-20T13:00:00Z"},
		{"at in the past", At(noon.Add(-time.Hour)), "[]", "at=2026-11-20T11:00:00Z"},
		{"seconds", Seconds(minutes, 1<<0|1<<25|1<<50), "[20T12:00:00 20T12:00:25 20T12:00:50 20T12:01:00]", "* * * * * sec=0,25,50"},
		{"no seconds", Seconds(minutes, 0), "[]", "* * * * * sec=none"},
		{"last second", Seconds(daily, 1<<59), "[21T02:30:59 22T02:30:59 23T02:30:59 24T02:30:59]", "30 2 * * * sec=59"},
		{"spread", Spread(daily, 7*time.Minute), "[21T02:37:00 22T02:37:00 23T02:37:00 24T02:37:00]", "30 2 * * * spread=7m"},
		{"between", Between(daily, noon.AddDate(0, 0, 2), noon.AddDate(0, 0, 4)), "[23T02:30:00 24T02:30:00]", "30 2 * * * from=2026-11-22T12:00:00Z until=2026-11-24T12:00:00Z"},
		{"between, ends included", Between(minutes, noon.Add(time.Minute), noon.Add(3*time.Minute)), "[20T12:01:00 20T12:02:00 20T12:03:00]", ""},
		{"between, open", Between(daily, time.Time{}, time.Time{}), "[21T02:30:00 22T02:30:00 23T02:30:00 24T02:30:00]", "30 2 * * *"},
		{"count", Count(daily, noon, 2), "[21T02:30:00 22T02:30:00]", "30 2 * * * from=2026-11-20T12:00:00Z count=2"},
		{"count, start included", Count(minutes, noon, 1), "[20T12:00:00]", ""},
		{"count none", Count(daily, noon, 0), "[]", ""},
		{"count of never", Count(Reboot, noon, 3), "[]", ""},
		{"reboot", Reboot, "[]", "@reboot"},
		{"spread of never", Spread(Reboot, time.Hour), "[]", ""},
		{"seconds of another's schedule", Seconds(foreign, 1<<30), "[20T12:00:30 20T12:01:30 20T12:02:30 20T12:03:30]", ""},
		{"modifiers over modifiers", Count(Spread(Between(Seconds(minutes, 1<<5), noon.Add(time.Minute), time.Time{}), time.Second), noon, 2), "[20T12:01:06 20T12:02:06]", ""},
	} {
		if got := occurrences(test.schedule, noon, 4, "02T15:04:05"); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
		if got := fmt.Sprint(test.schedule); test.text != "" && got != test.text {
			t.Errorf("%s: got text %q, want %q", test.name, got, test.text)
		}
	}
}

func TestModifiersKeepLocation(t *testing.T) {
	loc := zoneFile(t, "slim", "Asia/Kathmandu")
	s := mustSchedule(t, "* * * * *", NewZone(zoneFile(t, "slim", "America/New_York")))
	far := benchStart.AddDate(1, 0, 0)
	for _, s := range []cron.Schedule{s, Every(time.Hour, 0), At(far), Seconds(s, 2), Jitter(s, time.Hour, 1),
		Spread(s, time.Hour), Between(s, far, time.Time{}), Count(s, far, 3)} {
		if got := s.Next(benchStart.In(loc)).Location(); got != loc {
			t.Errorf("%v: got location %s, want %s", s, got, loc)
		}
	}
}

// TestJitterIsASortedSet holds Jitter to its definition: each occurrence is
// delayed by its own draw, and the results are a set in order. A limit that is
// not shorter than the three minutes between two occurrences is lowered.
func TestJitterIsASortedSet(t *testing.T) {
	inner := mustSchedule(t, "*/3 * * * *", nil)
	for _, limit := range []time.Duration{-time.Second, 0, 500 * time.Millisecond, time.Second, time.Minute, 179 * time.Second, 20 * time.Minute} {
		s := Jitter(inner, limit, 7)
		limit = min(limit, 179*time.Second)
		from, until := benchStart, benchStart.Add(6*time.Hour)
		delays := map[time.Duration]bool{}
		var want []time.Time
		for o := inner.Next(from.Add(-time.Hour)); o.Before(until); o = inner.Next(o) {
			alone := Jitter(At(o), limit, 7).Next(o.Add(-1))
			delay := alone.Sub(o)
			if delay < 0 || delay > max(limit, 0) || delay%time.Second != 0 {
				t.Fatalf("limit %s: a delay of %s", limit, delay)
			}
			delays[delay] = true
			if alone.After(from) && alone.Before(until) {
				want = append(want, alone)
			}
		}
		slices.SortFunc(want, time.Time.Compare)
		want = slices.Compact(want)
		var got []time.Time
		for at := s.Next(from); at.Before(until); at = s.Next(at) {
			got = append(got, at)
		}
		if !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Errorf("limit %s:\n got %v\nwant %v", limit, got, want)
		}
		if limit >= time.Minute && len(delays) < 20 {
			t.Errorf("limit %s: only %d delays", limit, len(delays))
		}
	}
}

// TestSecondsOverNearOccurrences has occurrences less than a minute apart, as
// a gap that ends within a minute makes them.
func TestSecondsOverNearOccurrences(t *testing.T) {
	s := Seconds(Every(20*time.Second, 0), 1<<0|1<<30)
	got := occurrences(s, utc(t, "2026-11-20 12:00"), 5, "04:05")
	if want := "[00:00 00:10 00:20 00:30 00:40]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestEveryIsPeriodicFarAway(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		period := time.Duration(1+r.Int64N(1e6)) * time.Second
		phase := time.Duration(r.Int64N(int64(period)))
		s := Every(period, phase)
		from := time.Unix(r.Int64N(lastSecond-firstSecond-1e6)+firstSecond, 0)
		at := s.Next(from)
		distance := at.Sub(from)
		offset := (at.Unix() - int64(phase/time.Second)) % int64(period/time.Second)
		if distance <= 0 || distance > period || offset > 1 || offset < -1 {
			t.Fatalf("every %s phase %s: %s after %s", period, phase, at, from)
		}
	}
}

func TestFixedTimeLooksThroughModifiers(t *testing.T) {
	fixed, wild := mustSchedule(t, "0 3 * * *", nil), mustSchedule(t, "*/5 * * * *", nil)
	for _, test := range []struct {
		schedule cron.Schedule
		want     bool
	}{
		{fixed, true}, {wild, false}, {Reboot, false}, {At(benchStart), true}, {Every(time.Hour, 0), false},
		{Jitter(Spread(fixed, 1), 1, 1), true}, {Count(Between(Seconds(fixed, 1), benchStart, time.Time{}), benchStart, 1), true},
		{Jitter(wild, 1, 1), false}, {cron.Every(time.Hour), false}, {Spread(At(benchStart), 1), true},
	} {
		if got := FixedTime(test.schedule); got != test.want {
			t.Errorf("%v: got %v, want %v", test.schedule, got, test.want)
		}
	}
}

func TestSchedulesAreComparable(t *testing.T) {
	s := mustSchedule(t, "* * * * *", nil)
	for _, s := range []cron.Schedule{s, Reboot, Every(1, 0), At(benchStart), Seconds(s, 1), Jitter(s, 1, 1), Spread(s, 1),
		Between(s, benchStart, benchStart), Count(s, benchStart, 1)} {
		if known := map[cron.Schedule]bool{s: true}; !known[s] {
			t.Errorf("%v is not equal to itself", s)
		}
	}
}

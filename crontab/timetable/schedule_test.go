package timetable

import (
	"math"
	"testing"
	"time"
)

func TestNextAtTheEndsOfTime(t *testing.T) {
	s := mustSchedule(t, "0 0 1 1 *", nil)
	for _, test := range []struct{ after, want time.Time }{
		{time.Time{}, time.Date(2, 1, 1, 0, 0, 0, 0, time.UTC)},
		{time.Time{}.Add(-1), time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)},
		{time.Time{}.AddDate(-5, 0, 0), time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)},
		{time.Date(1969, 12, 31, 23, 59, 59, 0, time.UTC), time.Unix(0, 0)},
		{time.Date(LastYear-1, 6, 1, 0, 0, 0, 0, time.UTC), time.Date(LastYear, 1, 1, 0, 0, 0, 0, time.UTC)},
		{time.Date(LastYear, 6, 1, 0, 0, 0, 0, time.UTC), time.Time{}},
		{time.Date(9999, 6, 1, 0, 0, 0, 0, time.UTC), time.Time{}},
		{time.Unix(math.MaxInt64-1<<40, 0), time.Time{}},
		{time.Unix(math.MinInt64+1<<40, 0), time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		if got := s.Next(test.after); !got.Equal(test.want) {
			t.Errorf("after %s: got %s, want %s", test.after, got, test.want)
		}
	}
}

func TestNextIsStrictlyAfter(t *testing.T) {
	s := mustSchedule(t, "* * * * *", nil)
	minute := utc(t, "2026-11-20 12:00")
	for after, want := range map[time.Duration]time.Duration{
		-1: 0, 0: time.Minute, 1: time.Minute, -time.Second: 0, time.Minute - 1: time.Minute,
	} {
		if got := s.Next(minute.Add(after)).Sub(minute); got != want {
			t.Errorf("after %s: got %s, want %s", after, got, want)
		}
	}
}

func TestNextHasTheLocationOfItsArgument(t *testing.T) {
	newYork := zoneFile(t, "slim", "America/New_York")
	s := mustSchedule(t, "30 2 * * *", NewZone(newYork))
	got := s.Next(benchStart)
	if got.Location() != time.UTC || got.In(newYork).Format("15:04") != "02:30" {
		t.Errorf("got %s, want 02:30 in New York, in UTC", got)
	}
}

// TestNextEndsWhenOnlyAGapIsNamed: London's clock always jumps over 01 on the
// last Sunday of March, so the search must give up.
func TestNextEndsWhenOnlyAGapIsNamed(t *testing.T) {
	for form, loc := range zoneFiles(t, "Europe/London") {
		wildcard := mustSchedule(t, "*/30 1 25-31 3 */7", NewZone(loc))
		if got := wildcard.Next(benchStart); !got.IsZero() || wildcard.Never() {
			t.Errorf("%s: got %s, never %v; want no occurrence of a schedule that the calendar has", form, got, wildcard.Never())
		}
		fixed := mustSchedule(t, "0,30 1 25-31 3 */7", NewZone(loc))
		if got, want := fixed.Next(benchStart), utc(t, "2027-03-28 01:00"); !got.Equal(want) {
			t.Errorf("%s: got %s, want %s", form, got, want)
		}
	}
}

func TestNextDoesNotAllocate(t *testing.T) {
	for _, zone := range []string{"Etc/UTC", "America/New_York"} {
		loc := zoneFile(t, "slim", zone)
		at := benchStart.In(loc)
		for _, spec := range benchSpecs {
			for _, rule := range DSTs {
				s := mustSchedule(t, spec, NewZone(loc)).follow(rule)
				if n := testing.AllocsPerRun(10, func() { s.Next(at) }); n != 0 {
					t.Errorf("%q dst=%s in %s: %v allocations", spec, rule, zone, n)
				}
			}
		}
	}
}

func TestScheduleKeepsItsText(t *testing.T) {
	s := mustSchedule(t, "*/5  *  * * mon-fri", nil)
	if s.String() != "*/5  *  * * mon-fri" || s.Zone().String() != "UTC" {
		t.Errorf("got %q in %s, want the text as written in UTC", s, s.Zone())
	}
}

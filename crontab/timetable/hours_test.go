package timetable

import (
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
)

func spansOf(t *testing.T, text string) *Spans {
	t.Helper()
	if text == "" {
		return nil
	}
	s, err := ParseSpans(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// openOnClock is the definition of hours, one item after the other.
func openOnClock(window, blackout string, wall time.Time) bool {
	week := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC) // a Monday
	minute := (int(wall.Weekday())+6)%7*minutesPerDay + wall.Hour()*60 + wall.Minute()
	in := func(text string) bool {
		s, _ := ParseSpans(text)
		at := int(week.Add(time.Duration(minute)*time.Minute).Sub(week) / time.Minute)
		return s.minutes[at/64]>>(at%64)&1 != 0
	}
	return (window == "" || in(window)) && (blackout == "" || !in(blackout))
}

func TestSpansAreTimesOfTheWeek(t *testing.T) {
	for _, test := range []struct {
		text, in, out string // times from Monday, 1 January 2024
	}{
		{"08:00-18:00", "1T08:00 1T17:59 7T08:00", "1T07:59 1T18:00"},
		{"mon-fri/08:00-18:00", "1T08:00 5T17:59", "6T08:00 7T12:00"},
		{"fri/22:00-06:00", "5T22:00 6T05:59", "5T21:59 6T06:00 7T00:00 6T22:00"},
		{"sun/22:00-06:00", "7T23:59 1T05:59", "1T06:00 2T00:00"},
		{"sat-mon/00:00-24:00", "6T00:00 7T12:00 1T23:59", "2T00:00 5T23:59"},
		{"MON/10:00-11:00,wed/12:00-12:01", "1T10:30 3T12:00", "2T10:30 3T12:01"},
		{"00:00-24:00", "1T00:00 7T23:59", ""},
	} {
		s := spansOf(t, test.text)
		for _, times := range []struct {
			list string
			want bool
		}{{test.in, true}, {test.out, false}} {
			for _, word := range strings.Fields(times.list) {
				at, err := time.Parse("2006-01-2T15:04", "2024-01-"+word)
				if err != nil {
					t.Fatal(err)
				}
				if got := NewHours(s, nil, NewZone(nil)).Include(at); got != times.want {
					t.Errorf("%s at %s: got %v, want %v", test.text, word, got, times.want)
				}
			}
		}
	}
}

// TestHoursEqualTheClockOfAZone compares all minutes around changes of the clock
// with what the clock shows.
func TestHoursEqualTheClockOfAZone(t *testing.T) {
	for _, zone := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu"} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		z := NewZone(loc)
		for _, test := range []struct{ window, blackout string }{
			{"08:00-18:00", ""}, {"02:00-03:00", ""}, {"01:30-02:30", "sun/02:00-24:00"}, {"", "22:00-06:00"},
			{"sun/00:00-01:00", ""}, {"", "mon/00:00-00:01"}, {"fri/20:00-04:00,sun/02:15-02:45", ""},
		} {
			h := NewHours(spansOf(t, test.window), spansOf(t, test.blackout), z)
			for _, day := range []string{"2011-12-28", "2026-03-06", "2026-03-27", "2026-04-03", "2026-10-02", "2026-10-23", "2026-10-30"} {
				start, _ := time.ParseInLocation("2006-01-02", day, loc)
				const minutes = 10 * minutesPerDay
				open := make([]bool, minutes)
				next := make([]int, minutes) // index of the next open minute
				for i := range open {
					open[i] = openOnClock(test.window, test.blackout, start.Add(time.Duration(i)*time.Minute))
				}
				coming := -1
				for i := minutes - 1; i >= 0; i-- {
					if open[i] {
						coming = i
					}
					next[i] = coming
				}
				closed := -1
				for i := range open {
					at := start.Add(time.Duration(i) * time.Minute)
					if h.Include(at) != open[i] {
						t.Fatalf("%s %v at %s: got %v", zone, test, at, h.Include(at))
					}
					if next[i] >= 0 && !open[i] {
						if got, want := h.Opens(at.Add(time.Second)), start.Add(time.Duration(next[i])*time.Minute); !got.Equal(want) {
							t.Fatalf("%s %v after %s: opens %s, want %s", zone, test, at, got, want)
						}
					}
					if i > 0 && open[i-1] && !open[i] {
						closed = i
					}
					if closed >= 0 && !open[i] {
						if got, want := h.closedSince(at), start.Add(time.Duration(closed)*time.Minute); !got.Equal(want) {
							t.Fatalf("%s %v at %s: closed since %s, want %s", zone, test, at, got, want)
						}
					}
				}
			}
		}
	}
}

// TestWithinKeepsOrMovesOccurrences compares Within with its definition.
func TestWithinKeepsOrMovesOccurrences(t *testing.T) {
	berlin, _ := time.LoadLocation("Europe/Berlin")
	z := NewZone(berlin)
	hours := NewHours(spansOf(t, "mon-fri/08:00-18:00,sat/22:00-02:30"), spansOf(t, "12:00-13:00"), z)
	for _, spec := range []string{"*/20 * * * *", "0 3 * * *", "30 2 * * *", "15 17-22 * * *", "0 12 * * 6"} {
		fields, _ := ParseSchedule(spec, z, 0)
		for _, s := range []cron.Schedule{fields, Every(7*time.Minute, 0)} {
			for _, wait := range []bool{false, true} {
				w := Within(s, hours, wait)
				from, until := time.Date(2026, 10, 20, 0, 0, 0, 0, berlin), time.Date(2026, 11, 5, 0, 0, 0, 0, berlin)
				var want []time.Time
				for at := s.Next(from.AddDate(0, 0, -8)); at.Before(until); at = s.Next(at) {
					moved := hours.Opens(at)
					if !moved.Equal(at) && !wait || !moved.After(from) || !moved.Before(until) || len(want) > 0 && want[len(want)-1].Equal(moved) {
						continue
					}
					want = append(want, moved)
				}
				if n := countBetween(w, from, until); n != len(want) {
					t.Errorf("%s %v wait %v: counted %d, want %d", spec, s, wait, n, len(want))
				}
				at := from
				for i := range want {
					if at = w.Next(at); !at.Equal(want[i]) {
						t.Fatalf("%s %v wait %v: occurrence %d: got %s, want %s", spec, s, wait, i, at, want[i])
					}
				}
			}
		}
	}
}

func TestWithinReportsHoursThatExcludeAll(t *testing.T) {
	for _, test := range []struct {
		spec, window, blackout string
		wait, never            bool
	}{
		{"0 3 * * *", "08:00-18:00", "", false, true},
		{"0 3 * * *", "08:00-18:00", "", true, false},
		{"0 9 * * 6", "mon-fri/08:00-18:00", "", false, true},
		{"0 9 29 2 6", "08:00-18:00", "", false, false},
		{"0 9 29 2 *", "sat/08:00-18:00", "", false, false},
		{"* * * * *", "08:00-18:00", "07:00-19:00", true, true},
		{"* * * * *", "08:00-18:00", "08:00-17:59", false, false},
	} {
		z := NewZone(nil)
		s, _ := ParseSchedule(test.spec, z, 0)
		w := Within(s, NewHours(spansOf(t, test.window), spansOf(t, test.blackout), z), test.wait)
		if got := OutsideHours(w) != nil; got != test.never || w.Next(time.Unix(0, 0)).IsZero() != test.never {
			t.Errorf("%+v: got never %v, next %s", test, got, w.Next(time.Unix(0, 0)))
		}
	}
}

func TestSpansRejectInvalidTimes(t *testing.T) {
	long := "08:00-09:00"
	for range mostSpans {
		long += ",08:00-09:00"
	}
	for _, text := range []string{"", "8:00-9:00", "08:00", "08:00-08:00", "24:00-08:00", "00:00-24:01", "mon/", "x/08:00-09:00", "mon-/08:00-09:00", "08:00-09:00,", "mon,tue/08:00-09:00", long} {
		if _, err := ParseSpans(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

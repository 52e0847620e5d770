package crontab

import (
	"testing"
	"time"

	"github.com/cronring/cronring/crontab/timetable"
)

func TestPreviousIsTheOneBefore(t *testing.T) {
	paris, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		directive, spec string
	}{
		{"", "* * * * *"}, {"", "30 2 * * *"}, {"", "30 2,3 * * 0"}, {"", "@hourly"}, {"", "0 0 1 1 *"}, {"", "0 0 29 2 *"},
		{"#@ every=7m phase=1m\n", "* * * * *"}, {"#@ sec=*/20\n", "5 * * * *"}, {"#@ jitter=45m\n", "0 * * * *"},
		{"#@ spread=5h\n", "15 2 * * *"}, {"#@ from=2025-01-01 count=4000\n", "0 3 * * *"},
	} {
		file, _ := Parse("t", c.directive+c.spec+" x\n", Config{Local: paris, Zone: time.LoadLocation, Seed: 5})
		s := file.Entries[0].Schedule
		at := time.Date(2026, 3, 28, 0, 30, 0, 0, time.UTC) // the clock is set forward on the next day
		var last time.Time
		for range 60 {
			next := s.Next(at)
			if next.IsZero() {
				break
			}
			if got := timetable.Previous(s, next); !last.IsZero() && !got.Equal(last) {
				t.Errorf("%s%s: before %s comes %s, want %s", c.directive, c.spec, next, got, last)
			}
			if got := timetable.Previous(s, next.Add(1)); !got.Equal(next) {
				t.Errorf("%s%s: just after %s the newest is %s", c.directive, c.spec, next, got)
			}
			last, at = next, next
		}
		if last.IsZero() {
			t.Errorf("%s%s names nothing", c.directive, c.spec)
		}
	}
	for _, s := range []interface{ Next(time.Time) time.Time }{timetable.Never, timetable.Reboot} {
		if got := timetable.Previous(s, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)); !got.IsZero() {
			t.Errorf("%v: got %s, want none", s, got)
		}
	}
}

// TestPreviousAsksLittle holds that a stranger's schedule of many instants
// costs no more than one of few.
func TestPreviousAsksLittle(t *testing.T) {
	file, _ := Parse("t", "#@ every=1s from=2020-01-01 until=2020-12-31\n* * * * * x\n", Config{Zone: time.LoadLocation})
	asked := &askedSchedule{inner: file.Entries[0].Schedule}
	got := timetable.Previous(asked, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	if want := time.Date(2020, 12, 31, 0, 0, 0, 0, time.UTC); !got.Equal(want) || asked.n > 80 {
		t.Errorf("got %s after %d questions, want %s after at most 80", got, asked.n, want)
	}
}

type askedSchedule struct {
	inner interface{ Next(time.Time) time.Time }
	n     int
}

func (a *askedSchedule) Next(t time.Time) time.Time {
	a.n++
	return a.inner.Next(t)
}

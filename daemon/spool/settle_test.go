package spool

import (
	"testing"
	"time"
)

func TestSettlingWaitsForQuietButNotForEver(t *testing.T) {
	base := time.Date(2026, 1, 1, 12, 0, 10, 0, time.UTC)
	s := settling{quiet: 200 * time.Millisecond, most: 2 * time.Second}
	if at, waiting := s.due(); waiting {
		t.Errorf("due at %v before anything happened", at)
	}
	check := func(touched, want time.Duration) {
		t.Helper()
		s.touch(base.Add(touched))
		if at, waiting := s.due(); !waiting || !at.Equal(base.Add(want)) {
			t.Errorf("touched at %v: due after %v, want %v", touched, at.Sub(base), want)
		}
	}
	check(0, 200*time.Millisecond)
	check(100*time.Millisecond, 300*time.Millisecond)
	check(1900*time.Millisecond, 2*time.Second)
	check(5*time.Second, 2*time.Second)
	s.done()
	check(6*time.Second, 6200*time.Millisecond)
}

// A change before second 0 counts for the minute that begins there.
func TestSettlingEndsBeforeTheMinute(t *testing.T) {
	minute := time.Date(2026, 1, 1, 12, 1, 0, 0, time.UTC)
	for _, test := range []struct{ touched, want time.Duration }{
		{-250 * time.Millisecond, -100 * time.Millisecond},
		{-101 * time.Millisecond, -100 * time.Millisecond},
		{-99 * time.Millisecond, 101 * time.Millisecond}, // too late to read it in time
		{-500 * time.Millisecond, -300 * time.Millisecond},
		{0, 200 * time.Millisecond},
	} {
		s := settling{quiet: 200 * time.Millisecond, most: 2 * time.Second}
		s.touch(minute.Add(test.touched))
		if at, _ := s.due(); !at.Equal(minute.Add(test.want)) {
			t.Errorf("touched %v from the minute: due %v from it, want %v", test.touched, at.Sub(minute), test.want)
		}
	}
}

func TestUntilSecond(t *testing.T) {
	for at, want := range map[string]time.Duration{
		"12:00:00": 58 * time.Second, "12:00:57.5": 500 * time.Millisecond, "12:00:58": time.Minute, "12:00:59": 59 * time.Second,
	} {
		now, err := time.Parse("2006-01-02 15:04:05", "2026-01-01 "+at)
		if err != nil {
			t.Fatal(err)
		}
		if got := untilSecond(now, 58); got != want {
			t.Errorf("from %s it is %v, want %v", at, got, want)
		}
	}
}

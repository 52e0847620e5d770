package actions

import (
	"testing"
	"time"
)

func TestParseSpan(t *testing.T) {
	loc, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, first, last string }{
		{"2026-03-08", "2026-03-08T05:00:00Z", "2026-03-09T03:59:59.999999999Z"},       // a day of 23 hours
		{"2026-11-01", "2026-11-01T04:00:00Z", "2026-11-02T04:59:59.999999999Z"},       // one of 25
		{"2026-03-08T02:30", "2026-03-08T07:00:00Z", "2026-03-08T07:00:59.999999999Z"}, // the clocks skip it: cron runs it at 03:00
		{"2026-11-01T01:30", "2026-11-01T05:30:00Z", "2026-11-01T05:30:59.999999999Z"}, // the first of two
		{"2026-03-01T02:30", "2026-03-01T07:30:00Z", "2026-03-01T07:30:59.999999999Z"},
		{"2026-03-01 02:30:15", "2026-03-01T07:30:15Z", "2026-03-01T07:30:15Z"},
		{"2026-03-01T02:30:00+01:00", "2026-03-01T01:30:00Z", "2026-03-01T01:30:00Z"},
	} {
		first, last, ok := parseSpan(c.text, loc)
		if got := first.UTC().Format(time.RFC3339Nano); !ok || got != c.first {
			t.Errorf("%s begins at %s, %v, want %s", c.text, got, ok, c.first)
		}
		if got := last.UTC().Format(time.RFC3339Nano); got != c.last {
			t.Errorf("%s ends at %s, want %s", c.text, got, c.last)
		}
	}
	for _, text := range []string{"", "2026-13-01", "yesterday", "2026-03-01..2026-03-02"} {
		if _, _, ok := parseSpan(text, loc); ok {
			t.Errorf("%q is read as a time", text)
		}
	}
}

// FuzzSpan reads any text as the beginning or end of a backfill, in zones with unusual changes.
func FuzzSpan(f *testing.F) {
	var zones []*time.Location
	for _, name := range []string{"UTC", "America/New_York", "Australia/Lord_Howe"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			f.Fatal(err)
		}
		zones = append(zones, zone)
	}
	for _, text := range []string{
		"2026-03-08", "2026-11-01", "2026-03-08T02:30", "2026-03-08 02:30:15", "2026-03-01T02:30:00.123456789+01:00",
		"0000-01-01", "9999-12-31", "9999-12-31T23:59:59-23:59", "2026-03-01..2026-03-02", "\x1b[31m",
	} {
		for i := range zones {
			f.Add(text, uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, text string, zone uint8) {
		loc := zones[int(zone)%len(zones)]
		first, last, ok := parseSpan(text, loc)
		if !ok {
			if !first.IsZero() || !last.IsZero() {
				t.Errorf("%q: %s to %s", text, first, last)
			}
			return
		}
		if span := last.Sub(first); span < 0 || span >= 25*time.Hour {
			t.Errorf("%q is %s to %s", text, first, last)
		}
		if again, _, ok := parseSpan(first.UTC().Format(time.RFC3339Nano), loc); first.Unix() >= 0 && first.UTC().Year() <= 9999 && (!ok || !again.Equal(first)) {
			t.Errorf("%q begins at %s, written and read again %s, %t", text, first, again, ok)
		}
	})
}

package lookup

import (
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
)

// entryOf returns an entry with some options.
func entryOf(t testing.TB, options, fields string) *crontab.Entry {
	t.Helper()
	file, diagnostics := crontab.Parse("x", "#@ "+options+"\n"+fields+" true\n", crontab.Config{Owner: "ann", Zone: time.LoadLocation})
	if len(diagnostics) > 0 {
		t.Fatalf("%s: %v", options, diagnostics[0])
	}
	return &file.Entries[0]
}

func TestSpan(t *testing.T) {
	e := entryOf(t, "tz=America/New_York", "30 2 * * *")
	for _, c := range []struct{ text, first, last string }{
		{"2026-03-08", "2026-03-08T05:00:00Z", "2026-03-09T03:59:59.999999999Z"},       // a day of 23 hours
		{"2026-11-01", "2026-11-01T04:00:00Z", "2026-11-02T04:59:59.999999999Z"},       // one of 25
		{"2026-03-08T02:30", "2026-03-08T07:00:00Z", "2026-03-08T07:00:59.999999999Z"}, // the clocks skip it: cron runs it at 03:00
		{"2026-11-01T01:30", "2026-11-01T05:30:00Z", "2026-11-01T05:30:59.999999999Z"}, // the first of two
		{"2026-03-01T02:30", "2026-03-01T07:30:00Z", "2026-03-01T07:30:59.999999999Z"},
		{"2026-03-01 02:30:15", "2026-03-01T07:30:15Z", "2026-03-01T07:30:15Z"},
		{"2026-03-01T02:30:00+01:00", "2026-03-01T01:30:00Z", "2026-03-01T01:30:00Z"},
	} {
		first, last, ok := Span(e, c.text)
		if got := first.UTC().Format(time.RFC3339Nano); !ok || got != c.first {
			t.Errorf("%s begins at %s, %v, want %s", c.text, got, ok, c.first)
		}
		if got := last.UTC().Format(time.RFC3339Nano); got != c.last {
			t.Errorf("%s ends at %s, want %s", c.text, got, c.last)
		}
	}
	for _, text := range []string{"", "2026-13-01", "yesterday", "2026-03-01..2026-03-02"} {
		if _, _, ok := Span(e, text); ok {
			t.Errorf("%q is read as a time", text)
		}
	}
}

// A time that clocks show twice is the one at which the entry runs.
func TestSpanInRepeatedHour(t *testing.T) {
	for _, c := range []struct{ options, fields, first string }{
		{"dst=second", "30 2 * * *", "2026-10-25T01:30:00Z"},
		{"dst=cron", "30 2 * * *", "2026-10-25T00:30:00Z"},
		{"dst=cron", "30 * * * *", "2026-10-25T00:30:00Z"}, // in both
		{"dst=second", "40 2 * * *", "2026-10-25T00:30:00Z"},
		{"delay=1h", "* * * * *", "2026-10-25T00:30:00Z"},
	} {
		for _, text := range []string{"2026-10-25T02:30", "2026-10-25 02:30:00"} {
			first, _, ok := Span(entryOf(t, "tz=Europe/Berlin "+c.options, c.fields), text)
			if got := first.UTC().Format(time.RFC3339); !ok || got != c.first {
				t.Errorf("%s with %s %s begins at %s, %t, want %s", text, c.fields, c.options, got, ok, c.first)
			}
		}
	}
}

// FuzzSpan reads any text as the beginning or end of a backfill, in zones with unusual changes.
func FuzzSpan(f *testing.F) {
	var entries []*crontab.Entry
	for _, options := range []string{"tz=UTC", "tz=America/New_York dst=second", "tz=Australia/Lord_Howe"} {
		entries = append(entries, entryOf(f, options, "30 2 * * *"))
	}
	for _, text := range []string{
		"2026-03-08", "2026-11-01", "2026-03-08T02:30", "2026-03-08 02:30:15", "2026-03-01T02:30:00.123456789+01:00",
		"0000-01-01", "9999-12-31", "9999-12-31T23:59:59-23:59", "2026-03-01..2026-03-02", "\x1b[31m",
	} {
		for i := range entries {
			f.Add(text, uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, text string, zone uint8) {
		e := entries[int(zone)%len(entries)]
		first, last, ok := Span(e, text)
		if !ok {
			if !first.IsZero() || !last.IsZero() {
				t.Errorf("%q: %s to %s", text, first, last)
			}
			return
		}
		if span := last.Sub(first); span < 0 || span >= 25*time.Hour {
			t.Errorf("%q is %s to %s", text, first, last)
		}
		if again, _, ok := Span(e, first.UTC().Format(time.RFC3339Nano)); first.Unix() >= 0 && first.UTC().Year() <= 9999 && (!ok || !again.Equal(first)) {
			t.Errorf("%q begins at %s, written and read again %s, %t", text, first, again, ok)
		}
	})
}

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
		{"2026-03-08", "2026-03-08T05:00:00Z", "2026-03-09T03:59:59.999999999Z"}, // a day of 23 hours
		{"2026-11-01", "2026-11-01T04:00:00Z", "2026-11-02T04:59:59.999999999Z"}, // one of 25
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

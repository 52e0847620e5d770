package cli

import (
	"testing"
	"time"
)

// TestOccurrenceTimeAsPeopleWriteIt holds that a time of day is read in the zone of the entry,
// also if that time does not exist in the zone of the user.
func TestOccurrenceTimeAsPeopleWriteIt(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 30, 0, 20, 10, 0, berlin) // the clock skipped 02:30 the day before
	for text, want := range map[string][2]string{
		"yesterday 02:30":      {"2026-03-29T02:30", "2026-03-29T02:30"},
		"00:10":                {"2026-03-30T00:10", "2026-03-30T00:10"},
		"yesterday 02:30:10":   {"2026-03-29T02:30:10", "2026-03-29T02:30:10"},
		"00:10:20":             {"2026-03-30T00:10:20", "2026-03-30T00:10:20"},
		"now":                  {"2026-03-29T22:20:00Z", "2026-03-29T22:20:10Z"},
		"2h":                   {"2026-03-29T20:20:00Z", "2026-03-29T20:20:59.999999999Z"},
		"yesterday":            {"2026-03-29", "2026-03-29"},
		"-2h":                  {"2026-03-29T20:20:00Z", "2026-03-29T20:20:59.999999999Z"},
		"2026-03-01":           {"2026-03-01", "2026-03-01"},
		"2026-03-01 02:30":     {"2026-03-01 02:30", "2026-03-01 02:30"},
		"2026-03-01T02:30:00Z": {"2026-03-01T02:30:00Z", "2026-03-01T02:30:00Z"},
	} {
		from, to, err := OccurrenceTime(text, now)
		if got := [2]string{from, to}; err != nil || got != want {
			t.Errorf("occurrence %q: got %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "soon", "-", "yesterday 2", "25:00"} {
		if from, to, err := OccurrenceTime(text, now); err == nil {
			t.Errorf("occurrence %q: got %s to %s, want an error", text, from, to)
		}
	}
}

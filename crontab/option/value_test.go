package option

import (
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab/timetable"
)

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "90s": 90 * time.Second, "5m": 5 * time.Minute, "1h30m": 90 * time.Minute,
		"36525d": timetable.MaxDuration, "36524d24h": timetable.MaxDuration, "2d": 48 * time.Hour, "1w": 168 * time.Hour, "1w1d1h1m1s": 193*time.Hour + 61*time.Second,
	} {
		if got, err := ParseDuration(text); got != want || err != nil {
			t.Errorf("ParseDuration(%q): got %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "5", "m", "5x", "5m3", "-5m", "+5m", "1.5h", "5 m", "99999999999999999999s", "15251w", "15250w15250w", "36525d1s", "36526d", "106751d23h47m", "20000d20000d"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("ParseDuration(%q): got %v, want an error", text, got)
		}
	}
}

// A time that the clocks skip or show twice is the one at which an entry with fixed times of day runs.
func TestParseInstant(t *testing.T) {
	location, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"2027-03-28T02:30":     "2027-03-28T03:00:00+02:00",
		"2026-10-25 02:30":     "2026-10-25T02:30:00+02:00",
		"2026-10-25":           "2026-10-25T00:00:00+02:00",
		"2026-10-25T01:30:00Z": "2026-10-25T02:30:00+01:00",
	} {
		got, err := ParseInstant(text, timetable.NewZone(location))
		if err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("ParseInstant(%q): got %s, %v, want %s", text, got.Format(time.RFC3339), err, want)
		}
	}
}

func TestLabelsAreBounded(t *testing.T) {
	long := strings.Repeat("x", longestLabel)
	many := "a:1"
	for i := range mostLabels {
		many += ",b" + strings.Repeat("b", i) + ":1"
	}
	for text, good := range map[string]bool{
		long + ":" + long: true, long + "x:a": false, "a:x" + long: false, many: false, strings.TrimPrefix(many, "a:1,"): true,
	} {
		if _, err := parseNeed(text); (err == nil) != good {
			t.Errorf("need=%.20s... of %d characters: got %v, want good %v", text, len(text), err, good)
		}
		if _, err := parsePrefer(text); (err == nil) != good {
			t.Errorf("prefer=%.20s... of %d characters: got %v, want good %v", text, len(text), err, good)
		}
	}
}

func TestHasLabel(t *testing.T) {
	for _, tc := range []struct {
		labels, label string
		want          bool
	}{
		{"team:etl,tier:1", "team:etl", true}, {"team:etl,tier:1", "tier", true}, {"team:etl,tier:1", "team:et", false},
		{"team:etl", "tea", false}, {"team:etl", "etl", false}, {"", "", false}, {"", "team", false}, {"team:etl", "", false},
	} {
		if got := HasLabel(tc.labels, tc.label); got != tc.want {
			t.Errorf("%q has %q: got %t, want %t", tc.labels, tc.label, got, tc.want)
		}
	}
}

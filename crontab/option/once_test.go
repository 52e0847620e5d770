package option

import (
	"testing"
	"time"
)

// TestOncePerEndsWithItsPeriod compares the two definitions of a period, over changes
// of the clock.
func TestOncePerEndsWithItsPeriod(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for word, per := range periods {
		from := time.Date(2026, 3, 20, 0, 7, 0, 0, zone)
		for at := from; at.Before(from.AddDate(0, 8, 0)); at = at.Add(53 * time.Minute) {
			end := per.End(at, zone)
			if per == OncePerHour || per == OncePerDue {
				if !per.Same(at, end, zone) {
					t.Fatalf("%s: %s and %s are not in one period", word, at, end)
				}
				continue
			}
			if !per.Same(at, end.Add(-1), zone) || per.Same(at, end, zone) {
				t.Fatalf("%s of %s does not end at %s", word, at, end)
			}
		}
	}
	if !OncePerHour.Same(time.Unix(1792886400, 0), time.Unix(1792886400+3600, 0), zone) { // 25 October 2026, 02:00 twice
		t.Error("a repeated hour is two periods")
	}
}

package timetable

import (
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/hosttest"
)

func TestOnCalendar(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		hosttest.Missing(t, "no zone files: %v", err)
	}
	for spec, want := range map[string]string{
		"* * * * *":       "*-*-* *:*:00 Europe/Berlin",
		"30 2 * * *":      "*-*-* 2:30:00 Europe/Berlin",
		"*/20 8-10 * * *": "*-*-* 8,9,10:0,20,40:00 Europe/Berlin",
		"0 0 13 * *":      "*-*-13 0:0:00 Europe/Berlin",
		"0 0 * 1,jul *":   "*-1,7-* 0:0:00 Europe/Berlin",
		"0 0 * * sun,fri": "Sun,Fri *-*-* 0:0:00 Europe/Berlin",
		"0 0 * * 7":       "Sun *-*-* 0:0:00 Europe/Berlin",
		"0 0 13 * 5":      "*-*-13 0:0:00 Europe/Berlin | Fri *-*-* 0:0:00 Europe/Berlin",
		"0 0 */13 * 5":    "Fri *-*-1,14,27 0:0:00 Europe/Berlin",
		"0 0 31 2 *":      "",
		"0 0 1-31 * 5":    "*-*-* 0:0:00 Europe/Berlin",
		"@hourly":         "*-*-* *:0:00 Europe/Berlin",
	} {
		s, _ := ParseSchedule(spec, NewZone(berlin), 0)
		if s == nil {
			t.Fatalf("%q is no schedule", spec)
		}
		if got := strings.Join(s.OnCalendar(), " | "); got != want {
			t.Errorf("%q: got %q, want %q", spec, got, want)
		}
	}
}

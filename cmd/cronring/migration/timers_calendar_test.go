package migration

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/hosttest"
)

var translated = map[string]string{
	"hourly":                       "0 * * * *",
	"daily":                        "0 0 * * *",
	"weekly":                       "0 0 * * 1",
	"monthly":                      "0 0 1 * *",
	"quarterly":                    "0 0 1 1,4,7,10 *",
	"minutely":                     "* * * * *",
	"*-*-* 6,18:00":                "0 6,18 * * *",
	"*:0/15":                       "*/15 * * * *",
	"*:5/15":                       "5-59/15 * * * *",
	"*:0..40/15":                   "0-40/15 * * * *",
	"*:0/40,7":                     "0-59/40,7 * * * *",
	"Mon..Fri 09:30":               "30 9 * * 1-5",
	"Mon-Fri 09:30":                "30 9 * * 1-5",
	"Sat..Sun 00:00":               "0 0 * * 6-7",
	"Sun *-*-1..7 03:10:00":        "10 3 1-7 * */7",
	"Sun 03:10":                    "10 3 * * 7",
	"Mon, 03:10":                   "10 3 * * 1",
	"12-25":                        "0 0 25 12 *",
	"*-1/3-01 00:00:00":            "0 0 1 1-12/3 *",
	"*-*-1/10 08:00":               "0 8 1-31/10 * *",
	"09..17/2:00":                  "0 9-17/2 * * *",
	"monday":                       "0 0 * * 1",
	"*-*-* 02:30:00 Europe/Berlin": "30 2 * * *",
	"daily UTC":                    "0 0 * * *",
}

func TestCalendarTranslates(t *testing.T) {
	for expression, want := range translated {
		got, err := translateCalendar(expression)
		if err != nil || got.spec != want {
			t.Errorf("%s: got %q, %v; want %q", expression, got.spec, err, want)
		}
	}
	if c, err := translateCalendar("daily Europe/Berlin"); err != nil || c.zone != "Europe/Berlin" {
		t.Errorf("zone: got %q, %v", c.zone, err)
	}
}

func TestCalendarSaysWhyNot(t *testing.T) {
	for expression, word := range map[string]string{
		"*-*-* 00:00:30":       "seconds",
		"*:*:0/10":             "seconds",
		"2027-01-01":           "years",
		"2026..2028-*-*":       "years",
		"*-*~01":               "end of the month",
		"Mon *-*-1..7 03:00":   "both",
		"daily Mars/Olympus":   "zone",
		"*-02-30":              "no instant",
		"25:00":                "hour",
		"*:61":                 "minute",
		"*-13-01":              "month",
		"Fri..Mon":             "backwards",
		"noonish":              "weekday",
		"":                     "expression",
		"*-*-* 00:00 00:00 00": "expression",
		"*:*/15":               "minute",
		"*:0/0":                "minute",
		"@1700000000":          "date",
	} {
		if c, err := translateCalendar(expression); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q: got %q, %v; want an error about %q", expression, c.spec, err, word)
		}
	}
}

// TestCalendarAgreesWithSystemd lets systemd itself say when an expression
// elapses.
func TestCalendarAgreesWithSystemd(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		hosttest.Missing(t, "systemd-analyze is not installed, so there is nothing to compare with")
	}
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	when := regexp.MustCompile(`(?m)(?:Next elapse|Iter(?:\.|ation) #\d+|\(in UTC\)): \w+ (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC`)
	const iterations = 12
	for expression := range translated {
		c, err := translateCalendar(expression)
		if err != nil {
			continue // TestCalendarTranslates reports it
		}
		cmd := exec.Command(analyze, "calendar", fmt.Sprint("--iterations=", iterations), "--base-time=2026-01-01 00:00:00", expression)
		cmd.Env = []string{"TZ=UTC", "LC_ALL=C"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("systemd-analyze calendar %q: %v\n%s", expression, err, out)
			continue
		}
		zone := time.UTC
		if c.zone != "" {
			if zone, err = time.LoadLocation(c.zone); err != nil {
				t.Fatal(err)
			}
		}
		s, _ := timetable.ParseSchedule(c.spec, timetable.NewZone(zone), 0)
		at := begin
		times := when.FindAllStringSubmatch(string(out), -1)
		if len(times) != iterations {
			t.Errorf("%s: found %d times, want %d, in %s", expression, len(times), iterations, out)
		}
		for _, m := range times {
			at = s.Next(at)
			if got := at.UTC().Format(time.DateTime); got != m[1] {
				t.Errorf("%s as %s: got %s, systemd says %s", expression, c.spec, got, m[1])
				break
			}
		}
	}
}

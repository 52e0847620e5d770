package timetable

import (
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
)

const (
	newYork, london, lordHowe = "America/New_York", "Europe/London", "Australia/Lord_Howe"
	troll, saoPaulo           = "Antarctica/Troll", "America/Sao_Paulo"
)

// zoneChangeRows are the starts around changes of zones by each rule. Those of
// cron are the starts that Debian's cron was measured to make, less its repeated
// starts for one gap. The numbers are those of the table's rows.
var zoneChangeRows = []struct {
	row, zone, from, until string // until is excluded; both in UTC
	spec                   string
	want                   [3]string // by DST
}{
	{"1", newYork, "2026-03-08 05:00", "2026-03-08 11:00", "30 2 * * *", [3]string{"07:00", "", "07:00"}},
	{"2", newYork, "2026-03-08 05:00", "2026-03-08 11:00", "0-59/20 2 * * *", [3]string{"07:00", "", "07:00"}},
	{"3", newYork, "2026-03-08 05:00", "2026-03-08 11:00", "0 1-3 * * *", [3]string{"06:00 07:00", "06:00 07:00", "06:00 07:00"}},
	{"4", newYork, "2026-03-08 05:00", "2026-03-08 11:00", "*/20 2 * * *", [3]string{"", "", "07:00"}},
	{"5", newYork, "2026-03-08 05:00", "2026-03-08 11:00", "0 */2 * * *", [3]string{"05:00 08:00 10:00", "05:00 08:00 10:00", "05:00 07:00 08:00 10:00"}},
	{"6", newYork, "2026-03-08 05:00", "2026-03-08 11:00", "0 0-23 * * *", [3]string{"05:00 06:00 07:00 08:00 09:00 10:00", "05:00 06:00 07:00 08:00 09:00 10:00", "05:00 06:00 07:00 08:00 09:00 10:00"}},
	{"7", newYork, "2026-03-08 05:00", "2026-03-08 11:00", "@hourly", [3]string{"05:00 06:00 07:00 08:00 09:00 10:00", "05:00 06:00 07:00 08:00 09:00 10:00", "05:00 06:00 07:00 08:00 09:00 10:00"}},
	{"8", newYork, "2026-11-01 04:00", "2026-11-01 11:00", "30 1 * * *", [3]string{"05:30", "05:30 06:30", "06:30"}},
	{"9", newYork, "2026-11-01 04:00", "2026-11-01 11:00", "*/20 1 * * *", [3]string{"05:00 05:20 05:40 06:00 06:20 06:40", "05:00 05:20 05:40 06:00 06:20 06:40", "06:00 06:20 06:40"}},
	{"10", newYork, "2026-11-01 04:00", "2026-11-01 11:00", "0 0-23 * * *", [3]string{"04:00 05:00 07:00 08:00 09:00 10:00", "04:00 05:00 06:00 07:00 08:00 09:00 10:00", "04:00 06:00 07:00 08:00 09:00 10:00"}},
	{"11", newYork, "2026-11-01 04:00", "2026-11-01 11:00", "0 */2 * * *", [3]string{"04:00 07:00 09:00", "04:00 07:00 09:00", "04:00 07:00 09:00"}},
	{"12", london, "2026-03-29 00:00", "2026-03-29 04:00", "0,30 1,2 * * *", [3]string{"01:00 01:30", "01:00 01:30", "01:00 01:30"}},
	{"13", london, "2026-10-25 00:00", "2026-10-25 04:00", "0 1-3 * * *", [3]string{"00:00 02:00 03:00", "00:00 01:00 02:00 03:00", "01:00 02:00 03:00"}},
	{"14", lordHowe, "2026-10-03 14:00", "2026-10-03 17:00", "0-59/20 2 * * *", [3]string{"15:30 15:40", "15:40", "15:30 15:40"}},
	{"15", lordHowe, "2026-04-04 13:30", "2026-04-04 17:00", "0,30 1,2 * * *", [3]string{"14:00 14:30 15:30 16:00", "14:00 14:30 15:00 15:30 16:00", "14:00 15:00 15:30 16:00"}},
	{"16", lordHowe, "2026-04-04 13:30", "2026-04-04 17:00", "*/20 1 * * *", [3]string{"14:00 14:20 14:40 15:10", "14:00 14:20 14:40 15:10", "14:00 14:20 15:10"}},
	{"17", troll, "2026-03-29 00:00", "2026-03-29 04:00", "0 1-3 * * *", [3]string{"01:00", "01:00", "01:00"}},
	{"18", troll, "2026-10-24 23:00", "2026-10-25 04:00", "*/20 2 * * *", [3]string{"00:00 00:20 00:40 02:00 02:20 02:40", "00:00 00:20 00:40 02:00 02:20 02:40", "02:00 02:20 02:40"}},
	{"19", troll, "2026-10-24 22:00", "2026-10-25 05:01", "0 0-23 * * *", [3]string{"22:00 23:00 00:00 03:00 04:00 05:00", "22:00 23:00 00:00 01:00 02:00 03:00 04:00 05:00", "22:00 01:00 02:00 03:00 04:00 05:00"}},
	{"20", "Asia/Beirut", "2026-03-28 12:00", "2026-03-29 12:00", "@daily", [3]string{"22:00", "", "22:00"}},
	{"21a", saoPaulo, "2018-11-04 02:00", "2018-11-04 07:01", "0 0 * * *", [3]string{"03:00", "", "03:00"}},
	{"21b", saoPaulo, "2018-11-04 02:00", "2018-11-04 07:01", "0 0-23 * * *", [3]string{"02:00 03:00 04:00 05:00 06:00 07:00", "02:00 03:00 04:00 05:00 06:00 07:00", "02:00 03:00 04:00 05:00 06:00 07:00"}},
	{"22a", saoPaulo, "2018-02-18 00:00", "2018-02-18 06:01", "0 0 * * *", [3]string{"03:00", "03:00", "03:00"}},
	{"22b", saoPaulo, "2018-02-18 00:00", "2018-02-18 06:01", "0 0-23 * * *", [3]string{"00:00 01:00 03:00 04:00 05:00 06:00", "00:00 01:00 02:00 03:00 04:00 05:00 06:00", "00:00 02:00 03:00 04:00 05:00 06:00"}},
	{"22c", saoPaulo, "2018-02-18 00:00", "2018-02-18 06:01", "@hourly", [3]string{"00:00 01:00 02:00 03:00 04:00 05:00 06:00", "00:00 01:00 02:00 03:00 04:00 05:00 06:00", "00:00 02:00 03:00 04:00 05:00 06:00"}},
	{"23", "Asia/Almaty", "2024-02-29 12:00", "2024-03-01 12:00", "0 0 * * *", [3]string{"19:00", "19:00", "19:00"}},
	{"24", "Pacific/Apia", "2011-12-29 12:00", "2011-12-31 09:00", "0 0 * * *", [3]string{"10:00", "10:00", "10:00"}},
}

func TestNextAtZoneChanges(t *testing.T) {
	for _, test := range zoneChangeRows {
		t.Run(test.row, func(t *testing.T) {
			for name, loc := range zoneFiles(t, test.zone) {
				for rule, want := range test.want {
					s := mustSchedule(t, test.spec, NewZone(loc)).follow(DST(rule))
					from, until := utc(t, test.from), utc(t, test.until)
					var got []string
					for at := s.Next(from.Add(-time.Second)); at.Before(until); at = s.Next(at) {
						got = append(got, at.UTC().Format("15:04"))
					}
					if got := strings.Join(got, " "); got != want {
						t.Errorf("%q dst=%s in %s (%s), %s to %s:\n got %s\nwant %s", test.spec, DST(rule), test.zone, name, test.from, test.until, got, want)
					}
				}
			}
		})
	}
}

func TestNextLosesDayThatApiaSkipped(t *testing.T) {
	s := mustSchedule(t, "0 12 30 12 *", NewZone(zoneFile(t, "slim", "Pacific/Apia")))
	if got, want := s.Next(utc(t, "2011-12-01 00:00")), utc(t, "2012-12-29 22:00"); !got.Equal(want) {
		t.Errorf("got %s, want %s: a gap of a day makes nothing up", got, want)
	}
	if got, want := s.follow(DSTSecond).Next(utc(t, "2011-12-01 00:00")), utc(t, "2011-12-30 10:00"); !got.Equal(want) {
		t.Errorf("dst=second: got %s, want %s: each minute has its instant", got, want)
	}
}

func utc(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func mustSchedule(t testing.TB, spec string, zone *Zone) *Schedule {
	t.Helper()
	s, diagnostics := ParseSchedule(spec, zone, 1)
	if s == nil {
		t.Fatalf("parse %q: %v", spec, diagnostics)
	}
	return s
}

func TestChangeTellsItsEffect(t *testing.T) {
	location, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	berlin := NewZone(location)
	changes := berlin.Changes(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC))
	if len(changes) != 2 {
		t.Fatalf("got %d changes, want 2", len(changes))
	}
	for _, tc := range []struct{ spec, spring, autumn string }{
		{"0 5 * * *", "no effect: it names no time in the gap", "no effect: it names no repeated time"},
		{"30 2 * * *", "02:30 does not exist: it runs once at 03:00 +02:00", "02:30 comes twice: it runs the first time only"},
		{"*/20 * * * *", "02:00, 02:20, 02:40 do not exist: 3 runs fewer that day", "02:00, 02:20, 02:40 come twice: it runs both times, 3 runs more that day"},
	} {
		s, _ := ParseSchedule(tc.spec, berlin, 0)
		for i, want := range []string{tc.spring, tc.autumn} {
			if got := changes[i].Effect(tc.spec, s); got != want {
				t.Errorf("%s at %v: got %q, want %q", tc.spec, changes[i].At, got, want)
			}
		}
	}
	for _, s := range []cron.Schedule{At(changes[0].At), Every(time.Minute, 0)} { // the fields have no effect
		if got := changes[0].Effect("* * * * *", s); got != "no effect" {
			t.Errorf("%v: got %q, want no effect", s, got)
		}
	}
}

package timetable

import (
	"testing"
	"time"
)

func dayOf(t *testing.T, text string) Day {
	t.Helper()
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		t.Fatal(err)
	}
	return DayOf(at, time.UTC)
}

func TestDayOfIsTheDateOnTheWall(t *testing.T) {
	kiritimati := time.FixedZone("+14", 14*3600)
	samoa := time.FixedZone("-11", -11*3600)
	for _, c := range []struct {
		at   string
		loc  *time.Location
		want string
	}{
		{"2026-11-20T23:59:59Z", nil, "2026-11-20"},
		{"2026-11-20T10:00:00Z", kiritimati, "2026-11-21"},
		{"2026-11-20T10:59:59Z", samoa, "2026-11-19"},
		{"1969-12-31T23:59:59Z", nil, "1969-12-31"},
		{"1970-01-01T00:00:00Z", samoa, "1969-12-31"},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := DayOf(at, c.loc).String(); got != c.want {
			t.Errorf("DayOf(%s, %v) = %s, want %s", c.at, c.loc, got, c.want)
		}
	}
}

func TestPeriodDueAsAnacronHasIt(t *testing.T) {
	daily, weekly := Period{Days: 1}, Period{Days: 7}
	monthly, yearly := Period{Month: true}, Period{Year: true}
	for _, c := range []struct {
		name         string
		p            Period
		stamp, today string
		want         bool
	}{
		{"daily, the same day", daily, "2026-11-20", "2026-11-20", false},
		{"daily, the next day", daily, "2026-11-20", "2026-11-21", true},
		{"weekly, after six days", weekly, "2026-11-20", "2026-11-26", false},
		{"weekly, after seven", weekly, "2026-11-20", "2026-11-27", true},
		{"weekly, long ago", weekly, "2020-01-01", "2026-11-27", true},
		{"always", Period{}, "2026-11-20", "2026-11-20", true},
		{"the stamp lies ahead", weekly, "2027-01-01", "2026-11-20", true},
		{"monthly, the same date of the next month", monthly, "2026-01-15", "2026-02-15", true},
		{"monthly, a day before that", monthly, "2026-01-15", "2026-02-14", false},
		{"monthly, in March as long as February was", monthly, "2026-02-01", "2026-03-01", true},
		{"monthly, from the end of January", monthly, "2026-01-31", "2026-02-28", true},
		{"monthly, that is as many days as this month has", monthly, "2026-01-30", "2026-02-27", true},
		{"monthly, but not more of them", monthly, "2026-01-29", "2026-02-27", false},
		{"monthly, in January December counts", monthly, "2025-12-10", "2026-01-09", false},
		{"monthly, and has 31 days", monthly, "2025-12-10", "2026-01-10", true},
		{"yearly, the same date", yearly, "2025-03-01", "2026-03-01", true},
		{"yearly, a day before", yearly, "2025-03-02", "2026-03-01", false},
		{"yearly, over a leap day", yearly, "2023-03-01", "2024-02-29", true},
		{"yearly, after a leap year", yearly, "2024-03-01", "2025-02-28", false},
		{"yearly, or as many days as this year has", yearly, "2024-03-01", "2025-03-01", true},
	} {
		if got := c.p.Due(dayOf(t, c.stamp), dayOf(t, c.today)); got != c.want {
			t.Errorf("%s: Due(%s, %s) = %t, want %t", c.name, c.stamp, c.today, got, c.want)
		}
	}
}

func TestPeriodStartKeepsDelayAndHours(t *testing.T) {
	kolkata := time.FixedZone("+0530", 5*3600+1800)
	for _, c := range []struct {
		name        string
		p           Period
		loc         *time.Location
		found, want string
	}{
		{"at once", Period{}, nil, "2026-11-20T12:34:56Z", "2026-11-20T12:34:56Z"},
		{"after the delay", Period{Delay: 5 * time.Minute}, nil, "2026-11-20T23:58:00Z", "2026-11-21T00:03:00Z"},
		{"in its hours", Period{From: 3, Until: 22}, nil, "2026-11-20T21:59:59Z", "2026-11-20T21:59:59Z"},
		{"too late in the day", Period{From: 3, Until: 22}, nil, "2026-11-20T22:00:00Z", "2026-11-21T03:00:00Z"},
		{"too early", Period{From: 3, Until: 22}, nil, "2026-11-20T00:00:30Z", "2026-11-20T03:00:00Z"},
		{"the delay leads out of them", Period{Delay: 45 * time.Minute, From: 3, Until: 22}, nil, "2026-11-20T21:30:00Z", "2026-11-21T03:45:00Z"},
		{"the delay leads into them", Period{Delay: 45 * time.Minute, From: 3, Until: 22}, nil, "2026-11-20T02:30:00Z", "2026-11-20T03:15:00Z"},
		{"on the clocks of the zone", Period{From: 3, Until: 22}, kolkata, "2026-11-20T16:30:00Z", "2026-11-20T21:30:00Z"},
		{"hours that no day has", Period{Delay: time.Minute, From: 24, Until: 25}, nil, "2026-11-20T00:00:00Z", "2026-11-20T00:01:00Z"},
	} {
		found, err := time.Parse(time.RFC3339, c.found)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.p.Start(found, c.loc).Format(time.RFC3339); got != c.want {
			t.Errorf("%s: Start(%s) = %s, want %s", c.name, c.found, got, c.want)
		}
	}
}

package agenda

import (
	"fmt"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/timetable"
)

// TestOccurrencesAfterALongTime checks that a step has limited work after a long absence,
// and that the newest occurrences are still listed.
func TestOccurrencesAfterALongTime(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	parse := func(text string) cron.Schedule {
		file, _ := crontab.Parse("t", text+" x\n", crontab.Config{Zone: time.LoadLocation, Local: time.UTC})
		return file.Entries[0].Schedule
	}
	for _, c := range []struct {
		text  string
		away  time.Duration
		exact int // how many there are, if all are listed
	}{
		{"#@ sec=*\n* * * * *", 366 * 24 * time.Hour, 0},
		{"#@ sec=*\n* * * * *", 50 * 365 * 24 * time.Hour, 0},
		{"#@ every=1s\n* * * * *", 366 * 24 * time.Hour, 0},
		{"#@ sec=* until=2026-08-01\n* * * * *", 366 * 24 * time.Hour, 0}, // silent since long
		{"#@ sec=*\n* 0 1 * *", 366 * 24 * time.Hour, 0},                  // an hour a month
		{"#@ every=1s from=2026-11-20T11:00\n* * * * *", 366 * 24 * time.Hour, 3601},
		{"* * * * *", 366 * 24 * time.Hour, 0},
		{"*/30 * * * *", 366 * 24 * time.Hour, 366 * 48},
		{"0 3 * * *", 366 * 24 * time.Hour, 366},
		{"0 3 * * *", 50 * 365 * 24 * time.Hour, 366},
	} {
		s := parse(c.text)
		o := Between(s, now.Add(-c.away), now)
		name := fmt.Sprintf("%q after %s", c.text, c.away)
		if o.asked > 40*keepMissed {
			t.Errorf("%s: the schedule was asked %d times", name, o.asked)
		}
		if n := len(o.List); c.exact > 0 && n != c.exact || c.exact == 0 && (n < keepMissed || n > 2*keepMissed) {
			t.Errorf("%s: %d are listed, want %d or %d to %d", name, n, c.exact, keepMissed, 2*keepMissed)
		}
		if want := timetable.Previous(s, now.Add(1)); !o.Last().Equal(want) {
			t.Errorf("%s: the newest is %s, want %s", name, o.Last(), want)
		}
		for i, at := range o.List[1:] {
			if !s.Next(o.List[i]).Equal(at) {
				t.Fatalf("%s: %s is listed after %s", name, at, o.List[i])
			}
		}
		if !o.First.Equal(s.Next(now.Add(-c.away))) || o.Older == 0 != o.First.Equal(o.List[0]) {
			t.Errorf("%s: the first is %s, %d older, the list begins at %s", name, o.First, o.Older, o.List[0])
		}
	}
}

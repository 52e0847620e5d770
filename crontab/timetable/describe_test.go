package timetable

import (
	"testing"
	"time"

	"github.com/robfig/cron/v3"
)

func TestDescribeFields(t *testing.T) {
	for spec, want := range map[string]string{
		"* * * * *":             "every minute",
		"*/5 * * * *":           "every 5 minutes",
		"0,30 * * * *":          "every 30 minutes",
		"*/7 * * * *":           "every 7 minutes from minute 0 of every hour",
		"7-59/10 * * * *":       "every 10 minutes from minute 7 of every hour",
		"17 * * * *":            "at minute 17 of every hour",
		"5,35 * * * *":          "at minutes 5 and 35 of every hour",
		"0 * * * *":             "every hour",
		"@hourly":               "every hour",
		"0 0-23 * * *":          "every hour",
		"0 */2 * * *":           "every 2 hours",
		"5 */2 * * *":           "every 2 hours at minute 5",
		"30 2 * * *":            "at 02:30 every day",
		"@daily":                "at 00:00 every day",
		"0 8,12,18 * * *":       "at 08:00, 12:00 and 18:00 every day",
		"0 9-17 * * *":          "every hour from 09:00 to 17:00 every day",
		"*/15 9-17 * * 1-5":     "every 15 minutes from 09:00 to 17:45 on Monday to Friday",
		"* 9 * * *":             "every minute from 09:00 to 09:59 every day",
		"*/5 9,17 * * *":        "every 5 minutes of hours 9 and 17 every day",
		"1-7 1-7/2 * * *":       "at minutes 1 to 7 of hours 1, 3, 5 and 7 every day",
		"@weekly":               "at 00:00 on Sunday",
		"0 0 * * sun,mon,fri":   "at 00:00 on Sunday, Monday and Friday",
		"0 * * * 1":             "every hour on Monday",
		"@monthly":              "at 00:00 on day 1",
		"0 0 1,15 * *":          "at 00:00 on days 1 and 15",
		"0 5 1-7 * *":           "at 05:00 on days 1 to 7",
		"0 0 */2 * *":           "at 00:00 on every 2nd day from day 1 of the month",
		"0 0 13 * 5":            "at 00:00 on day 13 or on Friday",
		"0 0 1-31 * 5":          "at 00:00 every day",
		"0 0 1-7 * */7":         "at 00:00 on days 1 to 7 if it is Sunday",
		"@yearly":               "at 00:00 on 1 January",
		"0 0 1 */3 *":           "at 00:00 on day 1 in January, April, July and October",
		"0 7 * 6-8 *":           "at 07:00 every day in June to August",
		"0 7 1 6-8 1":           "at 07:00 on day 1 or on Monday in June to August",
		"0 0 30 2 *":            "never",
		"0 22-2 * * *":          "never",
		"0 0 1 1 6-1":           "at 00:00 on 1 January",
		"0 0 31-1 * 1":          "at 00:00 on Monday",
		"0 0 11-31/10 * *":      "at 00:00 on every 10th day from day 11 of the month",
		"0 0 1-31/3 * *":        "at 00:00 on every 3rd day from day 1 of the month",
		"0 0 9-31/11 * *":       "at 00:00 on every 11th day from day 9 of the month",
		"1,2,3,7 1,5,9 1 1,2 *": "at minutes 1 to 3 and 7 of hours 1, 5 and 9 on day 1 in January and February",
	} {
		if got := Describe(mustSchedule(t, spec, nil)); got != want {
			t.Errorf("%q:\n got %s\nwant %s", spec, got, want)
		}
	}
}

type namelessSchedule struct{}

func (namelessSchedule) Next(time.Time) time.Time { return time.Time{} }

func TestDescribeModifiers(t *testing.T) {
	s, minutes := mustSchedule(t, "30 2 * * *", nil), mustSchedule(t, "* * * * 1-5", nil)
	for _, test := range []struct {
		schedule cron.Schedule
		want     string
	}{
		{Reboot, "when the host boots"},
		{Never, "never by schedule"},
		{AfterEnd(90 * time.Second), "1m30s after the end of each run"},
		{Every(90*time.Minute, 0), "every 90 minutes"},
		{Every(24*time.Hour, 5*time.Minute), "every day, shifted by 5m"},
		{At(benchStart), "once at 2026-11-20 21:07:31 +00:00"},
		{Seconds(minutes, 1|1<<10|1<<20|1<<30|1<<40|1<<50), "every 10 seconds on Monday to Friday"},
		{Seconds(s, 1<<5|1<<7), "at 02:30 every day, at seconds 5 and 7"},
		{mustSchedule(t, "30 2 * * *", nil).follow(DSTLiteral), "at 02:30 every day, skipped where clocks are set forward and repeated where they are set back"},
		{mustSchedule(t, "30 2 * * *", nil).follow(DSTSecond), "at 02:30 every day, the second time where clocks are set back"},
		{Jitter(s, 90*time.Minute, 1), "at 02:30 every day, up to 1h30m later at random"},
		{Spread(s, 90*time.Second), "at 02:30 every day, 1m30s later"},
		{Between(s, benchStart, time.Time{}), "at 02:30 every day, from 2026-11-20 21:07:31 +00:00"},
		{Between(s, time.Time{}, benchStart), "at 02:30 every day, until 2026-11-20 21:07:31 +00:00"},
		{Count(s, benchStart, 3), "at 02:30 every day, the first 3 times from 2026-11-20 21:07:31 +00:00"},
		{Within(minutes, hoursOf(t, "08:00-18:00", ""), false), "every minute on Monday to Friday, only within window=08:00-18:00"},
		{Within(minutes, hoursOf(t, "", "12:00-13:00"), false), "every minute on Monday to Friday, only outside of blackout=12:00-13:00"},
		{Within(minutes, hoursOf(t, "08:00-18:00", "12:00-13:00"), true), "every minute on Monday to Friday, moved into window=08:00-18:00 and out of blackout=12:00-13:00"},
		{namelessSchedule{}, "schedule of type timetable.namelessSchedule"},
	} {
		if got := Describe(test.schedule); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

// hoursOf returns hours, without what is "".
func hoursOf(t *testing.T, window, blackout string) *Hours {
	t.Helper()
	var spans [2]*Spans
	for i, text := range []string{window, blackout} {
		if text == "" {
			continue
		}
		var err error
		if spans[i], err = ParseSpans(text); err != nil {
			t.Fatal(err)
		}
	}
	return NewHours(spans[0], spans[1], NewZone(nil))
}

func TestPerYearCountsInTheZone(t *testing.T) {
	newYork := NewZone(zoneFile(t, "slim", "America/New_York"))
	minutes := mustSchedule(t, "* * * * *", newYork)
	for _, test := range []struct {
		schedule cron.Schedule
		year     int
		want     int
	}{
		{minutes, 2026, 365 * 24 * 60},
		{minutes, 2028, 366 * 24 * 60},
		{mustSchedule(t, "*/20 2 * * *", newYork), 2026, 364 * 3},
		{mustSchedule(t, "*/20 1 * * *", newYork), 2026, 366 * 3},
		{mustSchedule(t, "0,20,40 2 * * *", newYork), 2026, 364*3 + 1},
		{mustSchedule(t, "0,20,40 2 * * *", newYork).follow(DSTLiteral), 2026, 364 * 3},
		{mustSchedule(t, "*/20 1 * * *", newYork).follow(DSTSecond), 2026, 365 * 3},
		{mustSchedule(t, "0 0 13 * 5", newYork), 2026, 61},
		{mustSchedule(t, "0 0 29 2 *", newYork), 2027, 0},
		{mustSchedule(t, "0 0 30 2 *", newYork), 2028, 0},
		{mustSchedule(t, "0 0 1 1 *", newYork), 2026, 1},
		{Seconds(minutes, 1<<60-1), 2026, 365 * 24 * 60 * 60},
		{Jitter(minutes, time.Hour, 1), 2026, 365 * 24 * 60},
		{Spread(minutes, time.Hour), 2026, 365 * 24 * 60},
		{Every(time.Second, 0), 2026, 365 * 24 * 60 * 60},
		{Every(100*24*time.Hour, 0), 2026, 4},
		{At(benchStart), 2026, 1},
		{At(benchStart), 2027, 0},
		{Reboot, 2026, 0},
		{Count(minutes, benchStart, 17), 2026, 17},
		{cron.Every(time.Hour), 2026, 365 * 24},
	} {
		if got := PerYear(test.schedule, test.year); got != test.want {
			t.Errorf("%v in %d: got %d, want %d", test.schedule, test.year, got, test.want)
		}
	}
}

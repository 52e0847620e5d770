package timeinput

import (
	"testing"
	"time"
)

func TestParseWhen(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 20, 18, 2, 11, 0, berlin)
	for _, tc := range []struct{ text, want string }{
		{"2026-03-08T07:00:00Z", "2026-03-08T07:00:00Z"},
		{"2026-03-08T02:30", "2026-03-08T02:30:00+01:00"},
		{"2026-07-08 02:30", "2026-07-08T02:30:00+02:00"},
		{"2026-07-08", "2026-07-08T00:00:00+02:00"},
		{"02:30", "2026-11-20T02:30:00+01:00"},
		{"02:30:10", "2026-11-20T02:30:10+01:00"},
		{"yesterday 02:30", "2026-11-19T02:30:00+01:00"},
		{"yesterday 02:30:10", "2026-11-19T02:30:10+01:00"},
		{"yesterday", "2026-11-19T00:00:00+01:00"},
		{"tomorrow 9:00", "2026-11-21T09:00:00+01:00"},
		{"now", "2026-11-20T18:02:11+01:00"},
		{"-2h", "2026-11-20T16:02:11+01:00"},
		{"+1d12h", "2026-11-22T06:02:11+01:00"},
	} {
		got, err := Parse(tc.text, now, berlin)
		if want, _ := time.Parse(time.RFC3339, tc.want); err != nil || !got.Equal(want) {
			t.Errorf("parse %q: got %v, %v, want %v", tc.text, got, err, want)
		}
	}
	for _, text := range []string{"", " ", "-", "-2", "+h", "25:00", "02:30:60", "yesterday noon", "2026-13-01", "someday"} {
		if got, err := Parse(text, now, berlin); err == nil {
			t.Errorf("parse %q: got %v, want an error", text, got)
		}
	}
}

// A time that the clocks skip is the end of the gap, and one that they show twice the first of both: at
// these times cron runs an entry with a fixed time of day.
func TestParseLocalTimesAroundAChange(t *testing.T) {
	for _, tc := range []struct{ zone, text, want string }{
		{"Europe/Berlin", "2027-03-28 01:59", "2027-03-28T01:59:00+01:00"},
		{"Europe/Berlin", "2027-03-28 02:30", "2027-03-28T03:00:00+02:00"},
		{"Europe/Berlin", "2027-03-28 03:00", "2027-03-28T03:00:00+02:00"},
		{"Europe/Berlin", "2026-10-25 01:59", "2026-10-25T01:59:00+02:00"},
		{"Europe/Berlin", "2026-10-25 02:30", "2026-10-25T02:30:00+02:00"},
		{"Europe/Berlin", "2026-10-25 03:00", "2026-10-25T03:00:00+01:00"},
		{"America/New_York", "2026-03-08 02:30", "2026-03-08T03:00:00-04:00"},
		{"America/New_York", "2026-11-01 01:30", "2026-11-01T01:30:00-04:00"},
		{"America/New_York", "2026-11-01 02:00", "2026-11-01T02:00:00-05:00"},
		{"Australia/Lord_Howe", "2027-04-04 01:45", "2027-04-04T01:45:00+11:00"},
		{"Asia/Beirut", "2026-03-29", "2026-03-29T01:00:00+03:00"},
		{"UTC", "2027-03-28 02:30", "2027-03-28T02:30:00Z"},
	} {
		loc, err := time.LoadLocation(tc.zone)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse(tc.text, time.Now(), loc)
		if want, _ := time.Parse(time.RFC3339, tc.want); err != nil || !got.Equal(want) {
			t.Errorf("parse %q in %s: got %v, %v, want %v", tc.text, tc.zone, got, err, want)
		}
	}
	berlin, _ := time.LoadLocation("Europe/Berlin")
	got, err := Parse("02:30", time.Date(2027, 3, 28, 9, 0, 0, 0, berlin), berlin)
	if want := time.Date(2027, 3, 28, 3, 0, 0, 0, berlin); err != nil || !got.Equal(want) {
		t.Errorf("parse 02:30: got %v, %v, want %v", got, err, want)
	}
}

// Durations without a sign are read in the direction of the flag.
func TestParsePastAndFuture(t *testing.T) {
	now := time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		text         string
		past, future time.Time
	}{
		{"30d", now.AddDate(0, 0, -30), now.AddDate(0, 0, 30)},
		{"-2h", now.Add(-2 * time.Hour), now.Add(-2 * time.Hour)},
		{"+1h", now.Add(time.Hour), now.Add(time.Hour)},
		{"tomorrow", time.Date(2026, 3, 9, 0, 0, 0, 0, time.UTC), time.Date(2026, 3, 9, 0, 0, 0, 0, time.UTC)},
	} {
		past, err := ParsePast(tc.text, now, time.UTC)
		if err != nil || !past.Equal(tc.past) {
			t.Errorf("past %s: got %v, %v, want %v", tc.text, past, err, tc.past)
		}
		future, err := ParseFuture(tc.text, now, time.UTC)
		if err != nil || !future.Equal(tc.future) {
			t.Errorf("future %s: got %v, %v, want %v", tc.text, future, err, tc.future)
		}
	}
	if _, err := ParsePast("soon", now, time.UTC); err == nil {
		t.Error("soon: no error")
	}
}

func TestParseEnd(t *testing.T) {
	loc, _ := time.LoadLocation("Europe/Berlin")
	now := time.Date(2026, 10, 24, 5, 0, 0, 0, loc)
	night := time.Date(2026, 10, 24, 22, 0, 0, 0, loc)
	for _, c := range []struct {
		text  string
		start time.Time
		want  string
	}{
		{"06:00", night, "2026-10-25T06:00:00+01:00"},
		{"06:00:30", night, "2026-10-25T06:00:30+01:00"},
		{"23:00", night, "2026-10-24T23:00:00+02:00"},
		{"22:00", night, "2026-10-25T22:00:00+01:00"},
		{"06:00", time.Time{}, "2026-10-24T06:00:00+02:00"},
		{"04:00", time.Time{}, "2026-10-25T04:00:00+01:00"},
		{"2h", night, "2026-10-24T07:00:00+02:00"},
		{"tomorrow 06:00", night, "2026-10-25T06:00:00+01:00"},
	} {
		end, err := ParseEnd(c.text, c.start, now, loc)
		if got := end.Format(time.RFC3339); err != nil || got != c.want {
			t.Errorf("%s after %s: %s, %v, want %s", c.text, c.start, got, err, c.want)
		}
	}
}

// FuzzParse reads any text as each kind of time, in zones with unusual changes.
func FuzzParse(f *testing.F) {
	var zones []*time.Location
	for _, name := range []string{"UTC", "Europe/Berlin", "Australia/Lord_Howe"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			f.Fatal(err)
		}
		zones = append(zones, zone)
	}
	for _, text := range []string{
		"2026-03-08T07:00:00.123456789Z", "2026-03-29 02:30", "02:30", "yesterday 02:30", "tomorrow", "now", "-2h", "+1d12h", "30d",
		"9999-12-31T23:59:59-23:59", "0000-01-01", "+36525d", "\x1b[31m", "today 24:00",
	} {
		f.Add(text, int64(1_774_700_000), int64(3600), uint8(1))
	}
	f.Add("02:30", int64(1_774_700_000), int64(86_400), uint8(1)) // Berlin has no such time on the next day
	f.Fuzz(func(t *testing.T, text string, at, later int64, zone uint8) {
		if at < 0 || at > 1<<33 || later < -1<<33 || later > 1<<33 {
			return
		}
		loc, now := zones[int(zone)%len(zones)], time.Unix(at, 0)
		start := now.Add(time.Duration(later) * time.Second)
		for name, read := range map[string]func() (time.Time, error){
			"time":   func() (time.Time, error) { return Parse(text, now, loc) },
			"future": func() (time.Time, error) { return ParseFuture(text, now, loc) },
			"past":   func() (time.Time, error) { return ParsePast(text, now, loc) },
			"end":    func() (time.Time, error) { return ParseEnd(text, start, now, loc) },
		} {
			got, err := read()
			if err != nil {
				if err != errTime || !got.IsZero() {
					t.Errorf("%s %q: %s and the error %v", name, text, got, err)
				}
				continue
			}
			if got.Year() < 0 || got.Year() > 9999 {
				t.Errorf("%s %q is in the year %d", name, text, got.Year())
			}
			if again, err := Parse(got.UTC().Format(time.RFC3339Nano), now, loc); got.Unix() >= 0 && got.UTC().Year() <= 9999 && (err != nil || !again.Equal(got)) {
				t.Errorf("%s %q is %s, written and read again %s, %v", name, text, got, again, err)
			}
			if _, err := time.Parse("15:04", text); err == nil && name == "end" && (!got.After(start) || !got.After(now)) {
				t.Errorf("the end %q after %s is %s", text, start.In(loc), got)
			}
		}
	})
}

// Package timeinput owns the parsing of the times that people type on the command line and in the
// dashboard.
package timeinput

import (
	"errors"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
)

// forms are the ways to write an instant besides RFC 3339, read in the zone of the person.
var forms = []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"}

// Help lists the forms of a time for help texts, EndHelp those for ParseEnd.
const (
	Help    = `RFC 3339, "2026-03-08 02:30", "02:30" today, "yesterday 02:30", "-2h" or "+2h"`
	EndHelp = `RFC 3339, "2026-03-08 02:30", the next "02:30", "tomorrow 02:30" or "+2h"`
)

var errTime = errors.New("this is not a time: write " + Help)

// Parse reads a time as people write it: see Help. A duration without a sign is not a time; see
// ParseFuture and ParsePast.
func Parse(text string, now time.Time, loc *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t, nil
	}
	for _, form := range forms {
		if t, err := timetable.ParseLocal(form, text, loc); err == nil {
			return t, nil
		}
	}
	if text == "now" {
		return now, nil
	}
	if text != "" && (text[0] == '-' || text[0] == '+') {
		d, err := option.ParseDuration(text[1:])
		if err != nil {
			return time.Time{}, errTime
		}
		if text[0] == '-' {
			d = -d
		}
		return now.Add(d), nil
	}
	return parseDay(text, now.In(loc))
}

// DayWords are days that people name by where they are from today.
var DayWords = map[string]int{"yesterday": -1, "today": 0, "tomorrow": 1}

// parseDay reads "02:30", "02:30:10", "today 02:30", "yesterday", and so on.
func parseDay(text string, now time.Time) (time.Time, error) {
	day, clock, _ := strings.Cut(text, " ")
	shift, named := DayWords[day]
	if !named {
		clock = text
	}
	hour, minute, second := 0, 0, 0
	if clock != "" || !named {
		t, err := ParseClock(clock)
		if err != nil {
			return time.Time{}, errTime
		}
		hour, minute, second = t.Clock()
	}
	return timetable.LocalTime(time.Date(now.Year(), now.Month(), now.Day()+shift, hour, minute, second, 0, time.UTC), now.Location()), nil
}

// ParseClock reads a time of day: "02:30" or "02:30:10".
func ParseClock(text string) (time.Time, error) {
	if t, err := time.Parse("15:04:05", text); err == nil {
		return t, nil
	}
	return time.Parse("15:04", text)
}

// ParseFuture reads a time of what will happen: "2h" is in two hours.
func ParseFuture(text string, now time.Time, loc *time.Location) (time.Time, error) {
	if d, err := option.ParseDuration(text); err == nil {
		return now.Add(d), nil
	}
	return Parse(text, now, loc)
}

// ParseEnd reads the end of what begins at start, or now if start is earlier: "06:00" is the next
// 06:00 after that. Other forms are those of ParseFuture.
func ParseEnd(text string, start, now time.Time, loc *time.Location) (time.Time, error) {
	if _, err := ParseClock(text); err != nil {
		return ParseFuture(text, now, loc)
	}
	if start.Before(now) {
		start = now
	}
	end, err := parseDay(text, start.In(loc))
	if err == nil && !end.After(start) {
		return parseDay("tomorrow "+text, start.In(loc))
	}
	return end, err
}

// ParsePast reads a time of what happened: "30d" is thirty days ago.
func ParsePast(text string, now time.Time, loc *time.Location) (time.Time, error) {
	if d, err := option.ParseDuration(text); err == nil {
		return now.Add(-d), nil
	}
	return Parse(text, now, loc)
}

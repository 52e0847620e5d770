package main

import (
	"errors"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/tui/when"
)

// whenForms are the ways to write an instant besides RFC 3339, read in the zone
// of the flags.
var whenForms = []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"}

const whenHelp = `RFC 3339, "2026-03-08 02:30", "02:30" today, "yesterday 02:30", or "-2h" from now`

var errWhen = errors.New("it is no instant: write " + whenHelp)

// parseWhen reads an instant as people write it.
func parseWhen(text string, now time.Time, loc *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t, nil
	}
	for _, form := range whenForms {
		if t, err := time.ParseInLocation(form, text, loc); err == nil {
			return t, nil
		}
	}
	if text == "now" {
		return now, nil
	}
	if text != "" && (text[0] == '-' || text[0] == '+') {
		d, err := crontab.ParseDuration(text[1:])
		if err != nil {
			return time.Time{}, errWhen
		}
		if text[0] == '-' {
			d = -d
		}
		return now.Add(d), nil
	}
	return parseDay(text, now.In(loc))
}

// dayWords are days that people name by where they are from today.
var dayWords = map[string]int{"yesterday": -1, "today": 0, "tomorrow": 1}

// parseDay reads "02:30", "today 02:30", "yesterday", and so on.
func parseDay(text string, now time.Time) (time.Time, error) {
	day, clock, _ := strings.Cut(text, " ")
	shift, named := dayWords[day]
	if !named {
		clock = text
	}
	hour, minute := 0, 0
	if clock != "" || !named {
		t, err := time.Parse("15:04", clock)
		if err != nil {
			return time.Time{}, errWhen
		}
		hour, minute = t.Hour(), t.Minute()
	}
	return time.Date(now.Year(), now.Month(), now.Day()+shift, hour, minute, 0, 0, now.Location()), nil
}

// durationFlag is a flag in the form of the options of a crontab: 90s, 5m,
// 1h30m, 2d, 1w.
type durationFlag time.Duration

func (d *durationFlag) String() string { return when.Brief(time.Duration(*d)) }
func (d *durationFlag) Type() string   { return "D" }

// Set reads the flag's value.
func (d *durationFlag) Set(text string) error {
	v, err := crontab.ParseDuration(text)
	*d = durationFlag(v)
	return err
}

// The forms of an instant: for eyes, and for programs.
const (
	stampEyes  = "Mon 2006-01-02 15:04:05 -07:00"
	stampPlain = time.RFC3339
)

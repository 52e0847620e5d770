package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

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
		d, err := parseDuration(text[1:])
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

// parseDuration reads 90s, 5m, 1h30m, 2d, 1w: the form of the #@ options.
func parseDuration(text string) (time.Duration, error) {
	units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	var total time.Duration
	rest := text
	for rest != "" {
		digits := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
		if digits <= 0 {
			break
		}
		n, err := strconv.ParseInt(rest[:digits], 10, 64)
		unit := units[rest[digits]]
		if err != nil || unit == 0 || n > int64(100*365*24*time.Hour/unit) {
			break
		}
		total += time.Duration(n) * unit
		rest = rest[digits+1:]
	}
	if rest != "" || text == "" {
		return 0, fmt.Errorf("%q is no duration: write 90s, 5m, 1h30m or 2d", text)
	}
	return total, nil
}

// durationFlag is a flag of the form that parseDuration reads.
type durationFlag time.Duration

func (d *durationFlag) String() string { return when.Brief(time.Duration(*d)) }
func (d *durationFlag) Type() string   { return "D" }

// Set reads the flag's value.
func (d *durationFlag) Set(text string) error {
	v, err := parseDuration(text)
	*d = durationFlag(v)
	return err
}

// The forms of an instant: for eyes, and for programs.
const (
	stampEyes  = "Mon 2006-01-02 15:04:05 -07:00"
	stampPlain = time.RFC3339
)

package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spool"
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

// zoneFlags are --tz and --utc.
type zoneFlags struct {
	name string
	utc  bool
}

func (a *app) addZone(cmd *cobra.Command, use string) {
	cmd.Flags().StringVar(&a.zone.name, "tz", "", "`ZONE` "+use+" (default: the host's)")
	cmd.Flags().BoolVar(&a.zone.utc, "utc", false, "the same as --tz UTC")
	cmd.MarkFlagsMutuallyExclusive("tz", "utc")
}

// location gives the zone that the flags name, else the host's.
func (a *app) location() (*time.Location, error) {
	switch {
	case a.zone.utc:
		return time.UTC, nil
	case a.zone.name == "":
		return spool.ThisHost().Zone, nil
	}
	loc, err := spool.LoadZone(a.zone.name)
	if err != nil {
		return nil, badUsage(fmt.Sprintf("use zone %q", a.zone.name), err.Error(), "name a zone as in --tz Europe/Berlin")
	}
	return loc, nil
}

// flagTime reads the instant of a flag; an unset one is the zero time.
func (a *app) flagTime(name, text string, loc *time.Location) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := parseWhen(text, a.now(), loc)
	if err != nil {
		return t, badUsage("read --"+name+" "+strconv.Quote(text), err.Error(), "")
	}
	return t, nil
}

// stamp writes an instant for programs: "" for none.
func stamp(t time.Time, loc *time.Location) string {
	if t.IsZero() {
		return ""
	}
	return t.In(loc).Format(stampPlain)
}

// formatTime writes an instant, or "" for none.
func formatTime(t time.Time, form string, loc *time.Location) string {
	if t.IsZero() {
		return ""
	}
	return t.In(loc).Format(form)
}

// took is how long a run took or has been going, or "" before its start.
func (a *app) took(r *job.Run) string {
	switch {
	case r == nil || r.Started.IsZero():
		return ""
	case r.Ended.IsZero():
		return when.Brief(a.now().Sub(r.Started).Truncate(time.Second))
	}
	return when.Brief(r.Ended.Sub(r.Started))
}

// until says how far off an instant is: "in 2m49s", "2m11s ago".
func (a *app) until(t time.Time) string {
	d := t.Sub(a.now())
	if d < 0 {
		return when.Brief(-d.Round(time.Second)) + " ago"
	}
	return "in " + when.Brief(d.Round(time.Second))
}

// since says how long ago a run began.
func (a *app) since(r *job.Run) string {
	if r == nil {
		return "never"
	}
	return when.Ago(r.Started, a.now())
}

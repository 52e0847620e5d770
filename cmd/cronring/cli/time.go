package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/timeinput"
)

// Duration is a flag in the form of the options of a crontab: 90s, 5m,
// 1h30m, 2d, 1w.
type Duration time.Duration

func (d *Duration) String() string { return display.Brief(time.Duration(*d)) }
func (d *Duration) Type() string   { return "D" }

// Set reads the flag's value.
func (d *Duration) Set(text string) error {
	v, err := option.ParseDuration(text)
	if errors.Is(err, option.ErrTooLong) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%w: write it like 90s, 5m, 1h30m or 2d", err)
	}
	*d = Duration(v)
	return nil
}

// The forms of an instant: for people, and for programs.
const (
	LongTime  = "Mon 2006-01-02 15:04:05 -07:00"
	PlainTime = time.RFC3339
)

// AddZone adds --tz and --utc to a command, which does not run if there is no such zone.
func (a *App) AddZone(cmd *cobra.Command, use string) {
	name := cmd.Flags().String("tz", "", "`ZONE` "+use+" (default: the host's)")
	utc := cmd.Flags().Bool("utc", false, "the same as --tz UTC")
	cmd.MarkFlagsMutuallyExclusive("tz", "utc")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		switch {
		case *utc:
			a.Zone = time.UTC
		case *name != "":
			if a.Zone, err = spool.LoadZone(*name); err != nil {
				return UsageError(fmt.Sprintf("use zone %q", *name), err.Error(), "name a zone as in --tz Europe/Berlin")
			}
		}
		return run(cmd, args)
	}
}

// Location returns the zone of the flags, or the host's.
func (a *App) Location() *time.Location {
	if a.Zone == nil {
		return spool.ThisHost().Zone
	}
	return a.Zone
}

// AddPast adds a flag for the time of something that happened: "30d" is thirty days ago. The
// command runs with the time in at, which is zero if neither the flag nor a default is set. AddZone
// must come later.
func (a *App) AddPast(cmd *cobra.Command, at *time.Time, name, otherwise, usage string) {
	a.addTime(cmd, at, name, otherwise, usage, timeinput.ParsePast)
}

// AddFuture is AddPast for the time of something that will happen: "2h" is in two hours.
func (a *App) AddFuture(cmd *cobra.Command, at *time.Time, name, usage string) {
	a.addTime(cmd, at, name, "", usage, timeinput.ParseFuture)
}

// AddEnd adds a flag for the end of what begins at start, or now: see timeinput.ParseEnd. The flag
// of start must be added later.
func (a *App) AddEnd(cmd *cobra.Command, start, end *time.Time, name, usage string) {
	a.addTime(cmd, end, name, "", usage, func(text string, now time.Time, loc *time.Location) (time.Time, error) {
		return timeinput.ParseEnd(text, *start, now, loc)
	})
}

func (a *App) addTime(cmd *cobra.Command, at *time.Time, name, otherwise, usage string, parse func(string, time.Time, *time.Location) (time.Time, error)) {
	text := cmd.Flags().String(name, otherwise, usage)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if *text != "" {
			if *at, err = parse(*text, a.Now(), a.Location()); err != nil {
				return UsageError("read --"+name+" "+strconv.Quote(*text), err.Error(), "")
			}
		}
		return run(cmd, args)
	}
}

// OccurrenceTime converts the time of an occurrence, as people write it, to its first and last moment
// for the daemon. Dates and times of day stay without a zone: the daemon reads them in the zone of the
// entry.
func OccurrenceTime(text string, now time.Time) (from, to string, err error) {
	wall := time.Date(now.Year(), now.Month(), now.Day(), now.Hour(), now.Minute(), now.Second(), 0, time.UTC)
	t, err := timeinput.ParsePast(text, wall, time.UTC)
	if err != nil {
		return "", "", err
	}
	day, clock, _ := strings.Cut(text, " ")
	_, named := timeinput.DayWords[day]
	_, notClock := timeinput.ParseClock(text)
	_, notDuration := option.ParseDuration(text)
	switch {
	case text == "now" || text[0] == '-' || text[0] == '+' || notDuration == nil:
		minute := now.Add(t.Sub(wall)).UTC().Truncate(time.Minute)
		end := minute.Add(time.Minute - 1)
		if minute.Before(now) && end.After(now) {
			end = now.UTC() // the rest of this minute is the future
		}
		return minute.Format(time.RFC3339), end.Format(time.RFC3339Nano), nil
	case named && clock == "":
		text = t.Format(time.DateOnly)
	case (named || notClock == nil) && strings.Count(text, ":") == 2:
		text = t.Format("2006-01-02T15:04:05")
	case named || notClock == nil:
		text = t.Format("2006-01-02T15:04")
	}
	return text, text, nil
}

// FormatPlain formats a time for programs: RFC 3339, or "" for the zero time.
func FormatPlain(t time.Time, loc *time.Location) string { return FormatTime(t, PlainTime, loc) }

// FormatTime formats a time, or returns "" for the zero time.
func FormatTime(t time.Time, form string, loc *time.Location) string {
	if t.IsZero() {
		return ""
	}
	return t.In(loc).Format(form)
}

// Took formats how long a run took or has been running. It is empty before the start, and if
// another cron ran it.
func (a *App) Took(r *job.Run) string {
	switch {
	case r == nil || r.Started.IsZero() || r.OnlyStarted():
		return ""
	case r.Ended.IsZero():
		return display.Brief(a.Now().Sub(r.Started).Truncate(time.Second))
	}
	return display.Brief(r.Length())
}

// TookSuffix appends how long a run took: " in 3s", or "" if Took is empty.
func (a *App) TookSuffix(r *job.Run) string {
	if took := a.Took(r); took != "" {
		return " in " + took
	}
	return ""
}

// FromNow formats the distance of t from now: "in 2m49s", "2m11s ago".
func (a *App) FromNow(t time.Time) string {
	d := t.Sub(a.Now())
	if d < 0 {
		return display.Brief(-d.Round(time.Second)) + " ago"
	}
	return "in " + display.Brief(d.Round(time.Second))
}

// Ago formats how long ago a run started.
func (a *App) Ago(r *job.Run) string {
	if r == nil {
		return "never"
	}
	return display.Ago(r.Started, a.Now())
}

package cli

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/typedtime"
)

// Duration is a flag in the form of the options of a crontab: 90s, 5m,
// 1h30m, 2d, 1w.
type Duration time.Duration

func (d *Duration) String() string { return display.Brief(time.Duration(*d)) }
func (d *Duration) Type() string   { return "D" }

// Set reads the flag's value.
func (d *Duration) Set(text string) error {
	v, err := option.ParseDuration(text)
	*d = Duration(v)
	return err
}

// The forms of an instant: for eyes, and for programs.
const (
	LongTime  = "Mon 2006-01-02 15:04:05 -07:00"
	PlainTime = time.RFC3339
)

// ZoneFlags are --tz and --utc.
type ZoneFlags struct {
	name string
	utc  bool
}

// AddZone adds --tz and --utc.
func (a *App) AddZone(cmd *cobra.Command, use string) {
	cmd.Flags().StringVar(&a.Zone.name, "tz", "", "`ZONE` "+use+" (default: the host's)")
	cmd.Flags().BoolVar(&a.Zone.utc, "utc", false, "the same as --tz UTC")
	cmd.MarkFlagsMutuallyExclusive("tz", "utc")
}

// Location returns the zone of the flags, or the host's.
func (a *App) Location() (*time.Location, error) {
	switch {
	case a.Zone.utc:
		return time.UTC, nil
	case a.Zone.name == "":
		return spool.ThisHost().Zone, nil
	}
	loc, err := spool.LoadZone(a.Zone.name)
	if err != nil {
		return nil, UsageError(fmt.Sprintf("use zone %q", a.Zone.name), err.Error(), "name a zone as in --tz Europe/Berlin")
	}
	return loc, nil
}

// PastTime reads the time of a flag about what happened: "30d" is thirty days ago.
// An unset flag is the zero time.
func (a *App) PastTime(name, text string, loc *time.Location) (time.Time, error) {
	return a.flagTime(name, text, loc, typedtime.ParsePast)
}

// FutureTime reads the time of a flag about what will happen: "2h" is in two hours.
// An unset flag is the zero time.
func (a *App) FutureTime(name, text string, loc *time.Location) (time.Time, error) {
	return a.flagTime(name, text, loc, typedtime.ParseFuture)
}

func (a *App) flagTime(name, text string, loc *time.Location, parse func(string, time.Time, *time.Location) (time.Time, error)) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := parse(text, a.Now(), loc)
	if err != nil {
		return t, UsageError("read --"+name+" "+strconv.Quote(text), err.Error(), "")
	}
	return t, nil
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

// Took formats how long a run took or has been running. It is empty before the start.
func (a *App) Took(r *job.Run) string {
	switch {
	case r == nil || r.Started.IsZero():
		return ""
	case r.Ended.IsZero():
		return display.Brief(a.Now().Sub(r.Started).Truncate(time.Second))
	}
	return display.Brief(r.Ended.Sub(r.Started))
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

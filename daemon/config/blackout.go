package config

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/sidecar"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/spool"
)

// Blackout is a [blackout.NAME]: a time when the host starts no jobs.
type Blackout struct {
	Hours       string // in the syntax of blackout=; "": any time from From until Until
	From, Until string // as written; "": no limit
	Zone        string // "": the host's
	Reason      string
	At          sidecar.Position
}

// mostBlackouts is the highest number of blackouts, because each start is checked against all of them.
const mostBlackouts = 100

// setBlackout applies a key of [blackout.NAME].
func (r *reader) setBlackout(name, key string, v value, at sidecar.Position) error {
	text, err := v.text()
	if err != nil {
		return err
	}
	b := element(&r.Blackouts, name, Blackout{At: at})
	field := map[string]*string{"hours": &b.Hours, "from": &b.From, "until": &b.Until, "zone": &b.Zone, "reason": &b.Reason}[key]
	if field == nil {
		return errUnknown
	}
	*field = text
	r.Blackouts[name] = b
	return nil
}

// finishBlackouts reports invalid blackouts, and drops them.
func (r *reader) finishBlackouts() {
	for i, name := range sortedKeys(r.Blackouts) {
		b := r.Blackouts[name]
		_, err := b.read(name, time.UTC)
		if err == nil && i >= mostBlackouts {
			err = fmt.Errorf("more than %d blackouts", mostBlackouts)
		}
		if err != nil {
			r.report(b.At, unknown, dotted([]string{"blackout", name})+": "+err.Error(), "")
			delete(r.Blackouts, name)
		}
	}
}

// read returns the blackout on a host with a zone.
func (b *Blackout) read(name string, local *time.Location) (timetable.Blackout, error) {
	out := timetable.Blackout{Name: name, Reason: b.Reason}
	if b.Zone != "" {
		var err error
		if local, err = spool.LoadZone(b.Zone); err != nil {
			return out, fmt.Errorf("zone: %w", err)
		}
	}
	zone := timetable.NewZone(local)
	var err error
	if b.From != "" {
		out.From, err = option.ParseInstant(b.From, zone)
	}
	if b.Until != "" && err == nil {
		out.Until, err = option.ParseInstant(b.Until, zone)
	}
	if err != nil {
		return out, err
	}
	if b.Hours != "" {
		spans, err := timetable.ParseSpans(b.Hours)
		if err != nil {
			return out, fmt.Errorf("hours: %w", err)
		}
		out.Allowed = timetable.NewHours(nil, spans, zone)
	}
	err = cmp.Or(option.CheckName(name), option.CheckNote(cmp.Or(b.Reason, "none")))
	switch {
	case err != nil:
		return out, err
	case b.Hours == "" && b.Until == "":
		return out, errors.New("it has no `hours` and no `until`, so that no job would ever start")
	case !out.Until.IsZero() && !out.From.Before(out.Until):
		return out, errors.New("`until` is not after `from`")
	case out.Allowed != nil && out.Allowed.Never() && b.Until == "":
		return out, errors.New("`hours` leaves no time at which a job may start: write `until` too")
	}
	return out, nil
}

// HostBlackouts returns the blackouts on a host with a zone, in the order of their names.
func (c *Config) HostBlackouts(local *time.Location) (all timetable.Blackouts) {
	for _, name := range sortedKeys(c.Blackouts) {
		b := c.Blackouts[name]
		if read, err := b.read(name, local); err == nil {
			all = append(all, read)
		}
	}
	return all
}

package timetable

import (
	"fmt"
	"iter"
	"math/bits"
	"time"

	"github.com/robfig/cron/v3"
)

// A modifier wraps a schedule and is a schedule itself. It accepts any
// cron.Schedule. It is a pointer, so that it is comparable, has a String method
// and, if it wraps another schedule, Unwrap() cron.Schedule. If a modifier moves
// two occurrences to the same instant, they become one. (Do not use robfig's
// cron.Every, whose occurrences depend on the argument of Next. Use Every.)

// Reboot is the schedule of @reboot. It has no occurrences.
var Reboot cron.Schedule = reboot{}

// Never is the schedule of entries that only an event or a person starts. It has
// no occurrences.
var Never cron.Schedule = never{}

// AfterEnd returns the schedule of an entry that runs a fixed time after the end of its
// previous run. It has no occurrences: they depend on the runs.
func AfterEnd(delay time.Duration) cron.Schedule { return afterEnd{delay} }

// DelayOf returns the delay of a schedule of AfterEnd, or 0 for other schedules.
func DelayOf(s cron.Schedule) time.Duration {
	a, _ := s.(afterEnd)
	return a.delay
}

// IsTimeless reports whether s has no occurrences of its own: the boot of the host, the
// end of a run, an event or a person starts its entry.
func IsTimeless(s cron.Schedule) bool {
	return s == Reboot || s == Never || DelayOf(s) > 0
}

type reboot struct{}

func (reboot) Next(time.Time) time.Time { return time.Time{} }
func (reboot) String() string           { return "@reboot" }

type never struct{}

func (never) Next(time.Time) time.Time { return time.Time{} }
func (never) String() string           { return "never" }

type afterEnd struct{ delay time.Duration }

func (afterEnd) Next(time.Time) time.Time { return time.Time{} }
func (a afterEnd) String() string         { return "delay=" + DurationText(a.delay) }

// FixedTime reports whether s, or the schedule that it wraps, is fixed-time: it
// runs after a gap what the gap skipped, and only once in a repeated hour; see
// Schedule. Schedules of types from other packages are not fixed-time.
func FixedTime(s cron.Schedule) bool {
	for at := range layers(s) {
		switch at := at.(type) {
		case *Schedule:
			return !at.Wildcard()
		case *once:
			return true
		}
	}
	return false
}

// PassesOf returns the passes of a local minute at which s, or the schedule that
// it wraps, occurs. It is PassEach for schedules that do not depend on local time.
func PassesOf(s cron.Schedule) Passes {
	for at := range layers(s) {
		if fields, ok := at.(*Schedule); ok {
			return fields.passes
		}
	}
	return PassEach
}

// layers returns s, the schedule that it wraps, and so on.
func layers(s cron.Schedule) iter.Seq[cron.Schedule] {
	return func(yield func(cron.Schedule) bool) {
		for s != nil && yield(s) {
			outer, ok := s.(interface{ Unwrap() cron.Schedule })
			if !ok {
				return
			}
			s = outer.Unwrap()
		}
	}
}

// Every returns a schedule that occurs at the epoch + n*period + phase in every
// zone. It limits period to the range from one second to MaxDuration.
func Every(period, phase time.Duration) cron.Schedule {
	period = min(max(period, time.Second), MaxDuration)
	phase = (phase%period + period) % period
	// time.Truncate counts from the zero Time.
	epoch := time.Unix(0, 0)
	origin := (epoch.Sub(epoch.Truncate(period)) + phase) % period
	return &every{period: period, phase: phase, origin: origin}
}

type every struct {
	period, phase time.Duration
	origin        time.Duration // phase, as counted from the zero Time
}

func (e *every) Next(t time.Time) time.Time {
	return occurrence(t.Add(-e.origin).Truncate(e.period).Add(e.origin + e.period))
}

func (e *every) String() string {
	if e.phase == 0 {
		return "every=" + DurationText(e.period)
	}
	return fmt.Sprintf("every=%s phase=%s", DurationText(e.period), DurationText(e.phase))
}

// MaxEveryOn is the longest period of a schedule for On: it occurs on every local
// day, so that Next of On calls it only a few times.
const MaxEveryOn = 12 * time.Hour

// On keeps the occurrences of s on some local dates of a zone. It returns s if its
// occurrences are more than MaxEveryOn apart.
func On(s cron.Schedule, d Days, zone *Zone) cron.Schedule {
	if d.SelectsAll() || Spacing(s) > MaxEveryOn {
		return s
	}
	minutes, _, _ := ParseFields("* * * * *", 0, 0, nil)
	return &dated{inner: s, minutes: minutes.Schedule("* * * * *", zone).on(d)}
}

type dated struct {
	inner   cron.Schedule
	minutes *Schedule // all minutes of the days
}

func (d *dated) Next(t time.Time) time.Time {
	for {
		next := d.inner.Next(t)
		if next.IsZero() {
			return next
		}
		minute := d.minutes.Next(next.Add(-time.Minute))
		switch {
		case minute.IsZero():
			return minute
		case !minute.After(next):
			return next
		}
		t = minute.Add(-time.Nanosecond)
	}
}

func (d *dated) Unwrap() cron.Schedule { return d.inner }
func (d *dated) Zone() *Zone           { return d.minutes.zone }
func (d *dated) String() string        { return fmt.Sprint(d.inner) + d.minutes.filter.String() }

// DaysOf returns the filter of the days of s, or of the schedule that it wraps; nil
// if it has none.
func DaysOf(s cron.Schedule) *Days {
	if at := filtered(s); at != nil {
		return at.filter
	}
	return nil
}

// NoDay reports whether the filter of the days of s, or of the schedule that it
// wraps, excludes all of its days up to LastYear.
func NoDay(s cron.Schedule) bool {
	at := filtered(s)
	return at != nil && at.filter != nil && at.days == daysNone
}

// filtered returns the schedule that may have a filter: s, or what it wraps; or nil.
func filtered(s cron.Schedule) *Schedule {
	for at := range layers(s) {
		switch at := at.(type) {
		case *Schedule:
			return at
		case *dated:
			return at.minutes
		}
	}
	return nil
}

// At returns a schedule that occurs once, at t. It is fixed-time.
func At(t time.Time) cron.Schedule { return &once{at: t} }

type once struct{ at time.Time }

func (o *once) Next(t time.Time) time.Time {
	if o.at.After(t) {
		return occurrence(o.at.In(t.Location()))
	}
	return time.Time{}
}

func (o *once) String() string { return "at=" + o.at.UTC().Format(time.RFC3339) }

// periodic is the schedule of an entry of anacrontab. It occurs each midnight,
// when the daemon checks whether the period is over.
type periodic struct {
	inner  *Schedule
	period *Period
}

// NewPeriodic returns the schedule of an entry with a period.
func NewPeriodic(p *Period, zone *Zone) cron.Schedule {
	daily, _, _, _ := ParseNickname("@daily", 0, nil)
	return &periodic{inner: daily.Schedule("@daily", zone), period: p}
}

// PeriodOf returns the period of a schedule of NewPeriodic, or nil for other schedules.
func PeriodOf(s cron.Schedule) *Period {
	if p, ok := s.(*periodic); ok {
		return p.period
	}
	return nil
}

func (p *periodic) Next(t time.Time) time.Time { return p.inner.Next(t) }
func (p *periodic) Unwrap() cron.Schedule      { return p.inner }

// String omits delay and hours: they do not change the occurrences.
func (p *periodic) String() string {
	switch {
	case p.period.Month:
		return "period=month"
	case p.period.Year:
		return "period=year"
	}
	return fmt.Sprintf("period=%dd", p.period.Days)
}

// Seconds returns a schedule that occurs at the seconds of mask (bit 0 to bit 59)
// after each occurrence of s, which is second 0.
func Seconds(s cron.Schedule, mask uint64) cron.Schedule {
	return &seconds{inner: s, mask: mask & (1<<60 - 1)}
}

type seconds struct {
	inner cron.Schedule
	mask  uint64
}

func (s *seconds) Next(t time.Time) time.Time {
	if s.mask == 0 {
		return time.Time{}
	}
	return earliest(s.inner, t, 59*time.Second, func(o time.Time) time.Time {
		passed := t.Sub(o)
		later := s.mask
		if passed >= 0 {
			later &^= 2<<(passed/time.Second) - 1
		}
		if later == 0 {
			return time.Time{}
		}
		return o.Add(time.Duration(bits.TrailingZeros64(later)) * time.Second)
	})
}

func (s *seconds) Unwrap() cron.Schedule { return s.inner }
func (s *seconds) String() string        { return fmt.Sprintf("%v sec=%s", s.inner, maskText(s.mask)) }

// Jitter delays each occurrence of s by a random number of whole seconds from 0
// to limit. seed and the occurrence determine the delay, so it is always the
// same. Jitter lowers limit to MaxJitter, so that Next checks only few
// occurrences of s.
func Jitter(s cron.Schedule, limit time.Duration, seed uint64) cron.Schedule {
	return &jitter{inner: s, limit: max(0, min(limit, MaxJitter(s))), seed: seed}
}

// MaxJitter returns the highest limit of Jitter for s.
func MaxJitter(s cron.Schedule) time.Duration {
	if apart := Spacing(s); apart > 0 {
		return max(0, apart-time.Second)
	}
	return MaxDuration
}

type jitter struct {
	inner cron.Schedule
	limit time.Duration
	seed  uint64
}

func (j *jitter) Next(t time.Time) time.Time {
	return earliest(j.inner, t, j.limit, func(o time.Time) time.Time {
		delay := hash(j.seed, uint64(o.Unix())) % uint64(j.limit/time.Second+1)
		if delayed := o.Add(time.Duration(delay) * time.Second); delayed.After(t) {
			return occurrence(delayed)
		}
		return time.Time{}
	})
}

func (j *jitter) Unwrap() cron.Schedule { return j.inner }
func (j *jitter) String() string        { return fmt.Sprintf("%v jitter=%s", j.inner, DurationText(j.limit)) }

// earliest returns the first instant after t that move returns for an occurrence
// of s. move delays an occurrence by at most limit, and returns the zero Time if
// the result is not after t, which can happen only for occurrences up to t.
func earliest(s cron.Schedule, t time.Time, limit time.Duration, move func(time.Time) time.Time) time.Time {
	var first time.Time
	for o := s.Next(t.Add(-limit)); !o.IsZero(); o = s.Next(o) {
		if !first.IsZero() && !o.Before(first) {
			break
		}
		if moved := move(o); !moved.IsZero() && (first.IsZero() || moved.Before(first)) {
			first = moved
		}
	}
	return first
}

// Spread delays each occurrence of s by delay, which is at most MaxDuration.
func Spread(s cron.Schedule, delay time.Duration) cron.Schedule {
	return &spread{inner: s, delay: min(delay, MaxDuration)}
}

type spread struct {
	inner cron.Schedule
	delay time.Duration
}

func (s *spread) Next(t time.Time) time.Time {
	next := s.inner.Next(t.Add(-s.delay))
	if next.IsZero() {
		return next
	}
	return occurrence(next.Add(s.delay))
}

func (s *spread) Unwrap() cron.Schedule { return s.inner }
func (s *spread) String() string        { return fmt.Sprintf("%v spread=%s", s.inner, DurationText(s.delay)) }

// Between keeps the occurrences of s from from to until, both included, as in
// RFC 5545. A zero Time means no limit.
func Between(s cron.Schedule, from, until time.Time) cron.Schedule {
	return &between{inner: s, from: from, until: until}
}

type between struct {
	inner       cron.Schedule
	from, until time.Time
}

func (b *between) Next(t time.Time) time.Time {
	if just := b.from.Add(-time.Nanosecond); !b.from.IsZero() && t.Before(just) {
		t = just.In(t.Location())
	}
	next := b.inner.Next(t)
	if !b.until.IsZero() && next.After(b.until) {
		return time.Time{}
	}
	return next
}

func (b *between) Unwrap() cron.Schedule { return b.inner }

func (b *between) String() string {
	text := fmt.Sprint(b.inner)
	if !b.from.IsZero() {
		text += " from=" + b.from.UTC().Format(time.RFC3339)
	}
	if !b.until.IsZero() {
		text += " until=" + b.until.UTC().Format(time.RFC3339)
	}
	return text
}

// MaxCount is the highest n of Count, because Count computes all of these
// occurrences for each entry that is parsed.
const MaxCount = 1000

// Count keeps the first n occurrences of s at or after from; n is at most
// MaxCount.
func Count(s cron.Schedule, from time.Time, n int) cron.Schedule {
	c := &count{inner: s, from: from, n: min(n, MaxCount)}
	at := from.Add(-time.Nanosecond)
	for range c.n {
		if at = s.Next(at); at.IsZero() {
			break
		}
		c.last = at
	}
	return c
}

type count struct {
	inner cron.Schedule
	from  time.Time
	last  time.Time // zero when there is none
	n     int
}

func (c *count) Next(t time.Time) time.Time {
	if just := c.from.Add(-time.Nanosecond); t.Before(just) {
		t = just.In(t.Location())
	}
	next := c.inner.Next(t)
	if next.After(c.last) {
		return time.Time{}
	}
	return next
}

func (c *count) Unwrap() cron.Schedule { return c.inner }

func (c *count) String() string {
	return fmt.Sprintf("%v from=%s count=%d", c.inner, c.from.UTC().Format(time.RFC3339), c.n)
}

// DurationText formats d in the syntax of options: 90s, 1h30m, 2d.
func DurationText(d time.Duration) string {
	text := ""
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}} {
		if n := d / unit.size; n > 0 {
			text += fmt.Sprintf("%d%s", n, unit.name)
			d -= n * unit.size
		}
	}
	if text == "" {
		return "0s"
	}
	return text
}

// maskText lists the bits of mask: 0,10,20.
func maskText(mask uint64) string {
	text := ""
	for ; mask != 0; mask &= mask - 1 {
		text += fmt.Sprintf(",%d", bits.TrailingZeros64(mask))
	}
	if text == "" {
		return "none"
	}
	return text[1:]
}

package engine

import (
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/job"
)

// Limits of cron's own catch-up rule: Debian's cron and cronie catch up what they missed
// within 5 minutes, entries with fixed times within 3 hours.
const (
	cronLimit      = 5 * time.Minute
	cronLimitFixed = 180 * time.Minute
)

// Limits of the work after a long absence. The newest keepMissed occurrences of a
// schedule are listed, unless they are older than lookBack. Older ones are skipped
// together, and their count may be too low. Of the listed ones, the newest
// timetable.MaxMissed at most are on time, however long grace= is.
const (
	lookBack   = 366 * 24 * time.Hour
	keepMissed = 10_000
)

// occurrences are the due times of one schedule that wait for a decision.
type occurrences struct {
	first time.Time   // the oldest, as far as it is known
	older int         // number of occurrences before list[0], at least
	list  []time.Time // the newest, in order
	asked int         // how often the schedule was called
}

// occurrencesBetween lists the occurrences of s after mark, up to now.
func occurrencesBetween(s cron.Schedule, mark, now time.Time) occurrences {
	o := occurrences{asked: 1}
	first := nextAfter(s, mark)
	if first.IsZero() || first.After(now) {
		return o
	}
	o.first = first.UTC()
	from := first.Add(-1)
	if horizon := now.Add(-lookBack); from.Before(horizon) {
		o.older, from = 1, horizon
	}
	all := o.walk(s, from, now)
	if all {
		return o
	}
	// There are too many to walk over. Find a range up to now that contains between one
	// and two times keepMissed of them.
	known, low, high := len(o.list), from, now
	middle := now.Add(o.list[0].Sub(o.last()) * 3 / 4) // right if they are evenly spread
	for high.Sub(low) > time.Second {
		switch all = o.walk(s, middle, now); {
		case !all:
			low = middle
		case len(o.list) < keepMissed:
			high = middle
		default:
			low = high
		}
		middle = low.Add(high.Sub(low) / 2)
	}
	if !all {
		o.walk(s, high, now)
	}
	o.older = max(1, known-len(o.list))
	return o
}

// walk lists the occurrences of s after from, up to now. It stops at twice keepMissed
// occurrences and then reports false.
func (o *occurrences) walk(s cron.Schedule, from, now time.Time) (all bool) {
	o.list = o.list[:0]
	for t := nextAfter(s, from); !t.IsZero() && !t.After(now); t = nextAfter(s, t) {
		if len(o.list) == 2*keepMissed {
			o.asked += len(o.list)
			return false
		}
		o.list = append(o.list, t.UTC())
	}
	o.asked += len(o.list)
	return true
}

func (o occurrences) empty() bool { return len(o.list) == 0 && o.older == 0 }

// last is the newest occurrence.
func (o occurrences) last() time.Time {
	if len(o.list) == 0 {
		return o.first
	}
	return o.list[len(o.list)-1]
}

// plan divides occurrences, oldest first: list[:tooLate] are past their deadline,
// list[tooLate:missed] are skipped for reason, list[missed:onTime] are caught up,
// list[onTime:] are on time.
type plan struct {
	tooLate, missed, onTime int
	reason                  job.Reason
}

// catchup applies grace=, deadline= and catchup= to occurrences in order. All occurrences
// that it does not skip start at the same moment. Therefore only the newest starts,
// unless catchup=all.
func catchup(o *option.Options, fixed bool, list []time.Time, now time.Time) plan {
	p := plan{
		tooLate: 0,
		onTime:  max(firstWithin(list, now, o.Grace), len(list)-timetable.MaxMissed),
	}
	if o.Deadline > 0 {
		p.tooLate = firstWithin(list, now, o.Deadline)
		p.onTime = max(p.onTime, p.tooLate)
	}
	keep := 0
	switch o.Catchup {
	case option.CatchupCron:
		limit := cronLimit
		if fixed {
			limit = cronLimitFixed
		}
		p.reason = job.Late
		if p.onTime > firstWithin(list, now, limit) {
			keep, p.reason = 1, job.Superseded
		}
	case option.CatchupSkip:
		p.reason = job.Late
	case option.CatchupOnce:
		keep, p.reason = 1, job.Superseded
	case option.CatchupAll:
		keep, p.reason = o.MaxMade, job.OverLimit
	}
	p.missed = max(p.tooLate, p.onTime-keep)
	if newest := len(list) - 1; p.missed < newest && o.Catchup != option.CatchupAll {
		p.missed, p.onTime, p.reason = newest, max(p.onTime, newest), job.Superseded
	}
	return p
}

// firstWithin returns the index of the first instant no older than d.
func firstWithin(list []time.Time, now time.Time, d time.Duration) int {
	limit := now.Add(-d)
	i := len(list)
	for i > 0 && !list[i-1].Before(limit) {
		i--
	}
	return i
}

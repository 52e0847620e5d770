package engine

import (
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// Limits of cron's own catch-up rule: Debian's cron and cronie make up what
// they missed by up to 5 minutes, entries with fixed times by up to 3 hours.
const (
	cronLimit      = 5 * time.Minute
	cronLimitFixed = 180 * time.Minute
)

// Bounds on the work after a long absence. Occurrences older than lookBack
// are skipped without being counted; of the others the newest keepMissed are
// held one by one.
const (
	lookBack   = 366 * 24 * time.Hour
	keepMissed = 100_000
)

// occurrences are the instants of one schedule that wait for a decision.
type occurrences struct {
	first time.Time   // the oldest, or what is known of it
	older int         // how many there are before list[0]
	list  []time.Time // the newest, in order
}

// occurrencesBetween lists what s names after mark, up to now.
func occurrencesBetween(s cron.Schedule, mark, now time.Time) occurrences {
	var o occurrences
	t := s.Next(mark)
	if t.IsZero() || t.After(now) {
		return o
	}
	o.first = t.UTC()
	if horizon := now.Add(-lookBack); t.Before(horizon) {
		o.older++
		t = s.Next(horizon)
	}
	for ; !t.IsZero() && !t.After(now); t = s.Next(t) {
		if len(o.list) == 2*keepMissed {
			o.older += keepMissed
			o.list = append(o.list[:0], o.list[keepMissed:]...)
		}
		o.list = append(o.list, t.UTC())
	}
	return o
}

func (o occurrences) empty() bool { return len(o.list) == 0 && o.older == 0 }

// last is the newest occurrence.
func (o occurrences) last() time.Time {
	if len(o.list) == 0 {
		return o.first
	}
	return o.list[len(o.list)-1]
}

// plan says what becomes of occurrences, oldest first: list[:tooLate] are
// past their deadline, list[tooLate:missed] are skipped for reason,
// list[missed:onTime] are made up, list[onTime:] are on time.
type plan struct {
	tooLate, missed, onTime int
	reason                  job.Reason
}

// catchup applies grace=, deadline= and catchup= to occurrences in order.
func catchup(o *crontab.Options, fixed bool, list []time.Time, now time.Time) plan {
	p := plan{
		tooLate: 0,
		onTime:  firstWithin(list, now, o.Grace),
	}
	if o.Deadline > 0 {
		p.tooLate = firstWithin(list, now, o.Deadline)
		p.onTime = max(p.onTime, p.tooLate)
	}
	keep := 0
	switch o.Catchup {
	case crontab.CatchupCron:
		limit := cronLimit
		if fixed {
			limit = cronLimitFixed
		}
		p.reason = job.Late
		if p.onTime > firstWithin(list, now, limit) {
			keep, p.reason = 1, job.Superseded
		}
	case crontab.CatchupSkip:
		p.reason = job.Late
	case crontab.CatchupOnce:
		keep, p.reason = 1, job.Superseded
	case crontab.CatchupAll:
		keep, p.reason = o.MaxMade, job.OverLimit
	}
	p.missed = max(p.tooLate, p.onTime-keep)
	return p
}

// firstWithin is the index of the first instant no older than d.
func firstWithin(list []time.Time, now time.Time, d time.Duration) int {
	limit := now.Add(-d)
	i := len(list)
	for i > 0 && !list[i-1].Before(limit) {
		i--
	}
	return i
}

package agenda

import (
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
)

// Limits of cron's own catch-up rule: Debian's cron and cronie catch up what they missed
// within 5 minutes, entries with fixed times within 3 hours.
const (
	cronLimit      = 5 * time.Minute
	cronLimitFixed = 180 * time.Minute
)

// CronLimit returns how late an occurrence can be for cron's own catch-up rule.
func CronLimit(fixed bool) time.Duration {
	if fixed {
		return cronLimitFixed
	}
	return cronLimit
}

// Plan divides occurrences, oldest first: List[:TooLate] are past their deadline,
// List[TooLate:Missed] are skipped for Reason, List[Missed:OnTime] are caught up,
// List[OnTime:] are on time.
type Plan struct {
	TooLate, Missed, OnTime int
	Reason                  job.Reason
}

// Catchup applies grace=, deadline= and catchup= to occurrences in order. All occurrences
// that it does not skip start at the same moment. Therefore only the newest starts,
// unless catchup=all; an entry with a period always starts once.
func Catchup(o *option.Options, fixed bool, list []time.Time, now time.Time) Plan {
	p := Plan{
		TooLate: 0,
		OnTime:  max(firstWithin(list, now, o.Grace), len(list)-timetable.MaxMissed),
	}
	if o.Deadline > 0 {
		p.TooLate = firstWithin(list, now, o.Deadline)
		p.OnTime = max(p.OnTime, p.TooLate)
	}
	keep := 0
	switch o.Catchup {
	case option.CatchupCron:
		p.Reason = job.Late
		if p.OnTime > firstWithin(list, now, CronLimit(fixed)) {
			keep, p.Reason = 1, job.Superseded
		}
	case option.CatchupSkip:
		p.Reason = job.Late
	case option.CatchupOnce:
		keep, p.Reason = 1, job.Superseded
	case option.CatchupAll:
		keep, p.Reason = o.MaxMade, job.OverLimit
	}
	p.Missed = max(p.TooLate, p.OnTime-keep)
	if newest := len(list) - 1; p.Missed < newest && (o.Catchup != option.CatchupAll || o.Period != nil) {
		p.Missed, p.OnTime, p.Reason = newest, max(p.OnTime, newest), job.Superseded
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

// LeftOut returns the occurrences that the plan skips. The first stretch includes the
// older ones that are not listed.
func LeftOut(due Occurrences, p Plan) (all []exchange.Skip) {
	first, count := due.First, due.Older
	pass := func(list []time.Time, reason job.Reason) {
		count += len(list)
		if count == 0 {
			return
		}
		last := due.First
		if len(list) > 0 {
			last = list[len(list)-1]
			if count == len(list) {
				first = list[0]
			}
		}
		all = append(all, exchange.Skip{First: first, Due: last, Count: count, Reason: reason})
		count = 0
	}
	if p.TooLate > 0 {
		pass(due.List[:p.TooLate], job.PastDeadline)
	}
	pass(due.List[p.TooLate:p.Missed], p.Reason)
	return all
}

package agenda

import (
	"time"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/job"
)

// RanOn reports whether a job already ran in the period of today, and on which day.
func RanOn(stamps map[string]timetable.Day, p *timetable.Period, today timetable.Day) (day job.Detail, ran bool) {
	stamp, known := stamps[p.ID]
	if !known || p.Due(stamp, today) {
		return "", false
	}
	return job.DetailDay(stamp.String()), true
}

// StartOf returns when a run that is found due now may start. As in anacron, the hours do
// not apply to a job that never ran.
func StartOf(stamps map[string]timetable.Day, p *timetable.Period, now time.Time, zone *time.Location) time.Time {
	if _, known := stamps[p.ID]; !known {
		return now.Add(p.Delay)
	}
	return p.Start(now, zone)
}

package agenda

import (
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab/timetable"
)

// If the clock is set back by less than SmallStep, nothing happens: marks stay and
// nothing repeats. If it is set back by Correction or more, all entries follow the new
// time. In between, as in cron, entries follow the clock if their minute or hour is a
// star; other entries do not run until the old time has passed.
const (
	SmallStep  = time.Minute
	Correction = 180 * time.Minute
)

// AfterSetBack returns the mark of a job after the clock was set back to now.
func AfterSetBack(s cron.Schedule, mark, now int64, by time.Duration) int64 {
	if mark <= now || by < SmallStep || by < Correction && timetable.FixedTime(s) {
		return mark
	}
	return now
}

package agenda

import (
	"slices"
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

// Ahead has the marks of all jobs as they were when the clock was set back. Occurrences up to a mark that are to
// come once more do not run again, so views announce none of them.
type Ahead struct {
	marks []int64 // never changed
	last  int64   // the latest of them
}

// AheadOf returns the marks if one of them is still to come.
func AheadOf(marks []int64, now time.Time) Ahead {
	last := now.UnixNano()
	for _, mark := range marks {
		last = max(last, mark)
	}
	if last == now.UnixNano() {
		return Ahead{}
	}
	return Ahead{slices.Clone(marks), last}
}

// Marks returns the marks for a view, or nil if all have passed.
func (a Ahead) Marks(now time.Time) []int64 {
	if a.last <= now.UnixNano() {
		return nil
	}
	return a.marks
}

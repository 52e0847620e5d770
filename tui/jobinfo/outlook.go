package jobinfo

import (
	"fmt"
	"time"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/api"
)

// outlook is the coming runs of a job.
type outlook struct {
	Runs    []time.Time
	Changes []clockChange // the next two of the clocks
}

// clockChange is the effect of a clock change on a schedule.
type clockChange struct {
	before, after time.Time // what clocks show
	effect        string
}

// Text returns the change, with its day in a layout.
func (c clockChange) Text(day string) string {
	return fmt.Sprintf("%s %s -> %s: %s", c.before.Format(day), c.before.Format("15:04"), c.after.Format("15:04"), c.effect)
}

// maxOutlook limits the coming occurrences.
const maxOutlook = 40

// newOutlook reads the schedule of a job as the daemon does, to see further than
// the few occurrences that it sent. If both do not agree (as the fields leave a
// choice to the host, or an option does more than the fields say), only what the
// daemon sent counts.
func newOutlook(j *api.Job, now time.Time, loc *time.Location) outlook {
	o := outlook{Runs: j.Upcoming}
	zone := timetable.NewZone(loc)
	spec, s := ReadSchedule(j, zone)
	if s == nil || len(j.Upcoming) == 0 || Delayed(j) {
		return o
	}
	runs := make([]time.Time, 0, maxOutlook)
	for t := s.Next(j.Upcoming[0].Add(-1)); !t.IsZero() && len(runs) < maxOutlook; t = s.Next(t) {
		runs = append(runs, t)
	}
	o.Runs = runs
	for _, c := range zone.Coming(now, 2) {
		o.Changes = append(o.Changes, clockChange{timetable.Wall(c.At, c.Before), timetable.Wall(c.At, c.After), c.Effect(spec, s)})
	}
	return o
}

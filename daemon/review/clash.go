package review

import (
	"cmp"
	"slices"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/job"
)

// Clash is a minute with starts of a job and of other jobs.
type Clash struct {
	At   time.Time `json:"at"`
	Jobs []job.ID  `json:"jobs"`           // jobs with the fewest starts first
	More int       `json:"more,omitempty"` // jobs that are not listed
}

const (
	clashNames = 5
	mostStarts = 5_000_000 // maximum number of starts to examine; further schedules are ignored
)

// FindClashes finds, for each job that is added or gets another schedule, the minute between from
// and end with the most starts of other jobs. The other jobs are all jobs of versions, which must
// include the new version. FindClashes ignores minutes of the old schedule, and jobs that start in
// every minute, because no schedule avoids them.
func FindClashes(found []Difference, from, end time.Time, versions ...Version) {
	own := map[int64]int{} // the minutes of the found jobs, and the number of other jobs that start in each
	minutes := make([][]int64, len(found))
	for i, d := range found {
		if d.New != nil && (d.Old == nil || slices.Contains(d.Changed, Schedule)) {
			minutes[i] = d.newMinutes(from, end)
		}
		if len(minutes[i]) >= int(end.Sub(from)/time.Minute) { // the job starts in every minute and clashes with all others
			minutes[i] = nil
		}
		for _, m := range minutes[i] {
			own[m] = 0
		}
	}
	groups := gather(versions)
	left := mostStarts
	groups = slices.DeleteFunc(groups, func(g *group) bool { return !g.count(own, from, end, &left) })
	slices.SortStableFunc(groups, func(a, b *group) int { return cmp.Compare(a.starts, b.starts) })
	for i := range found {
		found[i].Clash = fullest(groups, own, minutes[i], found[i].Job)
	}
}

// newMinutes returns the minutes in which the new schedule has a start and the old one does not.
func (d *Difference) newMinutes(from, end time.Time) (minutes []int64) {
	const most = 50_000
	for t := d.New.schedule.Next(from.Add(-1)); !t.IsZero() && t.Before(end) && len(minutes) < most; {
		begin := t.Truncate(time.Minute)
		if d.Old == nil || !startsIn(d.Old.schedule, begin) {
			minutes = append(minutes, begin.Unix())
		}
		t = d.New.schedule.Next(begin.Add(time.Minute - 1))
	}
	return minutes
}

// startsIn reports whether a schedule has a start in the minute that begins at begin.
func startsIn(s cron.Schedule, begin time.Time) bool {
	t := s.Next(begin.Add(-1))
	return !t.IsZero() && t.Before(begin.Add(time.Minute))
}

// group is a set of jobs that start at the same times.
type group struct {
	schedule cron.Schedule
	jobs     []job.ID
	starts   int // number of minutes with a start
}

func gather(versions []Version) (groups []*group) {
	bySchedule := map[cron.Schedule]*group{}
	for _, v := range versions {
		for i := range v.view.Len() {
			s := v.view.Entry(i).Schedule
			if timetable.IsTimeless(s) || !v.view.Planned(i) {
				continue
			}
			g := bySchedule[s]
			if g == nil {
				g = &group{schedule: s}
				bySchedule[s] = g
				groups = append(groups, g)
			}
			g.jobs = append(g.jobs, v.view.ID(i))
		}
	}
	return groups
}

// count adds the jobs to the minutes in own. It returns false for jobs that start in every minute,
// which do not count.
func (g *group) count(own map[int64]int, from, end time.Time, left *int) bool {
	var hit []int64
	for t := g.schedule.Next(from.Add(-1)); !t.IsZero() && t.Before(end); {
		if *left--; *left < 0 {
			return false
		}
		begin := t.Truncate(time.Minute)
		if g.starts++; hasKey(own, begin.Unix()) {
			hit = append(hit, begin.Unix())
		}
		t = g.schedule.Next(begin.Add(time.Minute - 1))
	}
	if g.starts >= int(end.Sub(from)/time.Minute) {
		return false
	}
	for _, m := range hit {
		own[m] += len(g.jobs)
	}
	return true
}

func hasKey(own map[int64]int, m int64) bool {
	_, ok := own[m]
	return ok
}

// fullest returns the first of the minutes with the most starts of jobs other than id.
func fullest(groups []*group, own map[int64]int, minutes []int64, id job.ID) *Clash {
	if len(minutes) == 0 {
		return nil
	}
	best := slices.MaxFunc(minutes, func(a, b int64) int { return cmp.Compare(own[a], own[b]) })
	c := &Clash{At: time.Unix(best, 0).UTC()}
	for _, g := range groups {
		if !startsIn(g.schedule, c.At) {
			continue
		}
		for _, other := range g.jobs {
			switch {
			case other == id:
			case len(c.Jobs) < clashNames:
				c.Jobs = append(c.Jobs, other)
			default:
				c.More++
			}
		}
	}
	if len(c.Jobs) == 0 {
		return nil
	}
	return c
}

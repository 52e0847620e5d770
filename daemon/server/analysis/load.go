package analysis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
)

// load counts the scheduled starts of jobs in each minute of a period. Jobs with the same schedule
// are counted together: a hundred thousand jobs have few schedules.
type load struct {
	from   time.Time // a full minute
	counts []int     // by minute
	groups []*sameTimes
}

// sameTimes is jobs that start at the same times.
type sameTimes struct {
	schedule cron.Schedule
	resume   time.Time // they are paused until then
	jobs     []int     // by their numbers in the view
}

// starts is the planned starts of a job as a schedule.
type starts struct {
	view *view.View
	job  int
}

func (s starts) Next(t time.Time) time.Time { return s.view.Next(s.job, t) }

// mostStarts is the maximum number of occurrences for one load. Beyond it the last schedules are
// omitted, which fire each second.
const mostStarts = 5_000_000

// newLoad counts the starts of jobs from (inclusive) to (exclusive), both full
// minutes.
func newLoad(ctx context.Context, v *view.View, jobs []int, from, to time.Time) (*load, error) {
	l := &load{from: from, counts: make([]int, int(to.Sub(from)/time.Minute))}
	l.gather(v, jobs)
	left := mostStarts
	for _, g := range l.groups {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for t := g.next(from.Add(-1)); !t.IsZero() && t.Before(to) && left > 0; t = g.schedule.Next(t) {
			if left%1024 == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			l.counts[int(t.Sub(from)/time.Minute)] += len(g.jobs)
			left--
		}
	}
	return l, nil
}

func (l *load) gather(v *view.View, jobs []int) {
	paused := map[job.ID]bool{}
	for _, id := range v.Marked() {
		paused[id] = true
	}
	shared := map[cron.Schedule]*sameTimes{}
	for _, i := range jobs {
		if !v.Planned(i) {
			continue
		}
		s := v.Entry(i).Schedule
		if timetable.PeriodOf(s) != nil { // its times are checks, few of which start a run
			l.groups = append(l.groups, &sameTimes{schedule: starts{v, i}, jobs: []int{i}})
			continue
		}
		if len(paused) > 0 && paused[v.ID(i)] {
			if h := v.Hold(i); h != nil {
				if !h.Until.IsZero() {
					l.groups = append(l.groups, &sameTimes{s, h.Until, []int{i}})
				}
				continue
			}
		}
		g, ok := shared[s]
		if !ok {
			g = &sameTimes{schedule: s}
			shared[s] = g
			l.groups = append(l.groups, g)
		}
		g.jobs = append(g.jobs, i)
	}
}

// next is the first start after an instant.
func (g *sameTimes) next(t time.Time) time.Time {
	if g.resume.After(t) {
		t = g.resume.Add(-1)
	}
	return g.schedule.Next(t)
}

// minute returns the index of a minute in the counts.
func (l *load) minute(t time.Time) int { return int(t.Sub(l.from) / time.Minute) }

func (l *load) at(minute int) time.Time { return l.from.Add(time.Duration(minute) * time.Minute) }

// busiest is the first minute with the most starts of some minutes, -1 if there
// are none.
func (l *load) busiest(from, to int) int {
	best := -1
	for m := max(0, from); m < min(to, len(l.counts)); m++ {
		if l.counts[m] > 0 && (best < 0 || l.counts[m] > l.counts[best]) {
			best = m
		}
	}
	return best
}

// quietNear is the minute with the fewest starts within half an hour of one, the
// nearest of several.
func (l *load) quietNear(minute int) time.Time {
	const reach = 30
	best := minute
	for d := 1; d <= reach; d++ {
		for _, m := range []int{minute + d, minute - d} {
			if m >= 0 && m < len(l.counts) && l.counts[m] < l.counts[best] {
				best = m
			}
		}
	}
	return l.at(best)
}

// starting returns the names of jobs that start in a minute, at most most.
func (l *load) starting(v *view.View, minute, most int) []job.ID {
	begin := l.at(minute)
	names := []job.ID{}
	for _, g := range l.groups {
		if t := g.next(begin.Add(-1)); t.IsZero() || !t.Before(begin.Add(time.Minute)) {
			continue
		}
		for _, i := range g.jobs {
			if len(names) == most {
				break
			}
			names = append(names, v.ID(i))
		}
	}
	slices.Sort(names)
	return names
}

// atLeast returns the minutes with n starts or more, the fullest first.
func (l *load) atLeast(n int) []int {
	var full []int
	for m, count := range l.counts {
		if count >= n {
			full = append(full, m)
		}
	}
	slices.SortStableFunc(full, func(a, b int) int { return cmp.Compare(l.counts[b], l.counts[a]) })
	return full
}

// suggest is the time for a new job that is due each hour or each day: the
// minute whose fullest occurrence has the fewest starts, with the calmest
// neighbours.
func (l *load) suggest(kind string, zone *time.Location) *api.Slot {
	names := 60
	if kind == "daily" {
		names = 24 * 60
	}
	fullest, around := make([]int, names), make([]int, names)
	for m, count := range l.counts {
		wall := l.at(m).In(zone)
		name := (wall.Hour()*60 + wall.Minute()) % names
		fullest[name] = max(fullest[name], count)
	}
	const reach = 5
	for name := range around {
		for d := -reach; d <= reach; d++ {
			around[name] += fullest[(name+d+names)%names] * (reach + 1 - max(d, -d))
		}
	}
	best, worst := 0, 0
	for name := range fullest {
		if cmp.Or(cmp.Compare(fullest[name], fullest[best]), cmp.Compare(around[name], around[best])) < 0 {
			best = name
		}
		worst = max(worst, fullest[name])
	}
	slot := &api.Slot{Schedule: fmt.Sprintf("%d * * * *", best), Starts: fullest[best], Busiest: worst}
	if kind == "daily" {
		slot.Schedule = fmt.Sprintf("%d %d * * *", best%60, best/60)
	}
	return slot
}

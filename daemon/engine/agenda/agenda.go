// Package agenda owns the engine's agenda, with the next times of all schedules, the occurrences that
// wait for a decision, and those that catchup=, deadline= and grace= skip.
package agenda

import (
	"container/heap"
	"slices"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/catalog"
)

// Agenda finds the schedule that is due next. It contains schedules, not jobs: entries
// with the same times in the same zone share one schedule value and fire together, so a
// tick costs nothing for schedules that are not due.
type Agenda struct {
	groups []group
	order  []int // indexes into groups, soonest first; groups that never fire are not in it
	faulty []int // see TakeFaulty
}

// group is the jobs of one schedule.
type group struct {
	catalog.Group
	next int64 // Unix nanoseconds
}

// Next returns the first occurrence of s after t, or the zero Time. If the schedule
// returns an instant that is not after t, or outside the supported years, there is no
// occurrence. A loop over occurrences therefore always ends.
func Next(s cron.Schedule, t time.Time) time.Time {
	if next := s.Next(t); isOccurrence(next, t) {
		return next
	}
	return time.Time{}
}

func isOccurrence(next, after time.Time) bool { return next.After(after) && timetable.InRange(next) }

// New returns the agenda of groups, with the next time of each after now.
func New(groups []catalog.Group, now time.Time) Agenda {
	a := Agenda{groups: make([]group, len(groups)), order: make([]int, 0, len(groups))}
	for i, g := range groups {
		a.groups[i].Group = g
	}
	a.Reset(now)
	return a
}

// Reset computes the next time of every group again after the clock was set back.
func (a *Agenda) Reset(now time.Time) {
	a.order, a.faulty = a.order[:0], nil
	for i := range a.groups {
		if a.plan(i, now) {
			a.order = append(a.order, i)
		}
	}
	heap.Init(a)
}

// plan sets when a group fires next after now. It reports false if the group never fires.
// If now itself is outside the supported years, an occurrence there is not a fault of the
// schedule.
func (a *Agenda) plan(i int, now time.Time) bool {
	g := &a.groups[i]
	next := g.Schedule.Next(now)
	switch {
	case next.IsZero():
		return false
	case !isOccurrence(next, now):
		if timetable.InRange(now) {
			a.faulty = append(a.faulty, i)
		}
		return false
	}
	g.next = next.UnixNano()
	return true
}

// TakeFaulty returns the groups whose schedule returned an instant that cannot be its next
// occurrence, once. They never come due again.
func (a *Agenda) TakeFaulty() (groups []int) {
	groups, a.faulty = a.faulty, nil
	return groups
}

// Next returns when the soonest group fires, or the zero time.
func (a *Agenda) Next() time.Time {
	if len(a.order) == 0 {
		return time.Time{}
	}
	return time.Unix(0, a.groups[a.order[0]].next).UTC()
}

// Due appends to pending the jobs of all groups that fire at now or before, in order, and
// computes the next times of those groups.
func (a *Agenda) Due(now time.Time, pending []int) []int {
	limit, before := now.UnixNano(), len(pending)
	for len(a.order) > 0 && a.groups[a.order[0]].next <= limit {
		pending = append(pending, a.groups[a.order[0]].Jobs...)
		if a.plan(a.order[0], now) {
			heap.Fix(a, 0)
		} else {
			heap.Pop(a)
		}
	}
	if len(pending) > before {
		slices.Sort(pending)
		pending = slices.Compact(pending)
	}
	return pending
}

// Len, Less, Swap, Push and Pop are heap.Interface.
func (a *Agenda) Len() int           { return len(a.order) }
func (a *Agenda) Less(i, j int) bool { return a.groups[a.order[i]].next < a.groups[a.order[j]].next }
func (a *Agenda) Swap(i, j int)      { a.order[i], a.order[j] = a.order[j], a.order[i] }
func (a *Agenda) Push(x any)         { a.order = append(a.order, x.(int)) }
func (a *Agenda) Pop() any {
	last := a.order[len(a.order)-1]
	a.order = a.order[:len(a.order)-1]
	return last
}

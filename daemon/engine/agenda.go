package engine

import (
	"container/heap"
	"slices"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/catalog"
)

// agenda finds the schedule that is due next. It contains schedules, not jobs: entries
// with the same times in the same zone share one schedule value and fire together, so a
// tick costs nothing for schedules that are not due.
type agenda struct {
	groups []group
	heap   []int // indexes into groups, soonest first; groups that never fire are not in it
	faulty []int // faulty groups whose jobs are not held yet; see holdFaulty
}

// group is the jobs of one schedule.
type group struct {
	catalog.Group
	next int64 // Unix nanoseconds
}

// nextAfter returns the first occurrence of s after t, or the zero Time. If the schedule
// returns an instant that is not after t, or outside the supported years, there is no
// occurrence. A loop over occurrences therefore always ends.
func nextAfter(s cron.Schedule, t time.Time) time.Time {
	if next := s.Next(t); isOccurrence(next, t) {
		return next
	}
	return time.Time{}
}

func isOccurrence(next, after time.Time) bool { return next.After(after) && timetable.InRange(next) }

// reset computes the next time of every group again after the clock was set back.
func (a *agenda) reset(now time.Time) {
	a.heap, a.faulty = a.heap[:0], nil
	for i := range a.groups {
		if a.plan(i, now) {
			a.heap = append(a.heap, i)
		}
	}
	heap.Init(a)
}

// plan sets when a group fires next after now. It reports false if the group never fires.
// If now itself is outside the supported years, an occurrence there is not a fault of the
// schedule.
func (a *agenda) plan(i int, now time.Time) bool {
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

// holdFaulty holds the jobs whose schedule returned an instant that cannot be its next
// occurrence. Such a bug in the program would otherwise stop these jobs silently.
func (e *Engine) holdFaulty() {
	if len(e.agenda.faulty) == 0 {
		return
	}
	e.jobs = e.jobs.Hold(e.agenda.faulty, "its schedule does not name a later time as the next one. That is a fault of cronring: report it with the time fields and options of the entry")
	e.agenda.faulty = nil
}

// next returns when the soonest group fires, or the zero time.
func (a *agenda) next() time.Time {
	if len(a.heap) == 0 {
		return time.Time{}
	}
	return time.Unix(0, a.groups[a.heap[0]].next).UTC()
}

// due appends to pending the jobs of all groups that fire at now or before, in order, and
// computes the next times of those groups.
func (a *agenda) due(now time.Time, pending []int) []int {
	limit, before := now.UnixNano(), len(pending)
	for len(a.heap) > 0 && a.groups[a.heap[0]].next <= limit {
		pending = append(pending, a.groups[a.heap[0]].Jobs...)
		if a.plan(a.heap[0], now) {
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
func (a *agenda) Len() int           { return len(a.heap) }
func (a *agenda) Less(i, j int) bool { return a.groups[a.heap[i]].next < a.groups[a.heap[j]].next }
func (a *agenda) Swap(i, j int)      { a.heap[i], a.heap[j] = a.heap[j], a.heap[i] }
func (a *agenda) Push(x any)         { a.heap = append(a.heap, x.(int)) }
func (a *agenda) Pop() any {
	last := a.heap[len(a.heap)-1]
	a.heap = a.heap[:len(a.heap)-1]
	return last
}

package engine

import (
	"container/heap"
	"slices"
	"time"

	"github.com/robfig/cron/v3"
)

// agenda knows which schedule comes due next. It holds schedules, not jobs:
// entries that name the same times in the same zone share one schedule value
// and fire together, so a tick costs nothing for the million that are not due.
type agenda struct {
	groups []group
	heap   []int32 // indexes into groups, soonest first; groups that never fire are not in it
}

// group is the jobs of one schedule.
type group struct {
	schedule cron.Schedule
	spec     uint64 // what names its occurrences; see specHashes
	next     int64  // Unix nanoseconds
	members  []int32
}

// replace fills the agenda with groups that fire after now.
func (a *agenda) replace(groups []group, now time.Time) {
	a.groups = groups
	a.reset(now)
}

// reset plans every group anew: the clock was set back.
func (a *agenda) reset(now time.Time) {
	a.heap = a.heap[:0]
	for i := range a.groups {
		if a.plan(int32(i), now) {
			a.heap = append(a.heap, int32(i))
		}
	}
	heap.Init(a)
}

func (a *agenda) plan(i int32, now time.Time) bool {
	g := &a.groups[i]
	next := g.schedule.Next(now)
	if next.IsZero() {
		return false
	}
	g.next = next.UnixNano()
	return true
}

// next is when the soonest group fires, or the zero time.
func (a *agenda) next() time.Time {
	if len(a.heap) == 0 {
		return time.Time{}
	}
	return time.Unix(0, a.groups[a.heap[0]].next).UTC()
}

// due appends to pending the members of all groups that fire at now or
// before, in table order, and plans those groups anew.
func (a *agenda) due(now time.Time, pending []int32) []int32 {
	limit, before := now.UnixNano(), len(pending)
	for len(a.heap) > 0 && a.groups[a.heap[0]].next <= limit {
		pending = append(pending, a.groups[a.heap[0]].members...)
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
func (a *agenda) Push(x any)         { a.heap = append(a.heap, x.(int32)) }
func (a *agenda) Pop() any {
	last := a.heap[len(a.heap)-1]
	a.heap = a.heap[:len(a.heap)-1]
	return last
}

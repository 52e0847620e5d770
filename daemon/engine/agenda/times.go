package agenda

import (
	"container/heap"
	"slices"
	"time"
)

// DelayStep is the unit of the due times of delay=.
const DelayStep = 100 * time.Millisecond

// InSteps returns the multiple of DelayStep at a time of the wall clock that was computed
// from a time since boot. The two clocks are not read at the same instant, so the multiple
// can appear to be a little later.
func InSteps(t time.Time) time.Time { return t.Add(time.Millisecond).Truncate(DelayStep) }

// Times finds the soonest of the times of some jobs. Each job has one time or none. Times
// are nanoseconds of a clock that the caller chooses.
type Times struct {
	slots []int   // the jobs, in order
	times []int64 // by job: its time
	known []bool  // by job: whether it has one
	order []int   // heap of indexes into slots, soonest first
	where []int   // by job: its index in order, or -1
}

// NewTimes returns the times of jobs, none of which has one. slots is in order.
func NewTimes(slots []int) *Times {
	n := len(slots)
	t := &Times{slots: slots, times: make([]int64, n), known: make([]bool, n), where: make([]int, n)}
	for i := range t.where {
		t.where[i] = -1
	}
	return t
}

// At returns the time of a job. ok is false if the job has none, or is not among the jobs.
func (t *Times) At(slot int) (at int64, ok bool) {
	i, found := slices.BinarySearch(t.slots, slot)
	if !found || !t.known[i] {
		return 0, false
	}
	return t.times[i], true
}

// Copy returns a copy on which only At may be called.
func (t *Times) Copy() *Times {
	return &Times{slots: t.slots, times: slices.Clone(t.times), known: slices.Clone(t.known)}
}

// Set sets the time of a job, if it is among the jobs.
func (t *Times) Set(slot int, at int64) {
	i, found := slices.BinarySearch(t.slots, slot)
	if !found {
		return
	}
	t.times[i], t.known[i] = at, true
	if t.where[i] >= 0 {
		heap.Fix(t, t.where[i])
	} else {
		heap.Push(t, i)
	}
}

// Clear removes the time of a job.
func (t *Times) Clear(slot int) {
	i, found := slices.BinarySearch(t.slots, slot)
	if !found {
		return
	}
	t.known[i] = false
	if t.where[i] >= 0 {
		heap.Remove(t, t.where[i])
	}
}

// First returns the soonest time that Due has not returned.
func (t *Times) First() (at int64, ok bool) {
	if len(t.order) == 0 {
		return 0, false
	}
	return t.times[t.order[0]], true
}

// Due appends to pending the jobs whose time is now or before, in order. Each is appended
// once, and keeps its time until Set or Clear.
func (t *Times) Due(now int64, pending []int) []int {
	before := len(pending)
	for len(t.order) > 0 && t.times[t.order[0]] <= now {
		pending = append(pending, t.slots[heap.Pop(t).(int)])
	}
	if len(pending) > before {
		slices.Sort(pending)
		pending = slices.Compact(pending)
	}
	return pending
}

// Len, Less, Swap, Push and Pop are heap.Interface.
func (t *Times) Len() int           { return len(t.order) }
func (t *Times) Less(i, j int) bool { return t.times[t.order[i]] < t.times[t.order[j]] }
func (t *Times) Swap(i, j int) {
	t.order[i], t.order[j] = t.order[j], t.order[i]
	t.where[t.order[i]], t.where[t.order[j]] = i, j
}
func (t *Times) Push(x any) {
	t.where[x.(int)] = len(t.order)
	t.order = append(t.order, x.(int))
}
func (t *Times) Pop() any {
	last := t.order[len(t.order)-1]
	t.order, t.where[last] = t.order[:len(t.order)-1], -1
	return last
}

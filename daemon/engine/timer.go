package engine

import (
	"container/heap"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// timer is a check after a length of time. Lengths are measured in time since boot, so
// setting the clock neither shortens nor extends a wait.
type timer struct {
	at   time.Duration // Moment.Up
	run  job.RunID
	kind timerKind
	of   owned // the job, for expects
}

type timerKind uint8

const (
	timeout     timerKind = iota // the run has exceeded its timeout=
	mustDie                      // TERM was sent long enough ago
	waitOver                     // the wait before the next attempt, or of a period, is over
	parentsOver                  // the wait for parents is over

	startsLate // by max-late= the run should have started
	runsLong   // by max-run= it should have ended
	expects    // by expect= the job should have had a success
)

// timers is a heap, soonest first. A timer whose run has moved on is ignored
// when it fires, so nothing is ever removed from the middle.
type timers []timer

func (t *timers) add(x timer) { heap.Push(t, x) }

func (t *timers) next() (time.Duration, bool) {
	if len(*t) == 0 {
		return 0, false
	}
	return (*t)[0].at, true
}

func (t *timers) pop(up time.Duration) (timer, bool) {
	if len(*t) == 0 || (*t)[0].at > up {
		return timer{}, false
	}
	return heap.Pop(t).(timer), true
}

// Len, Less, Swap, Push and Pop are heap.Interface.
func (t timers) Len() int { return len(t) }
func (t timers) Less(i, j int) bool {
	if t[i].at != t[j].at {
		return t[i].at < t[j].at
	}
	return t[i].run < t[j].run || t[i].run == t[j].run && t[i].of.before(t[j].of)
}
func (t timers) Swap(i, j int) { t[i], t[j] = t[j], t[i] }
func (t *timers) Push(x any)   { *t = append(*t, x.(timer)) }
func (t *timers) Pop() any {
	old := *t
	last := old[len(old)-1]
	*t = old[:len(old)-1]
	return last
}

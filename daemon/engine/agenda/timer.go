package agenda

import (
	"container/heap"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// Timer is a check after a length of time. Lengths are measured in time since boot, so
// setting the clock neither shortens nor extends a wait.
type Timer struct {
	At   time.Duration // Moment.Up
	Run  job.RunID
	Kind TimerKind
	Of   job.Owned // the job, for Expects
}

// TimerKind names the check of a timer.
type TimerKind uint8

// The kinds of timers.
const (
	Timeout     TimerKind = iota // the run has exceeded its timeout=
	MustDie                      // TERM was sent long enough ago
	WaitOver                     // the wait for the next attempt, of a period or for allowed hours is over
	ParentsOver                  // the wait for parents is over
	Silent                       // by watchdog= the run should have given a sign of life

	StartsLate // by max-late= the run should have started
	RunsLong   // by max-run= it should have ended
	Expects    // by expect= the job should have had a success
)

// Timers is a heap, soonest first. A timer whose run has moved on is ignored
// when it fires, so nothing is ever removed from the middle.
type Timers []Timer

// Add sets a timer.
func (t *Timers) Add(x Timer) { heap.Push(t, x) }

// Next returns when the soonest timer expires.
func (t *Timers) Next() (time.Duration, bool) {
	if len(*t) == 0 {
		return 0, false
	}
	return (*t)[0].At, true
}

// Expired removes and returns the soonest timer if it has expired.
func (t *Timers) Expired(up time.Duration) (Timer, bool) {
	if len(*t) == 0 || (*t)[0].At > up {
		return Timer{}, false
	}
	return heap.Pop(t).(Timer), true
}

// Len, Less, Swap, Push and Pop are heap.Interface.
func (t Timers) Len() int { return len(t) }
func (t Timers) Less(i, j int) bool {
	switch a, b := &t[i], &t[j]; {
	case a.At != b.At:
		return a.At < b.At
	case a.Run != b.Run:
		return a.Run < b.Run
	case a.Kind != b.Kind:
		return a.Kind < b.Kind
	default:
		return a.Of.Compare(b.Of) < 0
	}
}
func (t Timers) Swap(i, j int) { t[i], t[j] = t[j], t[i] }
func (t *Timers) Push(x any)   { *t = append(*t, x.(Timer)) }
func (t *Timers) Pop() any {
	old := *t
	last := old[len(old)-1]
	*t = old[:len(old)-1]
	return last
}

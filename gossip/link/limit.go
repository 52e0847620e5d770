package link

import (
	"sync"
	"time"
)

// LogLimit limits how many messages are logged that others can cause as often as they like.
// Its zero value logs none.
type LogLimit struct {
	Lines    int
	Interval time.Duration // for so many lines

	mu         sync.Mutex
	since      time.Time
	logged     int
	suppressed int
}

// Next reports whether another line may be logged now, and how many were suppressed before it.
func (l *LogLimit) Next(now time.Time) (suppressed int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.since) >= l.Interval {
		l.since, l.logged = now, 0
	}
	if l.logged >= l.Lines {
		l.suppressed++
		return 0, false
	}
	l.logged++
	suppressed, l.suppressed = l.suppressed, 0
	return suppressed, true
}

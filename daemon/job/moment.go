package job

import (
	"math"
	"time"
)

// Moment is one reading of the clocks.
type Moment struct {
	Wall  time.Time     // the wall clock, UTC
	Up    time.Duration // time since boot, suspend included (CLOCK_BOOTTIME): it cannot be set
	Slept time.Duration // of Up, how long the host was suspended
}

// Awake returns how long the host has run since boot, suspend excluded.
func (m Moment) Awake() time.Duration { return m.Up - m.Slept }

// Drift returns how far the wall clock was set between two readings.
func (m Moment) Drift(from Moment) time.Duration {
	return (m.Wall.Sub(from.Wall) - (m.Up - from.Up)).Abs()
}

// In returns the time since boot that is d from m.
func (m Moment) In(d time.Duration) time.Duration { return Sum(m.Up, d) }

// UpAt returns the time since boot at which the wall clock will show t, unless it is set
// before.
func (m Moment) UpAt(t time.Time) time.Duration { return Sum(m.Up, t.Sub(m.Wall)) }

// Past returns t, or the wall clock if t is in the future.
func (m Moment) Past(t time.Time) time.Time {
	if t.After(m.Wall) {
		return m.Wall
	}
	return t
}

// Sum returns a + b. If the result does not fit into a Duration, it returns the nearest
// one: an overflow would make a wait of centuries end immediately. All sums with a
// duration from outside must use it.
func Sum(a, b time.Duration) time.Duration {
	switch c := a + b; {
	case a > 0 && b > 0 && c < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && c >= 0:
		return math.MinInt64
	default:
		return c
	}
}

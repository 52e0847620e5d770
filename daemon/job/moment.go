package job

import "time"

// Moment is one reading of the clocks.
type Moment struct {
	Wall time.Time     // the wall clock, UTC
	Up   time.Duration // time since boot, suspend included (CLOCK_BOOTTIME): it cannot be set
}

// Drift returns how far the wall clock was set between two readings.
func (m Moment) Drift(from Moment) time.Duration {
	return (m.Wall.Sub(from.Wall) - (m.Up - from.Up)).Abs()
}

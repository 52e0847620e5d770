package crontab

import (
	"time"

	"github.com/robfig/cron/v3"
)

// Previous is the newest instant before t that s names, looking back some ten
// years; the zero time when there is none. It asks s some fifty times however
// many instants lie between, as schedules only look ahead: Next(x) lies before t
// just as long as x lies before the instant that is sought.
func Previous(s cron.Schedule, t time.Time) time.Time {
	const day = 24 * time.Hour
	before := func(x time.Time) bool {
		next := s.Next(x)
		return !next.IsZero() && next.Before(t)
	}
	for _, back := range []time.Duration{2 * time.Minute, 2 * time.Hour, 2 * day, 35 * day, 400 * day, 3700 * day} {
		low, high := t.Add(-back), t
		if !before(low) {
			continue
		}
		for high.Sub(low) > 1 {
			if middle := low.Add(high.Sub(low) / 2); before(middle) {
				low = middle
			} else {
				high = middle
			}
		}
		return s.Next(low)
	}
	return time.Time{}
}

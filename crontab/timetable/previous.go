package timetable

import (
	"time"

	"github.com/robfig/cron/v3"
)

// Previous returns the latest occurrence of s before t, or the zero time if s
// has none in the ten years before t. Schedules only look ahead, so it searches
// by bisection: Next(x) is before t exactly if x is before the occurrence that
// it looks for. This takes about fifty calls of Next.
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

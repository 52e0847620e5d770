// Package usual owns the check whether a run took unusually long or short, compared with earlier
// runs of its job.
package usual

import (
	"slices"
	"time"
)

// The runs that a duration is compared with.
const (
	Fewest = 10 // fewer are not enough to compare
	Most   = 30
)

// Spread describes durations: half of them are less than Deviation from Median. Unlike an average,
// neither changes much because of a few odd ones.
type Spread struct{ Median, Deviation time.Duration }

// SpreadOf returns the median, and the median absolute deviation from it.
func SpreadOf(durations []time.Duration) Spread {
	m := median(slices.Clone(durations))
	away := make([]time.Duration, len(durations))
	for i, d := range durations {
		away[i] = (d - m).Abs()
	}
	return Spread{m, median(away)}
}

// Odd reports whether a duration is unusual: five deviations from the median, which is rare by
// chance, and also a tenth of it and a second, so that jobs with very equal runs are not odd always.
func (s Spread) Odd(d time.Duration) bool {
	return (d - s.Median).Abs() > max(5*s.Deviation, s.Median/10, time.Second)
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	n := len(d)
	if n == 0 {
		return 0
	}
	return d[(n-1)/2] + (d[n/2]-d[(n-1)/2])/2
}

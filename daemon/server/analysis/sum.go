package analysis

import (
	"math/rand/v2"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// sum adds up runs.
type sum struct {
	group api.StatsGroup
	late  int
	took  []time.Duration
	lags  []time.Duration
}

// result is an ended run as it is summed up.
type result struct {
	ok, failed, retried bool
	started, clock      bool // whether its time is known, and whether the clock started it
	took, lag, cpu      time.Duration
	memory              int64
}

func resultOf(r *job.Run) result {
	e := result{ok: r.OK(), failed: r.Failed(), retried: r.Verdict == job.VerdictRetry, clock: r.Trigger == job.TriggerClock}
	if e.started = !r.Started.IsZero() && !r.OnlyStarted(); e.started {
		e.took, e.lag, e.cpu, e.memory = r.Length(), r.Started.Sub(r.Due), r.Usage.CPU, r.Usage.Memory
	}
	return e
}

// add counts a run. If another attempt follows, it is not a failure of its own, but its time was
// wasted.
func (s *sum) add(r result, grace time.Duration) {
	g := &s.group
	switch {
	case r.ok:
		g.Runs, g.OK = g.Runs+1, g.OK+1
	case r.failed && !r.retried:
		g.Runs, g.Failed = g.Runs+1, g.Failed+1
	}
	if !r.started {
		return
	}
	took := max(0, r.took)
	s.took = append(s.took, took)
	g.Time, g.CPU, g.Memory = g.Time+took, g.CPU+r.cpu, max(g.Memory, r.memory)
	if r.failed {
		g.Waste += took
	}
	if r.clock && r.lag <= grace {
		s.lags = append(s.lags, r.lag)
	} else if r.clock {
		s.late++
	}
}

// result returns the statistics of a group with its name.
func (s *sum) result(name string) api.StatsGroup {
	g, took := s.group, quantiles(s.took, 50, 95, 100)
	g.Name, g.P50, g.P95, g.Max, g.LagP99 = name, took[0], took[1], took[2], quantiles(s.lags, 99)[0]
	return g
}

// quantiles returns, for each percentage, the smallest value that so many percent of the values do
// not exceed; 0 if there are none. Percentages must ascend. It puts values in another order, but does
// not sort them.
func quantiles(values []time.Duration, percents ...int) []time.Duration {
	found := make([]time.Duration, len(percents))
	if len(values) == 0 {
		return found
	}
	low := 0
	for i, percent := range percents {
		k := max(0, (len(values)*percent+99)/100-1)
		selectNth(values[low:], k-low)
		found[i], low = values[k], k // none of those behind it is smaller
	}
	return found
}

// selectNth reorders values so that the one at k is the one that sorting puts there, none before it is
// larger, and none behind it smaller.
func selectNth(values []time.Duration, k int) {
	for low, high := 0, len(values)-1; low < high; {
		pivot, i, j := values[low+rand.IntN(high-low+1)], low, high
		for i <= j {
			for values[i] < pivot {
				i++
			}
			for values[j] > pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			high = j
		case k >= i:
			low = i
		default:
			return
		}
	}
}

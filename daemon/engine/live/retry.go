package live

import (
	"hash/fnv"
	"strconv"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
)

// LeastWait is the shortest wait between two attempts. Without it, one entry with
// backoff=0s and a thousand attempts could keep the daemon fully busy.
const LeastWait = time.Second

// Backoff returns the wait after a failed attempt, counted from 1. The spread of
// retry-jitter= is derived from the invocation, so a replay computes the same wait.
func Backoff(o *option.Options, invocation string, attempt int) time.Duration {
	wait := float64(o.Backoff.Min)
	for range attempt - 1 {
		wait = min(wait*o.Backoff.Factor, float64(o.Backoff.Max))
	}
	h := fnv.New64a()
	h.Write([]byte(invocation + "/" + strconv.Itoa(attempt)))
	draw := float64(h.Sum64()>>11)/(1<<52) - 1 // in [-1, 1)
	wait *= 1 + draw*float64(o.RetryJitter)/100
	return max(LeastWait, time.Duration(min(wait, float64(2*timetable.MaxDuration))))
}

package live

import (
	"hash/fnv"
	"strconv"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/job"
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
	wait *= 1 + draw(invocation+"/"+strconv.Itoa(attempt))*float64(o.RetryJitter)/100
	return max(LeastWait, time.Duration(min(wait, float64(2*timetable.MaxDuration))))
}

// draw returns a number in [-1, 1) that looks random, always the same for a text.
func draw(text string) float64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return float64(h.Sum64()>>11)/(1<<52) - 1
}

// Scatter returns a delay below limit, in seconds, that is different for each job.
func Scatter(limit time.Duration, id job.ID, now time.Time) time.Duration {
	seconds := float64(limit / time.Second)
	return time.Duration((draw(string(id)+"/"+strconv.FormatInt(now.Unix(), 10))+1)/2*seconds) * time.Second
}

// Remeasure returns the time until a run that waits for conditions measures them again: 10 to 20
// seconds, so that not all runs that wait for a low load start together.
func Remeasure(invocation string) time.Duration {
	return time.Duration(float64(15*time.Second) + draw(invocation)*float64(5*time.Second))
}

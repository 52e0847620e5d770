package engine

import (
	"hash/fnv"
	"strconv"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/job"
)

// leastWait is the shortest wait between two attempts. Without it, one entry with
// backoff=0s and a thousand attempts could keep the daemon fully busy.
const leastWait = time.Second

// retry makes the next attempt of an occurrence, which waits for its backoff. A lost run
// that if-lost=rerun starts again does not wait.
func (e *Engine) retry(failed *run) {
	r := &run{options: failed.options, zone: failed.zone, Run: job.Run{
		ID: e.nextRun, Job: failed.Job, Due: failed.Due, Era: failed.Era,
		Attempt: failed.Attempt + 1, Lost: failed.Lost, Trigger: job.TriggerRetry, By: failed.By, User: failed.User,
		Invocation: failed.Invocation, Decided: e.now.Wall,
		Parents: failed.Parents, Backfill: failed.Backfill, Env: failed.Env, Token: failed.Token,
	}}
	var wait time.Duration
	if failed.reruns() {
		r.Lost++
	} else {
		wait = backoff(failed.options, failed.Invocation, failed.Attempt-failed.Lost)
	}
	e.add(r)
	e.pauseBefore(r, wait)
	e.recordRun(job.Queued, "", r, "after "+failed.Result()) // its occurrence was decided before
	if failed.Outcome.Kind == job.Lost {                     // other members may have run it again meanwhile
		e.reclaim(r)
	}
}

// pauseBefore makes an attempt wait for its time.
func (e *Engine) pauseBefore(r *run, wait time.Duration) {
	r.gate, r.NotBefore = gatePlace, e.now.Wall.Add(wait)
	r.Wait(job.WaitsOnRetry)
	e.timers.add(timer{at: e.now.In(wait), run: r.ID, kind: waitOver})
}

// again returns the reason for the start of a run that waited for its time.
func (r *run) again() job.Reason {
	switch {
	case r.WaitsOn() == job.WaitsOnDelay:
		return job.RanAfterDelay
	case r.Lost > 0 && !r.NotBefore.After(r.Decided):
		return job.Rerun
	}
	return job.Retried
}

// backoff returns the wait after a failed attempt, counted from 1. The spread of
// retry-jitter= is derived from the invocation, so a replay computes the same wait.
func backoff(o *option.Options, invocation string, attempt int) time.Duration {
	wait := float64(o.Backoff.Min)
	for range attempt - 1 {
		wait = min(wait*o.Backoff.Factor, float64(o.Backoff.Max))
	}
	h := fnv.New64a()
	h.Write([]byte(invocation + "/" + strconv.Itoa(attempt)))
	draw := float64(h.Sum64()>>11)/(1<<52) - 1 // in [-1, 1)
	wait *= 1 + draw*float64(o.RetryJitter)/100
	return max(leastWait, time.Duration(min(wait, float64(2*timetable.MaxDuration))))
}

package engine

import (
	"hash/fnv"
	"strconv"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// leastWait lies at least between two attempts: without it one entry with
// backoff=0s and a thousand attempts is all that the daemon is busy with.
const leastWait = time.Second

// retry makes the next attempt of an occurrence, which waits for its time. That
// of a lost run which if-lost=rerun starts again is now.
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
	if failed.Outcome.Kind == job.Lost {                     // others may have run it again meanwhile
		e.reclaim(r)
	}
}

// pauseBefore lets an attempt wait for its time.
func (e *Engine) pauseBefore(r *run, wait time.Duration) {
	r.gate, r.NotBefore = gatePlace, e.now.Wall.Add(wait)
	r.Wait(job.WaitsOnRetry)
	e.timers.add(timer{at: e.in(wait), run: r.ID, kind: waitOver})
}

// again is why an attempt starts that waited for its time.
func (r *run) again() job.Reason {
	switch {
	case r.WaitsOn() == job.WaitsOnDelay:
		return job.RanAfterDelay
	case r.Lost > 0 && !r.NotBefore.After(r.Decided):
		return job.Rerun
	}
	return job.Retried
}

// backoff is the wait after a failed attempt, counted from 1. The spread of
// retry-jitter= is drawn from the invocation, so a replay draws the same.
func backoff(o *crontab.Options, invocation string, attempt int) time.Duration {
	wait := float64(o.Backoff.Min)
	for range attempt - 1 {
		wait = min(wait*o.Backoff.Factor, float64(o.Backoff.Max))
	}
	h := fnv.New64a()
	h.Write([]byte(invocation + "/" + strconv.Itoa(attempt)))
	draw := float64(h.Sum64()>>11)/(1<<52) - 1 // in [-1, 1)
	wait *= 1 + draw*float64(o.RetryJitter)/100
	return max(leastWait, time.Duration(min(wait, float64(2*crontab.MaxDuration))))
}

package engine

import (
	"hash/fnv"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// The time between TERM and KILL: for a run over its timeout or in the way of
// a newer one, for one that a person stops, and when the daemon will wait no
// longer.
const (
	termGrace    = 30 * time.Second
	stopGrace    = 10 * time.Second
	abandonGrace = 2 * time.Second
)

func (e *Engine) started(ev Started) {
	r := e.live[ev.Run]
	if r == nil {
		return
	}
	r.State, r.PID, r.Run.Started = job.RunRunning, ev.PID, e.seen(ev.At)
	e.recordRun(job.Started, "", r, "")
	if r.options.Timeout > 0 {
		e.timers.add(timer{e.now.Up + r.options.Timeout, r.ID, timeout})
	}
	if r.stop != "" {
		e.stop(r, r.stop, syscall.SIGTERM, termGrace)
	}
}

func (e *Engine) ended(ev Ended) {
	r := e.live[ev.Run]
	if r == nil {
		return
	}
	r.State, r.Run.Ended, r.Outcome = job.RunEnded, e.seen(ev.At), ev.Outcome
	lost := ev.Outcome.Kind == job.Lost
	switch {
	case r.stop != "":
		r.Reason = r.stop
	case lost:
		r.Reason = job.DaemonDied // nothing else hides the end of a process
	case ev.Limit != "":
		r.Reason = ev.Limit
	}
	if r.stop == job.OverTime && ev.Outcome.Kind != job.NotStarted && !lost {
		r.Outcome.Kind = job.TimedOut
	}
	r.Usage, r.limit = ev.Usage, ev.Limit
	r.Verdict = judge(r)
	e.recordRun(job.Ended, "", r, "")
	stamped := e.stamp(r)
	e.remove(r)
	e.conclude(r)
	e.promote(r.Job)
	if stamped {
		e.lookAgain(r)
	}
}

// seen is when something happened that was seen at an instant, or just now.
func (e *Engine) seen(at time.Time) time.Time {
	if at.IsZero() {
		return e.now.Wall
	}
	return at.UTC()
}

// retry makes the next attempt of an occurrence, which waits for its time.
func (e *Engine) retry(failed *run) {
	wait := backoff(failed.options, failed.Invocation, failed.Attempt)
	r := &run{options: failed.options, zone: failed.zone, Run: job.Run{
		ID: e.nextRun, Job: failed.Job, Due: failed.Due, Era: failed.Era,
		Attempt: failed.Attempt + 1, Trigger: job.TriggerRetry, By: failed.By, User: failed.User,
		Invocation: failed.Invocation, Decided: e.now.Wall,
		NotBefore: e.now.Wall.Add(wait), Parents: failed.Parents, Backfill: failed.Backfill,
	}}
	r.gate = gatePlace
	e.add(r)
	r.State, r.Reason = job.RunWaiting, job.WaitsForRetry
	e.recordRun(job.Queued, "", r, "after "+failed.Outcome.String())
	e.timers.add(timer{e.now.Up + wait, r.ID, waitOver})
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
	return time.Duration(wait * (1 + draw*float64(o.RetryJitter)/100))
}

// promote starts the oldest queued run of a job if nothing else of it is live.
func (e *Engine) promote(id job.ID) {
	for !e.draining {
		r := e.nextQueued(id)
		if r == nil || e.goOn(r, job.RanAfterQueue) {
			return
		}
	}
}

// nextQueued is the oldest queued run of a job of which its account has no
// other under way.
func (e *Engine) nextQueued(id job.ID) *run {
	live := e.byJob[id]
	i := slices.IndexFunc(live, func(r *run) bool {
		return r.inLine() && !slices.ContainsFunc(live, func(x *run) bool {
			return !x.inLine() && x.User == r.User
		})
	})
	if i < 0 {
		return nil
	}
	return live[i]
}

// crowded reports whether another run of the same job has a process. Under
// any rule but allow that is so only if the rule was allow until a reload.
func (e *Engine) crowded(r *run) bool {
	return slices.ContainsFunc(e.byJob[r.Job], func(x *run) bool {
		return x != r && x.User == r.User && (x.State == job.RunDecided || x.State == job.RunRunning)
	})
}

// drop records that a run that was held back will never start.
func (e *Engine) drop(r *run, reason job.Reason) { e.dropFor(r, reason, "") }

// dropFor is drop with the reason's numbers and names.
func (e *Engine) dropFor(r *run, reason job.Reason, detail string) {
	e.unask(r)
	r.State, r.Reason = job.RunDropped, reason
	e.recordRun(job.Dropped, "", r, detail)
	e.remove(r)
	e.conclude(r)
}

// stop asks a run's processes to end, and makes sure of it after grace.
func (e *Engine) stop(r *run, reason job.Reason, sig syscall.Signal, grace time.Duration) {
	r.stop = reason
	if r.State != job.RunRunning {
		return // started looks at r.stop
	}
	e.emit(Kill{r.ID, sig})
	if sig != syscall.SIGKILL {
		e.timers.add(timer{e.now.Up + grace, r.ID, mustDie})
	}
}

// expire acts on the timers that have run out.
func (e *Engine) expire() {
	for {
		t, ok := e.timers.pop(e.now.Up)
		if !ok {
			return
		}
		r := e.live[t.run]
		switch {
		case r == nil:
		case t.kind == timeout && r.stop == "":
			e.stop(r, job.OverTime, syscall.SIGTERM, termGrace)
		case t.kind == mustDie:
			e.emit(Kill{r.ID, syscall.SIGKILL})
		case t.kind == waitOver && r.waitsForTime() && !e.draining:
			reason := job.Retried
			if r.Reason == job.WaitsForDelay {
				reason = job.RanAfterDelay
			}
			if !e.goOn(r, reason) {
				e.promote(r.Job)
			}
		}
	}
}

// waitsForTime tells whether nothing but time must pass before a run starts.
func (r *run) waitsForTime() bool {
	return r.State == job.RunWaiting && (r.Reason == job.WaitsForRetry || r.Reason == job.WaitsForDelay)
}

// undrain goes on where Drain stopped: with what waited for its time or for
// another run, and with the occurrences since.
func (e *Engine) undrain() {
	e.draining = false
	for _, r := range e.sorted() {
		if r.waitsForTime() { // its timer may have run out meanwhile
			e.timers.add(timer{e.now.Up + r.NotBefore.Sub(e.now.Wall), r.ID, waitOver})
		}
		e.promote(r.Job)
	}
}

func (e *Engine) abandon() {
	for _, r := range e.live {
		e.stop(r, job.DaemonStopped, syscall.SIGTERM, abandonGrace)
	}
}

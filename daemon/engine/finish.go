package engine

import (
	"slices"
	"syscall"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

func (e *Engine) started(ev Started) {
	r := e.live[ev.Run]
	if r == nil {
		return
	}
	r.State, r.PID, r.Run.Started = job.RunRunning, ev.PID, e.seen(ev.At)
	e.stalled.leave(r)
	delete(e.ring.unbegun, r.ID) // it has a process
	e.recordRun(job.Started, "", r, "")
	if r.options.Timeout > 0 {
		e.timers.add(timer{at: e.now.In(r.options.Timeout), run: r.ID, kind: timeout})
	}
	e.watchRun(r, e.now.Up)
	e.notifyStart(r)
	if r.stop != "" {
		e.press(r)
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
		r.Reason = job.DaemonDied // the end of a process is unknown only for this reason
	case ev.Limit != "":
		r.Reason = ev.Limit
	}
	if r.stop == job.OverTime && ev.Outcome.Kind != job.NotStarted && !lost {
		r.Outcome.Kind = job.TimedOut
	}
	r.Usage, r.refused = ev.Usage, ev.Refused
	r.Verdict = judge(r)
	e.recordRun(job.Ended, "", r, "")
	stamped := e.stamp(r)
	e.remove(r)
	e.conclude(r)
	e.startNextOf(r.Job)
	if stamped {
		e.lookAgain(r)
	}
}

// seen returns the time of an observation: at, or now if at is zero.
func (e *Engine) seen(at time.Time) time.Time {
	if at.IsZero() {
		return e.now.Wall
	}
	return at.UTC()
}

// startNext starts the next queued run of each job that had a run removed since the last
// call. Every run that ends or is dropped goes through remove, which notes its job, so no
// queue is forgotten.
func (e *Engine) startNext() {
	for len(e.freed) > 0 {
		id := e.freed[0]
		e.freed = e.freed[1:]
		e.startNextOf(id)
	}
}

// startNextOf starts the oldest queued run of a job if no other run of the job is live.
// If that run is dropped, startNext starts the one behind it.
func (e *Engine) startNextOf(id job.ID) {
	if r := e.nextQueued(id); r != nil && !e.draining {
		e.goOn(r, job.RanAfterQueue)
	}
}

// nextQueued returns the oldest queued run of a job whose user has no other run of that
// job in progress.
func (e *Engine) nextQueued(id job.ID) *run {
	live := e.byJob[id]
	var busy []string // users; there is hardly ever more than one
	for _, r := range live {
		if !r.inLine() && !slices.Contains(busy, r.User) {
			busy = append(busy, r.User)
		}
	}
	i := slices.IndexFunc(live, func(r *run) bool { return r.inLine() && !slices.Contains(busy, r.User) })
	if i < 0 {
		return nil
	}
	return live[i]
}

// crowded reports whether another run of the same job has a process, or gets one as soon
// as dispatch returns. If overlap= is not allow, this happens only if it was allow before
// a reload.
func (e *Engine) crowded(r *run) bool {
	return slices.ContainsFunc(e.byJob[r.Job], func(x *run) bool {
		return x != r && x.User == r.User && (x.State == job.RunDecided || x.State == job.RunRunning || x == e.places.asker)
	})
}

// drop records that a queued or waiting run will never start.
func (e *Engine) drop(r *run, reason job.Reason) { e.dropFor(r, reason, "") }

// dropFor is drop with a detail of the reason.
func (e *Engine) dropFor(r *run, reason job.Reason, detail string) {
	e.unask(r)
	r.State, r.Reason = job.RunDropped, reason
	r.Verdict = judgeDropped(r)
	e.recordRun(job.Dropped, "", r, detail)
	e.remove(r)
	e.conclude(r)
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
		case t.kind == expects:
			e.miss(t)
		case r == nil:
		case t.kind == timeout && r.stop == "":
			e.stop(r, job.OverTime)
		case t.kind == mustDie && t.at == r.dies:
			e.emit(Kill{Run: r.ID, Signal: syscall.SIGKILL})
		case t.kind == parentsOver && t.at == r.until && r.await != nil && r.waitsForParents() && !e.draining:
			e.missParents(r)
		case t.kind == waitOver && r.waitsForTime() && !e.draining:
			e.goOn(r, r.again())
		case t.kind == startsLate && r.startedLate(e.now.Wall):
			e.notifyLate(r, e.notStarted(r))
		case t.kind == runsLong:
			e.notifyLate(r, runningFor(r))
		}
	}
}

// waitsForTime reports whether a run waits only for time to pass.
func (r *run) waitsForTime() bool {
	on := r.WaitsOn()
	return on == job.WaitsOnRetry || on == job.WaitsOnDelay
}

// undrain continues after Drain: it sets the timers of waiting runs, starts queued ones,
// and later steps decide the occurrences since then.
func (e *Engine) undrain() {
	e.draining = false
	e.tellHost()
	for _, r := range e.sorted() {
		switch {
		case r.waitsForTime(): // its timer may have expired while draining
			e.timers.add(timer{at: e.now.UpAt(r.NotBefore), run: r.ID, kind: waitOver})
		case r.waitsForParents() && r.until > 0:
			e.timers.add(timer{at: r.until, run: r.ID, kind: parentsOver})
		}
		e.freed = append(e.freed, r.Job)
	}
}

package engine

import (
	"cmp"
	"syscall"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/engine/agenda"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/live"
	"github.com/cronring/cronring/daemon/engine/slots"
	"github.com/cronring/cronring/daemon/job"
)

func (e *Engine) handleStarted(ev event.Started) {
	r := e.live[ev.Run]
	if r == nil {
		return
	}
	r.State, r.PID, r.Run.Started = job.RunRunning, ev.PID, e.observedAt(ev.At)
	e.stalled.Remove(r)
	delete(e.ring.unbegun, r.ID) // it has a process
	e.recordRun(job.Started, "", r, "")
	if r.Options.Timeout > 0 {
		e.timers.Add(agenda.Timer{At: e.now.In(r.Options.Timeout), Run: r.ID, Kind: agenda.Timeout})
	}
	e.watchLife(r)
	e.watchRun(r, e.now.Up)
	e.notifyStart(r)
	if r.StopReason != "" {
		e.press(r)
	}
}

func (e *Engine) handleEnded(ev event.Ended) {
	r := e.live[ev.Run]
	if r == nil {
		return
	}
	r.State, r.Run.Ended, r.Outcome = job.RunEnded, e.observedAt(ev.At), ev.Outcome
	lost := ev.Outcome.Kind == job.Lost
	switch {
	case r.StopReason != "":
		r.Reason = r.StopReason
	case lost:
		r.Reason = job.DaemonDied // the end of a process is unknown only for this reason
	case ev.Limit != "":
		r.Reason = ev.Limit
	}
	if r.StopReason.IsTimeLimit() && ev.Outcome.Kind != job.NotStarted && !lost {
		r.Outcome.Kind = job.TimedOut
	}
	r.Usage, r.Refused = ev.Usage, ev.Refused
	r.Verdict = live.Judge(r)
	if ev.Unrun && r.StopReason == "" && e.isForOthers(r) {
		r.Verdict, r.Reason = job.VerdictRetry, job.HandedOver
	}
	e.recordRun(job.Ended, "", r, "")
	stamped := e.stamp(r)
	e.remove(r)
	e.conclude(r)
	e.startNextOf(r.Job)
	if stamped {
		e.lookAgain(r)
	}
}

// observedAt returns the time of an observation: at, or now if at is zero.
func (e *Engine) observedAt(at time.Time) time.Time {
	if at.IsZero() {
		return e.now.Wall
	}
	return at.UTC()
}

// startNext starts the next queued run of each job that had a run removed since the last
// call, and checks the next runs of users of whom a check has ended. Every run that ends or
// is dropped goes through remove, which notes its job, so no queue is forgotten.
func (e *Engine) startNext() {
	for len(e.freed) > 0 || e.nextCheck() {
		if len(e.freed) > 0 {
			id := e.freed[0]
			e.freed = e.freed[1:]
			e.startNextOf(id)
		}
	}
}

// startNextOf starts the oldest queued run of a job if no other run of the job is live.
// If that run is dropped, startNext starts the one behind it.
func (e *Engine) startNextOf(id job.ID) {
	if r := live.NextQueued(e.byJob[id]); r != nil && !e.draining {
		e.goOn(r, job.RanAfterQueue)
	}
}

// expire acts on the timers that have run out.
func (e *Engine) expire() {
	for {
		t, ok := e.timers.Expired(e.now.Up)
		if !ok {
			return
		}
		r := e.live[t.Run]
		switch {
		case t.Kind == agenda.Expects:
			e.miss(t)
		case r == nil:
		case t.Kind == agenda.Timeout && r.StopReason == "":
			e.stop(r, job.OverTime)
		case t.Kind == agenda.Silent && r.StopReason == "":
			e.checkLife(r)
		case t.Kind == agenda.MustDie && t.At == r.KillAt:
			e.emit(effect.Kill{Run: r.ID, Signal: syscall.SIGKILL})
		case t.Kind == agenda.ParentsOver && t.At == r.ParentsUntil && r.Await != nil && r.WaitsForParents() && !e.draining:
			e.missParents(r)
		case t.Kind == agenda.WaitOver && r.WaitsForTime() && !e.draining:
			e.goOn(r, r.AfterWait())
		case t.Kind == agenda.StartsLate && r.StartedLate(e.now.Wall):
			e.notifyLateStart(r)
		case t.Kind == agenda.RunsLong:
			if streak, notifies := e.noteLate(r); notifies {
				e.notifyOf(r, job.OnLate, streak, job.NoticeRunsLong(r.Options.MaxRun), "")
			}
		}
	}
}

// stop sends a run's processes the signal to end. If the run is being stopped already, it
// keeps its first reason. A request of a person replaces any reason, and replacement by a
// newer run replaces a time limit or preemption: in both cases no further attempt must follow.
func (e *Engine) stop(r *live.Run, reason job.Reason) {
	if r.StopReason == "" || reason == job.StopAsked || reason == job.Replaced && (r.StopReason.IsTimeLimit() || r.StopReason == job.Preempted) {
		r.StopReason = reason
	}
	if r.State == job.RunRunning { // otherwise handleStarted does it
		e.press(r)
	}
}

// stopForPerson stops a run with the signal and grace of a request. A second request
// without signal and grace sends KILL.
func (e *Engine) stopForPerson(r *live.Run, ev event.Stop) {
	again := r.StopReason == job.StopAsked && r.State == job.RunRunning && ev.Signal == 0 && ev.Grace == 0
	killed := again && r.Run.Stop != nil && r.Run.Stop.Signal == option.SignalName(syscall.SIGKILL)
	if !killed {
		e.recordStop(r, ev, again)
	}
	if again {
		e.emit(effect.Kill{Run: r.ID, Signal: syscall.SIGKILL})
		return
	}
	e.stop(r, job.StopAsked)
}

// recordStop records who stopped a run, and how. The history shows it, and a daemon that
// takes over continues the stop.
func (e *Engine) recordStop(r *live.Run, ev event.Stop, again bool) {
	sig := cmp.Or(ev.Signal, r.Options.StopSignal)
	if again {
		sig = syscall.SIGKILL
	}
	order := &job.Stop{By: job.Text(ev.By), At: e.now.Wall, Signal: option.SignalName(sig)}
	switch {
	case sig == syscall.SIGKILL:
	case ev.Grace == 0 && r.KillAt > 0: // KILL is under way
		order.Grace = min(r.UsualGrace(), max(r.KillAt-e.now.Up, 0))
	default:
		order.Grace = cmp.Or(ev.Grace, r.UsualGrace())
	}
	r.GraceSet = ev.Grace > 0
	e.recordStopping(r, order)
}

func (e *Engine) recordStopping(r *live.Run, s *job.Stop) {
	r.Run.Stop = s
	snapshot := r.Run
	r.Recorded = &snapshot
	e.record(job.Record{
		Kind: job.Stopping, Job: r.Job, Due: r.Due, Era: r.Era, Reason: s.Reason(), Detail: s.Detail(), Run: r.Recorded,
	})
}

func (e *Engine) abandon() {
	for _, r := range live.Sorted(e.live) {
		if r.State == job.RunDecided || r.State == job.RunRunning {
			r.Hurry = true
			e.stop(r, job.DaemonStopped)
		}
	}
}

// press sends a run the signal that should end it, and schedules KILL.
func (e *Engine) press(r *live.Run) {
	sig := r.Options.StopSignal
	if r.StopReason == job.StopAsked && r.Run.Stop != nil {
		sig, _ = option.ParseSignal(r.Run.Stop.Signal) // what recordStop wrote
	}
	if r.StopReason == job.Replaced && r.Options.Overlap == option.OverlapKill {
		sig = syscall.SIGKILL
	}
	e.emit(effect.Kill{Run: r.ID, Signal: sig, Reason: r.StopReason})
	if sig != syscall.SIGKILL {
		e.killLater(r)
	}
}

// killLater schedules KILL for a run that was signalled. A further stop request never
// postpones it, unless it sets the grace explicitly.
func (e *Engine) killLater(r *live.Run) {
	at := e.now.In(r.Grace())
	if at == r.KillAt || r.KillAt > 0 && r.KillAt < at && (r.Hurry || !r.GraceSet) {
		return
	}
	e.killAt(r, at)
}

func (e *Engine) killAt(r *live.Run, at time.Duration) {
	r.KillAt = at
	e.timers.Add(agenda.Timer{At: at, Run: r.ID, Kind: agenda.MustDie})
}

// Stopping returns the runs that were signalled and have not ended, with the reason. A
// daemon that takes over needs it to continue the stops.
func (e *Engine) Stopping() map[job.RunID]job.Reason {
	stopping := map[job.RunID]job.Reason{}
	for _, r := range e.live {
		if r.StopReason != "" {
			stopping[r.ID] = r.StopReason
		}
	}
	return stopping
}

// A run with preempt that waits for slots stops preemptible runs of lower priority; see
// slots.Preempt. A preempted run does not count as failed. Its occurrence is tried again when
// there are slots, as a further attempt that does not count for retry=. After job.MaxReruns
// attempts that were preempted or lost, it is not preempted any more, so that it ends some day.

// preempt stops the runs whose slots waiting runs with preempt need.
func (e *Engine) preempt() {
	if e.draining {
		return
	}
	for p := e.slots.Preempt(e.now.Up, e.preemptibility); p != nil; p = e.slots.Preempt(e.now.Up, e.preemptibility) {
		for _, c := range p.Stops {
			e.recordPreemption(e.live[c.Run], p.For)
			e.stop(e.live[c.Run], job.Preempted)
		}
	}
}

// preemptibility returns whether a run keeps its slots when another run needs them.
func (e *Engine) preemptibility(id job.RunID) slots.Preemptibility {
	r := e.live[id]
	switch {
	case r.StopReason != "":
		return slots.Leaves
	case r.Options.Preemptible && r.HasProcess() && r.Lost < job.MaxReruns:
		return slots.Yields
	}
	return slots.Stays
}

// recordPreemption records for which run a run is stopped. Its user learns the name of that run's
// job only if both belong to the same user.
func (e *Engine) recordPreemption(r *live.Run, c *slots.Claim) {
	by := job.DetailRunOfUser(c.Run, c.User)
	if c.User == r.User {
		by = job.DetailRun(c.Run, c.Job)
	}
	order := &job.Stop{By: by, For: c.Run, At: e.now.Wall, Signal: option.SignalName(r.Options.StopSignal)}
	if r.Options.StopSignal != syscall.SIGKILL {
		order.Grace = r.Options.StopGrace
	}
	e.recordStopping(r, order)
}

// A run with watchdog= is stopped if it gives no sign of life for that long. Only time in which
// the host is awake counts, and a daemon that takes a run over begins a new period: the run could
// not reach the previous daemon for a while. A beat only notes the time; the timer that runs out
// then waits for the rest of the period.

// watchLife begins the first period of a run.
func (e *Engine) watchLife(r *live.Run) {
	if r.Options.Watchdog == 0 {
		return
	}
	r.LastBeat = e.now.Awake()
	e.timers.Add(agenda.Timer{At: e.now.In(r.Options.Watchdog), Run: r.ID, Kind: agenda.Silent})
}

// beat notes a sign of life.
func (e *Engine) beat(ev event.Beat) {
	r := e.live[ev.Run]
	if r == nil || r.State != job.RunRunning {
		e.refuse(effect.Conflict, job.RefuseNotRunning)
		return
	}
	r.LastBeat = e.now.Awake()
	e.answer(nil, nil)
}

// checkLife stops a run whose period is over, or waits for the rest of the period.
func (e *Engine) checkLife(r *live.Run) {
	if rest := job.Sum(r.LastBeat, r.Options.Watchdog) - e.now.Awake(); rest > 0 {
		e.timers.Add(agenda.Timer{At: e.now.In(rest), Run: r.ID, Kind: agenda.Silent})
		return
	}
	e.stop(r, job.NoBeat)
}

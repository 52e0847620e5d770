package engine

import (
	"cmp"
	"slices"
	"syscall"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/job"
)

// A run is stopped with stop-signal=, and with KILL after stop-grace=, of which a manual stop has
// its own default. A daemon that ends uses abandonGrace at most.
const abandonGrace = 2 * time.Second

// stop sends a run's processes the signal to end. If the run is being stopped already, it
// keeps its first reason. A request of a person replaces any reason, and replacement by a
// newer run replaces a timeout: in both cases no further attempt must follow.
func (e *Engine) stop(r *run, reason job.Reason) {
	if r.stop == "" || reason == job.StopAsked || reason == job.Replaced && r.stop == job.OverTime {
		r.stop = reason
	}
	if r.State == job.RunRunning { // otherwise started checks r.stop
		e.press(r)
	}
}

// stopForPerson stops a run with the signal and grace of a request. A second request
// without signal and grace sends KILL.
func (e *Engine) stopForPerson(r *run, ev Stop) {
	again := r.stop == job.StopAsked && r.State == job.RunRunning && ev.Signal == 0 && ev.Grace == 0
	killed := again && r.Run.Stop != nil && r.Run.Stop.Signal == option.SignalName(syscall.SIGKILL)
	if !killed {
		e.recordStop(r, ev, again)
	}
	if again {
		e.emit(Kill{Run: r.ID, Signal: syscall.SIGKILL})
		return
	}
	e.stop(r, job.StopAsked)
}

// recordStop records who stopped a run, and how. The history shows it, and a daemon that
// takes over continues the stop.
func (e *Engine) recordStop(r *run, ev Stop, again bool) {
	sig := cmp.Or(ev.Signal, r.options.StopSignal)
	if again {
		sig = syscall.SIGKILL
	}
	order := &job.Stop{By: ev.By, At: e.now.Wall, Signal: option.SignalName(sig)}
	switch {
	case sig == syscall.SIGKILL:
	case ev.Grace == 0 && r.dies > 0: // KILL is under way
		order.Grace = min(r.usualGrace(), max(r.dies-e.now.Up, 0))
	default:
		order.Grace = cmp.Or(ev.Grace, r.usualGrace())
	}
	r.Run.Stop, r.patience = order, ev.Grace > 0
	snapshot := r.Run
	r.recorded = &snapshot
	e.record(job.Record{
		Kind: job.Stopping, Job: r.Job, Due: r.Due, Era: r.Era, Reason: job.StopAsked, Detail: order.Words(), Run: r.recorded,
	})
}

func (e *Engine) abandon() {
	for _, r := range e.sorted() {
		if r.State == job.RunDecided || r.State == job.RunRunning {
			r.hurry = true
			e.stop(r, job.DaemonStopped)
		}
	}
}

// press sends a run the signal that should end it, and schedules KILL.
func (e *Engine) press(r *run) {
	sig := r.options.StopSignal
	if r.stop == job.StopAsked && r.Run.Stop != nil {
		sig, _ = option.ParseSignal(r.Run.Stop.Signal) // what recordStop wrote
	}
	if r.stop == job.Replaced && r.options.Overlap == option.OverlapKill {
		sig = syscall.SIGKILL
	}
	e.emit(Kill{r.ID, sig, r.stop})
	if sig != syscall.SIGKILL {
		e.killLater(r)
	}
}

// killLater schedules KILL for a run that was signalled. A further stop request never
// postpones it, unless it sets the grace explicitly.
func (e *Engine) killLater(r *run) {
	at := e.now.In(r.grace())
	if at == r.dies || r.dies > 0 && r.dies < at && (r.hurry || !r.patience) {
		return
	}
	e.killAt(r, at)
}

func (e *Engine) killAt(r *run, at time.Duration) {
	r.dies = at
	e.timers.add(timer{at: at, run: r.ID, kind: mustDie})
}

// grace returns the time between the signal and KILL.
func (r *run) grace() time.Duration {
	grace := r.options.StopGrace
	if r.stop == job.StopAsked {
		grace = r.usualGrace()
		if r.Run.Stop != nil {
			grace = r.Run.Stop.Grace
		}
	}
	if r.hurry || r.stop == job.DaemonStopped {
		return min(grace, abandonGrace)
	}
	return grace
}

// usualGrace returns the grace for a manual stop that does not set one.
func (r *run) usualGrace() time.Duration {
	if r.isSet("stop-grace") {
		return r.options.StopGrace
	}
	return option.ManualStopGrace
}

// isSet reports whether an option is set explicitly.
func (r *run) isSet(key string) bool {
	return slices.ContainsFunc(r.options.Items, func(o option.Option) bool { return o.Key == key })
}

package engine

import (
	"cmp"
	"slices"
	"syscall"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// A run is stopped with stop-signal=, and with KILL when stop-grace= is over.
// Who stands before a terminal does not wait for the half minute that is the
// default, but does for what an entry says itself; a daemon that ends waits for
// nobody.
const (
	stopGrace    = 10 * time.Second
	abandonGrace = 2 * time.Second
)

// stop asks a run's processes to end. A run that is being stopped already
// keeps its reason, but that a person wants it gone, or a newer run wants its
// place, weighs more than its timeout: no attempt is to follow.
func (e *Engine) stop(r *run, reason job.Reason) {
	if r.stop == "" || reason == job.StopAsked || reason == job.Replaced && r.stop == job.OverTime {
		r.stop = reason
	}
	if r.State == job.RunRunning { // else started looks at r.stop
		e.press(r)
	}
}

// stopForPerson is stop, as the person says, and KILL for a run that a person has
// asked to end before, unless they say how.
func (e *Engine) stopForPerson(r *run, ev Stop) {
	again := r.stop == job.StopAsked && r.State == job.RunRunning && ev.Signal == 0 && ev.Grace == 0
	killed := again && r.Run.Stop != nil && r.Run.Stop.Signal == crontab.SignalName(syscall.SIGKILL)
	if !killed {
		e.recordStop(r, ev, again)
	}
	if again {
		e.emit(Kill{Run: r.ID, Signal: syscall.SIGKILL})
		return
	}
	e.stop(r, job.StopAsked)
}

// recordStop writes down who wants a run to end, and how: history tells it, and
// a daemon that takes over goes on with it.
func (e *Engine) recordStop(r *run, ev Stop, again bool) {
	sig := cmp.Or(ev.Signal, r.options.StopSignal)
	if again {
		sig = syscall.SIGKILL
	}
	order := &job.Stop{By: ev.By, At: e.now.Wall, Signal: crontab.SignalName(sig)}
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

// press sends a run the signal that is to end it, and makes sure of it later.
func (e *Engine) press(r *run) {
	sig := r.options.StopSignal
	if r.stop == job.StopAsked && r.Run.Stop != nil {
		sig, _ = crontab.ParseSignal(r.Run.Stop.Signal) // what recordStop wrote
	}
	if r.stop == job.Replaced && r.options.Overlap == crontab.OverlapKill {
		sig = syscall.SIGKILL
	}
	e.emit(Kill{r.ID, sig, r.stop})
	if sig != syscall.SIGKILL {
		e.killLater(r)
	}
}

// killLater makes sure of a run whose processes were asked to end. Who asks again
// makes that no later, but for a person who says how long it may take.
func (e *Engine) killLater(r *run) {
	at := e.in(r.grace())
	if at == r.dies || r.dies > 0 && r.dies < at && (r.hurry || !r.patience) {
		return
	}
	e.killAt(r, at)
}

func (e *Engine) killAt(r *run, at time.Duration) {
	r.dies = at
	e.timers.add(timer{at: at, run: r.ID, kind: mustDie})
}

// grace is the time that a run has from its signal to KILL.
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

// usualGrace is the grace of a run that a person stops without a word on it.
func (r *run) usualGrace() time.Duration {
	if r.says("stop-grace") {
		return r.options.StopGrace
	}
	return stopGrace
}

// says tells whether anything was said of an option that has a default.
func (r *run) says(key string) bool {
	return slices.ContainsFunc(r.options.Items, func(o crontab.Option) bool { return o.Key == key })
}

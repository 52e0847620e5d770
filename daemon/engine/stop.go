package engine

import (
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

// stopForPerson is stop, and KILL for a run that a person has asked to end
// before.
func (e *Engine) stopForPerson(r *run) {
	if r.stop == job.StopAsked && r.State == job.RunRunning {
		e.emit(Kill{r.ID, syscall.SIGKILL})
		return
	}
	e.stop(r, job.StopAsked)
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
	if r.stop == job.Replaced && r.options.Overlap == crontab.OverlapKill {
		sig = syscall.SIGKILL
	}
	e.emit(Kill{r.ID, sig})
	if sig != syscall.SIGKILL {
		e.timers.add(timer{at: e.now.Up + r.grace(), run: r.ID, kind: mustDie})
	}
}

// grace is the time that a run has from its signal to KILL.
func (r *run) grace() time.Duration {
	grace := r.options.StopGrace
	switch {
	case r.hurry, r.stop == job.DaemonStopped:
		return min(grace, abandonGrace)
	case r.stop == job.StopAsked && !r.says("stop-grace"):
		return stopGrace
	}
	return grace
}

// says tells whether anything was said of an option that has a default.
func (r *run) says(key string) bool {
	return slices.ContainsFunc(r.options.Items, func(o crontab.Option) bool { return o.Key == key })
}

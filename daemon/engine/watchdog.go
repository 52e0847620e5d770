package engine

import (
	"github.com/cronring/cronring/daemon/engine/agenda"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/live"
	"github.com/cronring/cronring/daemon/job"
)

// A run with watchdog= is stopped if it gives no sign of life for that long. Only time in which
// the host is awake counts, and a daemon that takes a run over begins a new period: the run could
// not reach the previous daemon for a while. A beat only notes the time; the timer that runs out
// then waits for the rest of the period.

// watchLife begins the first period of a run.
func (e *Engine) watchLife(r *live.Run) {
	if r.Options.Watchdog == 0 {
		return
	}
	r.Heard = e.now.Awake()
	e.timers.Add(agenda.Timer{At: e.now.In(r.Options.Watchdog), Run: r.ID, Kind: agenda.Silent})
}

// beat notes a sign of life.
func (e *Engine) beat(ev event.Beat) {
	r := e.live[ev.Run]
	if r == nil || r.State != job.RunRunning {
		e.refuse(ev.Token, effect.Conflict, "it is not running")
		return
	}
	r.Heard = e.now.Awake()
	e.answer(ev.Token, nil, nil)
}

// checkLife stops a run whose period is over, or waits for the rest of the period.
func (e *Engine) checkLife(r *live.Run) {
	if rest := job.Sum(r.Heard, r.Options.Watchdog) - e.now.Awake(); rest > 0 {
		e.timers.Add(agenda.Timer{At: e.now.In(rest), Run: r.ID, Kind: agenda.Silent})
		return
	}
	e.stop(r, job.NoBeat)
}

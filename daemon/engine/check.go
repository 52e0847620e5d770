package engine

import (
	"syscall"

	"github.com/cronring/cronring/daemon/job"
)

// check is the gate of if=: the exit status of a command decides whether an occurrence
// runs. Forced runs and further attempts skip it.
func (e *Engine) check(r *run) (passes bool) {
	if r.options.If == "" || r.forced {
		return true
	}
	r.NotBefore = e.now.Wall
	e.wait(r, job.WaitsOnCheck, "")
	r.asking = true
	e.emit(Check{e.starting(r), r.options.If})
	return false
}

// checked handles the result of the command. If the command could not be run or was
// killed, the run is skipped.
func (e *Engine) checked(ev Checked) {
	r := e.live[ev.Run]
	if r == nil || !r.asking {
		return
	}
	r.asking = false
	if !ev.Outcome.OK() {
		r.Verdict = job.VerdictSkip
		e.dropFor(r, job.CheckRefused, ev.Outcome.String())
		return
	}
	r.gate = gateCheck + 1
	e.goOn(r, job.RanAfterCheck)
}

// unask kills the command of if= for a run that is dropped while the command runs.
func (e *Engine) unask(r *run) {
	if r.asking {
		e.emit(Kill{Run: r.ID, Signal: syscall.SIGKILL})
	}
}

package engine

import (
	"syscall"

	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/live"
	"github.com/cronring/cronring/daemon/job"
)

// checks are the commands of if= of one user. At most max-running-per-user of them run at
// once, beside the runs of the user.
type checks struct {
	running int
	waiting []*live.Run // oldest first; some may have been dropped since
}

// check is the gate of if=: the exit status of a command decides whether an occurrence
// runs. Forced runs and further attempts skip it.
func (e *Engine) check(r *live.Run) (passes bool) {
	if r.Options.If == "" || r.Forced {
		return true
	}
	if r.WaitsOn() != job.WaitsOnCheck {
		r.NotBefore = e.now.Wall
		e.wait(r, job.WaitsOnCheck, "")
	}
	c := e.checks[r.User]
	if c == nil {
		c = &checks{}
		e.checks[r.User] = c
	}
	if e.mayCheck(c, r.User) {
		c.running++
		r.Checking = true
		e.emit(effect.Check{Start: e.starting(r), Command: r.Options.If})
	} else {
		c.waiting = append(c.waiting, r)
	}
	return false
}

func (e *Engine) mayCheck(c *checks, user string) bool {
	most := e.slots.Limits.PerUser(user)
	return most == 0 || c.running < most
}

// checked handles the result of the command. If the command could not be run or was
// killed, the run is skipped.
func (e *Engine) checked(ev event.Checked) {
	r := e.live[ev.Run]
	if r == nil || !r.Checking || r.Gate != live.GateCheck {
		return
	}
	e.endCheck(r)
	if !ev.Outcome.OK() {
		r.Verdict = job.VerdictSkip
		e.dropFor(r, job.CheckRefused, ev.Outcome.String())
		return
	}
	r.Gate = live.GateCheck + 1
	e.goOn(r, job.RanAfterCheck)
}

// unask kills the command of if= for a run that is dropped while the command runs.
func (e *Engine) unask(r *live.Run) {
	if r.Checking && r.Gate == live.GateCheck {
		e.emit(effect.Kill{Run: r.ID, Signal: syscall.SIGKILL})
		e.endCheck(r)
	}
}

// endCheck notes that the command for a run has ended, so that startNext begins another one.
func (e *Engine) endCheck(r *live.Run) {
	r.Checking = false
	c := e.checks[r.User]
	if c.running--; len(c.waiting) > 0 {
		e.checkers = append(e.checkers, r.User)
	} else if c.running == 0 {
		delete(e.checks, r.User)
	}
}

// nextChecks continues the runs of a user that wait to be checked, as far as they may be.
func (e *Engine) nextChecks(user string) {
	c := e.checks[user]
	for c != nil && len(c.waiting) > 0 && e.mayCheck(c, user) {
		r := c.waiting[0]
		c.waiting = c.waiting[1:]
		if e.live[r.ID] == r && r.WaitsOn() == job.WaitsOnCheck && !r.Checking {
			e.goOn(r, job.RanAfterCheck)
		}
	}
	if c != nil && c.running == 0 {
		delete(e.checks, user)
	}
}

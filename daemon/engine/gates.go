package engine

import (
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
)

// gate is the position of a run between overlap= and its process. A run passes the gates
// in this order, and each gate can hold it back.
type gate uint8

const (
	gateOverlap gate = iota // behind earlier runs of its job: see admit and startNext
	gateCheck               // if=
	gateParents             // after=
	gatePlace               // pools, max-running
	gateToken               // a fencing token as new as the start
	gateOpen
)

// ask reports whether the current gate lets a run pass. If not, the gate has either
// dropped the run, or held it back and recorded that with wait; then it calls goOn when
// something changes.
func (e *Engine) ask(r *run) (passes bool) {
	switch r.gate {
	case gateCheck:
		return e.check(r)
	case gateParents:
		return e.parents(r)
	case gatePlace:
		return e.place(r)
	case gateToken:
		return e.renewToken(r)
	}
	return true
}

// pass takes a run through the remaining gates, and then starts it.
func (e *Engine) pass(r *run) {
	for ; r.gate < gateOpen; r.gate++ {
		if !e.ask(r) {
			return
		}
	}
	e.start(r)
}

// wait records that a run is held back. detail describes what it waits for, with names
// and numbers.
func (e *Engine) wait(r *run, on job.WaitsOn, detail string) {
	r.Wait(on)
	if r.recorded == nil {
		e.recordRun(job.Decided, job.DecideHold, r, detail)
		return
	}
	e.recordRun(job.Queued, "", r, detail)
}

// start records that a run begins, and starts it.
func (e *Engine) start(r *run) {
	r.State, r.Reason = job.RunDecided, r.cause
	if r.claim == nil {
		e.occupy(r)
	}
	if r.recorded == nil {
		e.recordRun(job.Decided, job.DecideRun, r, r.detail)
	} else {
		e.recordRun(job.Ready, "", r, r.detail)
	}
	e.emit(e.starting(r))
	e.progress(r, exchange.Begun)
}

// renewToken is the gate of the fencing token. If a run waited after its occurrence was
// granted, it claims the occurrence again, for a token greater than those of all runs of
// the job that started meanwhile. It keeps its slot until then.
func (e *Engine) renewToken(r *run) (passes bool) {
	if r.Token == 0 || r.tokenAt == e.now.Up {
		return true
	}
	if !e.reclaim(r) {
		return true
	}
	if r.claim == nil {
		e.occupy(r)
	}
	return false
}

// starting returns the Start of a run whose job is installed.
func (e *Engine) starting(r *run) Start {
	slot, _ := e.slotOf(r)
	return Start{Job: e.jobs.Job(slot), Run: r.Run, Entry: e.jobs.Entry(slot), LastSuccess: e.ledger(r.Job, r.User).Success}
}

// slotOf returns the job of a run.
func (e *Engine) slotOf(r *run) (slot int, ok bool) { return r.slot, r.slot >= 0 }

// locate sets the slot of a run. Each load of the crontabs updates it; see moveRuns.
func (e *Engine) locate(r *run) {
	r.slot = -1
	if slot, ok := e.jobs.Find(r.Job); ok {
		r.slot = slot
	}
}

// goOn continues a run that was held back, after what it waited for has changed. It first
// checks with the current options whether the job may run at all. If not, the run is
// dropped.
func (e *Engine) goOn(r *run, cause job.Reason) {
	slot, ok := e.slotOf(r)
	if !ok {
		e.drop(r, job.JobRemoved)
		return
	}
	if r.reclaimed { // resumeShared continues it when that is permitted
		return
	}
	j := e.firing(slot)
	j.run = r
	if !isOf(r, j.entry.User()) { // another user has a job of that name by now
		e.drop(r, job.JobRemoved)
		return
	}
	if against, detail := e.standing(j); against != "" {
		e.dropFor(r, against, detail)
		return
	}
	r.options, r.zone = j.options, j.entry.Zone().Location()
	if !e.stillDue(r, j) {
		return
	}
	if d := r.options.Deadline; d > 0 && !r.asked() && e.now.Wall.Sub(r.Due) > d {
		e.drop(r, job.PastDeadline)
		return
	}
	if e.outOfHours(r, j) {
		return
	}
	if r.options.Overlap != option.OverlapAllow && e.crowded(r) {
		r.gate = gateOverlap
		e.wait(r, job.WaitsOnRun, "")
		return
	}
	r.cause, r.detail = cause, ""
	if r.gate == gateOverlap {
		r.gate++
	}
	e.pass(r)
}

// gateOf returns the gate of a run that another daemon held back.
func gateOf(r *job.Run) gate {
	switch r.WaitsOn() {
	case job.WaitsOnRun:
		return gateOverlap
	case job.WaitsOnParents:
		return gateParents
	case job.WaitsOnRetry, job.WaitsOnSlot:
		return gatePlace
	}
	if r.Attempt > 1 {
		return gatePlace
	}
	return gateCheck
}

package engine

import (
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// gate is where a run stands on its way from overlap= to its process. The
// gates are passed in this order; each holds a run back as long as it must.
type gate uint8

const (
	gateOverlap gate = iota // behind earlier runs of its job: see admit and startNext
	gateCheck               // if=
	gateParents             // after=
	gatePlace               // pools, max-running
	gateToken               // a fencing token as new as the start
	gateOpen
)

// ask reports whether the gate before which a run is lets it pass. If not, the gate has
// dropped the run, or holds it back: then it has recorded that by wait, and calls goOn
// when something changed.
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

// pass takes a run through the gates that are left, and starts it behind the
// last one.
func (e *Engine) pass(r *run) {
	for ; r.gate < gateOpen; r.gate++ {
		if !e.ask(r) {
			return
		}
	}
	e.start(r)
}

// wait records that a run is held back. detail says what it waits for, with names and
// numbers.
func (e *Engine) wait(r *run, on job.WaitsOn, detail string) {
	r.Wait(on)
	if r.recorded == nil {
		e.recordRun(job.Decided, job.DecideHold, r, detail)
		return
	}
	e.recordRun(job.Queued, "", r, detail)
}

// start records that a run begins, and begins it.
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
	e.progress(r, Begun)
}

// renewToken is the gate of the fencing token. A run that waited since its occurrence was
// granted claims it again, for a token that is greater than those of all runs of the job
// that started meanwhile. It keeps its slot until then.
func (e *Engine) renewToken(r *run) (passes bool) {
	if r.Token == 0 || r.tokenAt == e.now.Up {
		return true
	}
	if e.reclaim(r); r.bid == nil {
		return true
	}
	if r.claim == nil {
		e.occupy(r)
	}
	return false
}

// starting is the Start of a run whose job is installed.
func (e *Engine) starting(r *run) Start {
	slot, _ := e.slotOf(r)
	return Start{Job: e.jobs.Job(slot), Run: r.Run, Entry: e.jobs.Entry(slot), LastSuccess: e.ledger(r.Job, r.User).Success}
}

// slotOf returns the job of a run.
func (e *Engine) slotOf(r *run) (slot int, ok bool) { return r.slot, r.slot >= 0 }

// locate finds the job of a run. Each load of the crontabs moves it; see moveRuns.
func (e *Engine) locate(r *run) {
	r.slot = -1
	if slot, ok := e.jobs.Find(r.Job); ok {
		r.slot = slot
	}
}

// goOn takes up a run that was held back, now that what held it has
// changed: the job of today is asked anew whether it may run at all. If not, the run
// is dropped.
func (e *Engine) goOn(r *run, cause job.Reason) {
	slot, ok := e.slotOf(r)
	if !ok {
		e.drop(r, job.JobRemoved)
		return
	}
	if r.bid != nil { // and it goes on when that is granted
		return
	}
	j := e.firing(slot)
	j.run = r
	if !isOf(r, j.entry.User()) { // the name is another account's by now
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
	if r.options.Overlap != crontab.OverlapAllow && e.crowded(r) {
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

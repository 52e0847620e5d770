package engine

import (
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// gate is where a run stands on its way from overlap= to its process. The
// gates are passed in this order; each holds a run back as long as it must.
type gate uint8

const (
	gateOverlap gate = iota // behind earlier runs of its job: see admit and promote
	gateCheck               // if=
	gateParents             // after=
	gatePlace               // pools, max-running
	gateToken               // a fencing token as new as the start
	gateOpen
)

// answer is what a gate says of a run.
type answer uint8

const (
	passes  answer = iota
	waits          // the gate has said so by wait, and calls goOn when something changed
	refused        // the gate has dropped the run
)

// ask is what the gate says that a run stands before. One without a word of
// its own lets every run pass.
func (e *Engine) ask(r *run) answer {
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
	return passes
}

// pass takes a run through the gates that are left, and starts it behind the
// last one. It reports false if one of them dropped the run.
func (e *Engine) pass(r *run) bool {
	for ; r.gate < gateOpen; r.gate++ {
		switch e.ask(r) {
		case waits:
			return true
		case refused:
			return false
		}
	}
	e.start(r)
	return true
}

// wait records that a run is held back: as queued while others must end first,
// as waiting otherwise. detail says what for, with names and numbers.
func (e *Engine) wait(r *run, state job.RunState, reason job.Reason, detail string) {
	r.State, r.Reason = state, reason
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
func (e *Engine) renewToken(r *run) answer {
	if r.Token == 0 || r.tokenAt == e.now.Up {
		return passes
	}
	if e.reclaim(r); r.bid == nil {
		return passes
	}
	if r.claim == nil {
		e.occupy(r)
	}
	return waits
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
// changed: the job of today is asked anew whether it may run at all. It reports
// false if the run was dropped.
func (e *Engine) goOn(r *run, cause job.Reason) bool {
	slot, ok := e.slotOf(r)
	if !ok {
		e.drop(r, job.JobRemoved)
		return false
	}
	if r.bid != nil { // and it goes on when that is granted
		return true
	}
	j := e.firing(slot)
	j.run = r
	if !isOf(r, j.entry.User()) { // the name is another account's by now
		e.drop(r, job.JobRemoved)
		return false
	}
	if against, detail := e.standing(j); against != "" {
		e.dropFor(r, against, detail)
		return false
	}
	r.options, r.zone = j.options, j.entry.Zone().Location()
	if !e.stillDue(r, j) {
		return false
	}
	if d := r.options.Deadline; d > 0 && !r.asked() && e.now.Wall.Sub(r.Due) > d {
		e.drop(r, job.PastDeadline)
		return false
	}
	if e.outOfHours(r, j) {
		return true
	}
	if r.options.Overlap != crontab.OverlapAllow && e.crowded(r) {
		r.gate = gateOverlap
		e.wait(r, job.RunQueued, job.WaitsForRun, "")
		return true
	}
	r.cause, r.detail = cause, ""
	if r.gate == gateOverlap {
		r.gate++
	}
	return e.pass(r)
}

// queuedAt is the gate of a run that another daemon held back for a reason.
func queuedAt(reason job.Reason, attempt int) gate {
	switch reason {
	case job.WaitsForRun:
		return gateOverlap
	case job.WaitsForParents:
		return gateParents
	case job.WaitsForRetry, job.WaitsForSlot:
		return gatePlace
	}
	if attempt > 1 {
		return gatePlace
	}
	return gateCheck
}

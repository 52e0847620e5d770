package engine

import (
	"syscall"
	"time"

	"github.com/cronring/cronring/daemon/engine/agenda"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/engine/gate"
	"github.com/cronring/cronring/daemon/engine/live"
	"github.com/cronring/cronring/daemon/job"
)

// ask reports whether the current gate lets a run pass. If not, the gate has either
// dropped the run, or held it back and recorded that with wait; then it calls goOn when
// something changes.
func (e *Engine) ask(r *live.Run) (passes bool) {
	switch r.Gate {
	case live.GateConditions:
		return e.conditions(r)
	case live.GateCheck:
		return e.check(r)
	case live.GateParents:
		return e.parents(r)
	case live.GateSlots:
		return e.passSlots(r)
	case live.GateToken:
		return e.renewToken(r)
	}
	return true
}

// pass takes a run through the remaining gates, and then starts it.
func (e *Engine) pass(r *live.Run) {
	for ; r.Gate < live.GateOpen; r.Gate++ {
		if !e.ask(r) {
			return
		}
	}
	e.start(r)
}

// wait records that a run is held back. detail has the names and numbers of what it waits
// for.
func (e *Engine) wait(r *live.Run, on job.WaitsOn, detail job.Detail) {
	r.Wait(on)
	r.KeepParents()
	r.Detail = detail
	if r.Recorded == nil {
		e.recordRun(job.Decided, job.DecideHold, r, detail)
		return
	}
	e.recordRun(job.Queued, "", r, detail)
}

// start records that a run begins, and starts it.
func (e *Engine) start(r *live.Run) {
	r.State, r.Reason, r.Detail = job.RunDecided, r.Cause, ""
	if r.Claim == nil {
		e.occupy(r)
	}
	if r.Recorded == nil {
		e.recordRun(job.Decided, job.DecideRun, r, r.CauseDetail)
	} else {
		e.recordRun(job.Ready, "", r, r.CauseDetail)
	}
	e.emit(e.starting(r))
	e.progress(r, exchange.Begun)
}

// renewToken is the gate of the fencing token. If a run waited after its occurrence was
// granted, it claims the occurrence again, for a token greater than those of all runs of
// the job that started meanwhile. It keeps its slot until then, but not while the daemon drains.
func (e *Engine) renewToken(r *live.Run) (passes bool) {
	switch {
	case e.draining:
		r.Gate = live.GateSlots
		return e.passSlots(r)
	case r.Token == 0 || r.TokenAt == e.now.Up || !e.reclaim(r):
		return true
	case r.Claim == nil:
		e.occupy(r)
	}
	e.wait(r, job.WaitsOnClaim, "")
	return false
}

// starting returns the Start of a run whose job is installed.
func (e *Engine) starting(r *live.Run) effect.Start {
	entry := e.jobs.Entry(r.Slot)
	return effect.Start{Job: catalog.Describe(r.Job, entry), Run: r.Run, Entry: entry, LastSuccess: e.summary(r.Job, r.User).Success}
}

// locate sets the slot of a run. Each load of the crontabs updates it; see moveRuns.
func (e *Engine) locate(r *live.Run) {
	r.Slot = -1
	if slot, ok := e.jobs.Find(r.Job); ok {
		r.Slot = slot
	}
}

// refresh gives a run the current options of its entry. It reports false if the job is not
// installed any longer, or its name belongs to a job of another user by now.
func (e *Engine) refresh(r *live.Run) bool {
	if !r.IsInstalled() || !live.IsOf(r, e.jobs.Entry(r.Slot).User()) {
		return false
	}
	r.Options, r.Zone = e.jobs.Options(r.Slot), e.jobs.Entry(r.Slot).Zone().Location()
	return true
}

// goOn continues a run that was held back, after what it waited for has changed. It first
// checks with the current options whether the job may run at all. If not, the run is
// dropped, or handed over if that is for a reason of this host, such as that the user was removed.
func (e *Engine) goOn(r *live.Run, cause job.Reason) {
	switch {
	case !r.IsInstalled():
		e.drop(r, job.JobRemoved)
		return
	case r.Reclaimed: // resumeShared continues it when that is permitted
		return
	case !live.IsOf(r, e.jobs.Entry(r.Slot).User()): // another user has a job of that name by now
		e.drop(r, job.JobRemoved)
		return
	case r.WaitsOn() == job.WaitsOnHours:
		r.Opened = e.now.Past(r.NotBefore)
	}
	o, d := e.judgeAgain(r, cause)
	switch {
	case d.Do == job.DecideSkip && !e.isCandidate(r.Slot) && e.isForOthers(r):
		e.drop(r, job.HandedOver)
		if r.Attempt > 1 {
			e.handOver(r)
		} else {
			e.giveUp(r)
		}
		return
	case d.Do == job.DecideSkip:
		e.dropFor(r, d.Reason, d.Detail)
		return
	}
	r.Options, r.Zone = o.Options, o.Zone
	if d.Do == job.DecideHold {
		e.hold(r, d)
		return
	}
	if cause != r.Cause {
		r.Cause, r.CauseDetail = cause, ""
	}
	r.Gate = max(r.Gate, live.FirstGate(&r.Run))
	e.pass(r)
}

// judgeAgain judges the occurrence of a run that exists.
func (e *Engine) judgeAgain(r *live.Run, cause job.Reason) (gate.Occurrence, gate.Decision) {
	o := e.occurrence(r.Slot, r.Due, r.Trigger, cause)
	o.Run, o.By, o.Forced, o.Backfill = r, r.By, r.Forced, r.Backfill
	return o, e.judge(&o)
}

// conditions is the gate of the conditions of the host. Forced runs and further attempts skip it.
func (e *Engine) conditions(r *live.Run) (passes bool) {
	c := r.Options.Conditions
	switch {
	case c == nil || r.Forced:
		return true
	case r.Measuring:
		return false
	case r.WaitsOn() != job.WaitsOnConditions:
		r.NotBefore, r.Unmet = e.now.Wall, ""
		e.wait(r, job.WaitsOnConditions, "")
	}
	r.Measuring = true
	e.emit(effect.Measure{Run: r.ID, User: r.User, Conditions: c})
	return false
}

// measured handles the result of the measurement.
func (e *Engine) measured(ev event.Measured) {
	r := e.live[ev.Run]
	if r == nil || !r.Measuring {
		return
	}
	if r.Measuring = false; r.Gate != live.GateConditions { // an edit removed them
		return
	}
	switch {
	case ev.Unmet.Options == "":
		r.Gate = live.GateConditions + 1
		e.goOn(r, r.Cause)
	case ev.Unmet.Skip:
		r.Verdict = job.VerdictSkip
		e.dropFor(r, job.ConditionUnmet, ev.Unmet.Detail)
	default:
		r.NotBefore = e.now.Wall.Add(live.Remeasure(r.Invocation))
		if r.Unmet != ev.Unmet.Options {
			r.Unmet = ev.Unmet.Options
			e.wait(r, job.WaitsOnConditions, ev.Unmet.Detail)
		}
		e.timers.Add(agenda.Timer{At: e.now.UpAt(r.NotBefore), Run: r.ID, Kind: agenda.WaitOver})
	}
}

// check is the gate of if=: the exit status of a command decides whether an occurrence
// runs. Forced runs and further attempts skip it. Of each user, as many commands run as runs
// could (max-running-per-user); the others wait.
func (e *Engine) check(r *live.Run) (passes bool) {
	if r.Options.If == "" || r.Forced {
		return true
	}
	if r.WaitsOn() != job.WaitsOnCheck {
		r.NotBefore = e.now.Wall
		e.wait(r, job.WaitsOnCheck, "")
	}
	if !e.checks.Runs(r.ID) && e.checks.Begin(r, e.slots.Limits.PerUser(r.User)) {
		e.emit(effect.Check{Start: e.starting(r), Command: r.Options.If})
	}
	return false
}

// checked handles the result of the command. If the command could not be run or was
// killed, the run is skipped.
func (e *Engine) checked(ev event.Checked) {
	r := e.live[ev.Run]
	if !e.checks.End(ev.Run) || r == nil || r.Gate != live.GateCheck {
		return
	}
	if !ev.Outcome.OK() {
		r.Verdict = job.VerdictSkip
		e.dropFor(r, job.CheckRefused, job.DetailResult(&job.Run{Outcome: ev.Outcome}))
		return
	}
	r.Gate = live.GateCheck + 1
	e.goOn(r, job.RanAfterCheck)
}

// unask kills the command of if= for a run that is dropped while the command runs. It counts until
// it has ended: a system call can delay that.
func (e *Engine) unask(r *live.Run) {
	if e.checks.Runs(r.ID) {
		e.emit(effect.Kill{Run: r.ID, Signal: syscall.SIGKILL})
	}
}

// nextCheck continues a run that waited for its command, and reports whether there is one.
func (e *Engine) nextCheck() bool {
	r := e.checks.Next(e.slots.Limits.PerUser)
	if r == nil {
		return false
	}
	if e.live[r.ID] == r && r.WaitsOn() == job.WaitsOnCheck {
		e.goOn(r, job.RanAfterCheck)
	}
	return true
}

// A run takes a slot before it starts; see package slots. A forced run does not wait for
// one. The exception is a user other than root who already has as many runs as
// max-running-per-user allows: users cannot exceed their own limit.

// startsPerStep limits the waiting runs that one step starts; the next step starts the
// rest, as with the firing of schedules.
const startsPerStep = 64

// dispatchState is the state of dispatch.
type dispatchState struct {
	left   int       // how many waiting runs can still start in this step
	chosen *live.Run // the run that is being served
	asker  *live.Run // the run for which dispatch looks for a slot
}

// needsSlot reports whether a run starts only with a slot.
func (e *Engine) needsSlot(r *live.Run) bool { return e.slots.Limits.Bind(r.User, r.Options.Pool) }

// passSlots is the gate of slots. No run passes it while the daemon drains.
func (e *Engine) passSlots(r *live.Run) (passes bool) {
	switch {
	case r == e.dispatching.chosen:
		return true
	case e.draining:
		e.lineUp(r)
		e.wait(r, job.WaitsOnSlot, job.DetailBeingReplaced)
		if e.needsSlot(r) {
			e.overflow(r.User)
		}
		return false
	case r.Forced && (r.By == "root" || !e.slots.IsFull(r.User)) || !e.needsSlot(r):
		return true
	}
	e.lineUp(r)
	left := e.dispatching.left
	if e.dispatch(r) {
		return e.dispatching.left == left || e.mayStill(r)
	}
	if !r.IsLinedUp() { // it was served while another run was dropped, and another queued run of its job took over
		return false
	}
	e.wait(r, job.WaitsOnSlot, e.slots.Describe(r.Claim, e.now.Up))
	e.overflow(r.User)
	return false
}

// mayStill drops a run if the runs that were continued before it changed the decision: if they were
// dropped as failures, breaker= may hold the job by now.
func (e *Engine) mayStill(r *live.Run) bool {
	_, d := e.judgeAgain(r, r.Cause)
	if d.Do != job.DecideSkip {
		return true
	}
	if r.Recorded == nil {
		e.wait(r, job.WaitsOnSlot, "")
	}
	e.dropFor(r, d.Reason, d.Detail)
	return false
}

// overflow drops a waiting run of a user if too many wait: the last in the queue, which can
// be another one than the run that arrived.
func (e *Engine) overflow(user string) {
	most := e.slots.Limits.Queue()
	if e.slots.WaitingOf(user) <= most {
		return
	}
	r := e.live[e.slots.Last(user).Run]
	if r.Recorded == nil { // dispatch is looking for its slot
		e.wait(r, job.WaitsOnSlot, e.slots.Describe(r.Claim, e.now.Up))
	}
	e.slots.NoteOverflow(user, e.now.Wall)
	e.dropFor(r, job.QueueOverflow, job.DetailQueueMax(most))
}

// dispatch continues waiting runs in order, as long as there are free slots. It stops
// when it reaches asker, and reports whether it did.
func (e *Engine) dispatch(asker *live.Run) bool {
	s := &e.dispatching
	if s.chosen != nil || e.draining || !e.slots.Ready(e.now.Up) {
		return false
	}
	s.asker = asker
	defer func() { s.asker = nil }()
	for s.left > 0 {
		c := e.slots.Next(e.now.Up)
		if c == nil {
			return false
		}
		r := e.live[c.Run]
		r.Claim = nil
		if r == asker {
			return true
		}
		s.left--
		s.chosen = r
		e.goOn(r, job.RanAfterSlot)
		s.chosen = nil
	}
	return false
}

// lineUp puts a run into the queue for the slots that it needs.
func (e *Engine) lineUp(r *live.Run) {
	e.releaseSlots(r)
	r.Claim = live.NewClaim(r)
	e.slots.LineUp(r.Claim)
}

// occupy assigns slots to a run that starts, or is found running, even if this exceeds
// the limits.
func (e *Engine) occupy(r *live.Run) {
	if !e.needsSlot(r) {
		return
	}
	r.Claim = live.NewClaim(r)
	e.slots.Occupy(r.Claim, e.begunAt(r))
}

// begunAt is the time since boot at which a run started, or starts now.
func (e *Engine) begunAt(r *live.Run) time.Duration {
	if r.Run.Started.IsZero() {
		return e.now.Up
	}
	return e.now.UpAt(r.Run.Started)
}

// releaseSlots frees the slots that a run holds, or takes it out of the queue.
func (e *Engine) releaseSlots(r *live.Run) {
	if c := r.Claim; c != nil {
		r.Claim = nil
		e.slots.Release(c)
	}
}

// progress sends the phase of an occurrence to the ring.
func (e *Engine) progress(r *live.Run, p exchange.Phase) {
	if e.isShared(r) {
		e.ring.send(exchange.ProgressOf(&r.Run, p))
	}
}

// isForOthers reports whether another member can run the occurrence of a run that cannot start here.
func (e *Engine) isForOthers(r *live.Run) bool {
	return e.isShared(r) && e.ring.view.Others(job.KeyOf(r.Job, r.User), r.Tried)
}

// handOver gives the occurrence of a run that could not start, or of a further attempt that waited, to the
// other members. If none of them takes it, the ring permits it here again, to be recorded as failed.
func (e *Engine) handOver(r *live.Run) {
	e.ring.handed[e.giveUp(r)] = r
}

// giveUp gives the occurrence of a run to the other members.
func (e *Engine) giveUp(r *live.Run) exchange.Occurrence {
	p := exchange.ProgressOf(&r.Run, exchange.Taken)
	p.GivenUp = true
	e.ring.send(p)
	return p.Occurrence
}

// handedTime is how long after a run was handed over a restarted daemon checks that another member has
// its occurrence.
const handedTime = 5 * time.Minute

// handOverAgain hands over a run that could not start before the daemon was restarted, so that this member
// does not try it again, and records it as failed if no other one takes it.
func (e *Engine) handOverAgain(old job.Run) {
	r := &live.Run{Run: old, Recorded: &old}
	e.locate(r)
	if e.refresh(r) && e.isShared(r) && e.now.Wall.Sub(old.Ended).Abs() <= handedTime {
		e.handOver(r)
	}
}

// reclaim makes a run that has not begun wait until the ring permits it again. It reports
// false if the run needs no permit.
func (e *Engine) reclaim(r *live.Run) (waits bool) {
	if !r.IsInstalled() || !e.isShared(r) {
		return false
	}
	r.Reclaimed = true
	e.ring.send(exchange.Unstarted{Progress: exchange.ProgressOf(&r.Run, exchange.Taken)})
	return true
}

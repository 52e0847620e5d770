package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/agenda"
	"github.com/cronring/cronring/daemon/engine/live"
	"github.com/cronring/cronring/daemon/job"
)

// restore handles the runs that were live when the previous daemon ended, and runs
// @reboot entries at the first start after boot.
func (e *Engine) restore() {
	memory := e.memory
	e.memory = nil
	for _, l := range e.summaries {
		e.updateProblems(l)
	}
	adopted := make(map[job.RunID]Adopted, len(memory.Adopted))
	for _, a := range memory.Adopted {
		adopted[a.Run] = a
	}
	e.following = true // postpone followAll until all live runs are restored
	for _, r := range memory.Live {
		e.nextRun = max(e.nextRun, r.ID+1) // before a lost one makes another
	}
	later := e.awaited.Users()
	for _, r := range watchedFirst(memory.Live, adopted) {
		_, installed := e.jobs.Find(r.Job)
		switch a, lives := adopted[r.ID]; {
		case lives:
			e.adopt(r, a)
		case !installed && later[r.User]:
			e.awaited.Live = append(e.awaited.Live, r)
		default:
			e.restoreRun(r, memory.LastSeen)
		}
	}
	for _, r := range memory.Handed {
		e.handOverAgain(r)
	}
	if memory.Booted { // before the ends of lost runs start the same jobs, at other instants: see freshDue
		e.boot(func(*crontab.File) bool { return true })
	}
	e.followAll()
	e.freed = slices.Sorted(maps.Keys(e.byJob))
	e.startNext()
}

// restoreRun handles a run that has no process.
func (e *Engine) restoreRun(r job.Run, lastSeen time.Time) {
	if r.State == job.RunQueued || r.State == job.RunWaiting {
		e.restoreWaiting(r, lastSeen)
	} else {
		e.lose(r)
	}
}

// lose records the end of a run whose end was not observed. The current options of its
// entry decide the verdict.
func (e *Engine) lose(r job.Run) {
	r.State, r.Ended, r.Reason = job.RunEnded, e.now.Wall, job.DaemonDied
	r.Outcome = job.Outcome{Kind: job.Lost}
	lost := &live.Run{Run: r, Options: option.DefaultOptions()}
	e.locate(lost)
	e.refresh(lost)
	lost.Verdict = live.Judge(lost)
	e.recordRun(job.Ended, "", lost, "")
	e.conclude(lost)
}

// restoreWaiting restores a queued or waiting run. If catchup= skips the run because of
// the time without a daemon, the run is dropped.
func (e *Engine) restoreWaiting(old job.Run, lastSeen time.Time) {
	r := &live.Run{Run: old, Recorded: &old, Gate: live.GateOf(&old), Options: option.DefaultOptions()}
	e.locate(r)
	installed := e.refresh(r)
	e.add(r)
	if !installed {
		e.drop(r, job.JobRemoved)
		return
	}
	e.watchStart(r)
	if e.reclaim(r) {
		r.StoredAt = lastSeen
		return
	}
	e.goOnWaiting(r, lastSeen)
}

// SignOfLife is the interval at which a daemon with waiting runs stores that it is alive,
// if it has nothing else to store. After a crash, the lateness of a waiting run is
// therefore measured from shortly before the crash, and not from the last start or end of
// a run before it.
const SignOfLife = time.Minute

// HasWaiting reports whether runs wait.
func (e *Engine) HasWaiting() bool { return len(e.stalled) > 0 }

// goOnWaiting makes a restored run wait again for what it waited for.
func (e *Engine) goOnWaiting(r *live.Run, lastSeen time.Time) {
	old, on := r.Run, r.WaitsOn()
	if on == job.WaitsOnParents { // see reconsider
		e.giveUpLater(r)
		return
	}
	due := e.now.Past(lastSeen.Add(SignOfLife))
	if old.NotBefore.After(due) {
		due = old.NotBefore
	}
	var p agenda.Plan
	if !r.Requested() { // as for the occurrences that a user requests
		p = e.catchup(r.Slot, []time.Time{due})
	}
	switch {
	case p.TooLate == 1:
		e.drop(r, job.PastDeadline)
	case p.Missed == 1 && !r.IsOfEvent():
		e.drop(r, p.Reason)
	case on == job.WaitsOnDelay && old.NotBefore.Before(e.now.Wall): // wait for the whole delay again: it reduces the load of a host that starts
		r.NotBefore = e.delayAgain(r)
		e.wait(r, on, job.DetailUntil(r.NotBefore.In(r.Zone)))
		e.timers.Add(agenda.Timer{At: e.now.UpAt(r.NotBefore), Run: r.ID, Kind: agenda.WaitOver})
	case on == job.WaitsOnCheck: // the result of the command is not known
		e.goOn(r, job.RanAfterCheck)
	case on == job.WaitsOnSlot || on == job.WaitsOnClaim:
		e.lineUp(r)
	case on == job.WaitsOnRetry:
		e.timers.Add(agenda.Timer{At: e.waitOver(r), Run: r.ID, Kind: agenda.WaitOver})
	case r.WaitsForTime():
		e.timers.Add(agenda.Timer{At: e.now.UpAt(old.NotBefore), Run: r.ID, Kind: agenda.WaitOver})
	}
}

// waitOver returns when a restored run has waited long enough: at its NotBefore, but in no
// longer time than it began to wait for, because the clock may have been set back.
func (e *Engine) waitOver(r *live.Run) time.Duration {
	return min(e.now.UpAt(r.NotBefore), e.now.In(r.NotBefore.Sub(r.Decided)))
}

// delayAgain returns until when a run waits for its delay that was over while no daemon ran.
func (e *Engine) delayAgain(r *live.Run) time.Time {
	if p := r.Options.Period; p != nil {
		return agenda.StartOf(e.stamps, p, e.now.Wall, r.Zone)
	}
	o := e.occurrence(r.Slot, r.Due, r.Trigger, r.Cause)
	o.Wait = e.caught.Wait(r.User, e.now.Up)
	e.caught.Count(r.User, e.now.Up)
	return e.now.Wall.Add(o.Scattered(e.now.Wall))
}

// boot runs the @reboot entries of some crontabs, in order.
func (e *Engine) boot(of func(*crontab.File) bool) {
	for slot := range e.jobs.Len() {
		if entry := e.jobs.Entry(slot); entry.Schedule != timetable.Reboot || !of(entry.File()) {
			continue
		}
		e.marks[slot] = max(e.marks[slot], e.now.Wall.UnixNano()) // an event now is another occurrence
		o := e.occurrence(slot, e.now.Wall, job.TriggerBoot, job.AtBoot)
		e.decide(&o)
	}
}

// watchedFirst moves adopted runs before the others, so that they take their slots first.
func watchedFirst(live []job.Run, adopted map[job.RunID]Adopted) []job.Run {
	ordered := slices.Clone(live)
	rank := func(r job.Run) int {
		if _, watched := adopted[r.ID]; watched {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(ordered, func(a, b job.Run) int { return rank(a) - rank(b) })
	return ordered
}

// adopt continues a run whose process survived the previous daemon. Its time limit counts
// from the start of the process. If a person stopped the run, it is killed when the grace
// of that stop is over. If it was stopped for another reason, it gets its whole grace
// again. If the run has no process yet, the caller that adopted it is about to start it.
func (e *Engine) adopt(old job.Run, a Adopted) {
	r := &live.Run{Run: old, Recorded: &old, Gate: live.GateOpen, Options: option.DefaultOptions(), StopReason: a.Stop}
	e.locate(r)
	e.refresh(r)
	if r.StopReason == "" && old.Stop != nil {
		r.StopReason = old.Stop.Reason() // the daemon ended before it could include the reason in the hand-over
	}
	e.add(r)
	e.occupy(r)
	if a.PID == 0 && old.State == job.RunDecided {
		return
	}
	if a.Up == 0 { // not known: the stored start is a close approximation
		a.Up = e.now.Up
		if !old.Started.IsZero() {
			a.Up = e.now.UpAt(old.Started)
		}
	}
	unsaid := old.State != job.RunRunning // the daemon ended before it recorded the process
	if unsaid {
		r.State, r.PID = job.RunRunning, a.PID
		e.stalled.Remove(r)
		r.Run.Started = e.now.Wall.Add(a.Up - e.now.Up)
		e.recordRun(job.Started, "", r, "")
	}
	e.watchRun(r, a.Up)
	if !a.Mute {
		e.watchLife(r)
	}
	switch {
	case r.StopReason != "" && unsaid: // and before it sent the signal
		e.press(r)
	case r.StopReason == job.StopAsked && old.Stop != nil:
		grace := r.Grace()
		e.killAt(r, min(e.now.UpAt(old.Stop.At.Add(grace)), e.now.In(grace))) // the clock may have been set
	case r.StopReason != "":
		e.killLater(r)
	case r.Options.Timeout > 0:
		e.timers.Add(agenda.Timer{At: job.Sum(a.Up, r.Options.Timeout), Run: r.ID, Kind: agenda.Timeout})
	}
}

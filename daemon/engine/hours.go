package engine

import (
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/engine/agenda"
	"github.com/cronring/cronring/daemon/engine/live"
	"github.com/cronring/cronring/daemon/job"
)

// The schedule of an entry has no occurrences outside of window= and blackout=, or has
// them moved. A run can still be ready to start outside of them: because it was caught
// up, waited for others, or was not started by the clock. Then it waits, or is dropped.
// A blackout of the host has the same effect on all jobs.

// waitsOutside reports whether a run waits outside of its hours. Otherwise it is dropped.
func waitsOutside(o *option.Options) bool { return o.WaitOutside || o.Period != nil }

// blackedOut is the part of standing that checks blackouts of the host. While a run of
// the job waits for the end of a blackout, further occurrences are skipped. What a
// person requests is not skipped; see objection.
func (e *Engine) blackedOut(j *firing) (detail string) {
	if len(e.blackouts) == 0 || j.by != "" || j.run != nil && j.run.Requested() {
		return ""
	}
	opens, against := e.blackouts.Opens(nil, e.now.Wall)
	if against == "" || !waitsOutside(j.options) || opens.IsZero() {
		return against
	}
	for _, r := range live.OfUser(e.byJob[j.id], j.entry.User()) {
		if r != j.run && r.WaitsOn() == job.WaitsOnHours {
			return against + "; " + r.DescribeState(e.now.Wall)
		}
	}
	return ""
}

// beginOutside is begin for an occurrence that must not start now. An occurrence on time
// counts at its due time. handled is false if the occurrence may start, or a person
// requested it.
func (e *Engine) beginOutside(j *firing, due time.Time, t job.Trigger, reason job.Reason) (r *live.Run, handled bool) {
	if j.options.Hours == nil && len(e.blackouts) == 0 || j.by != "" && j.backfill == 0 {
		return nil, false
	}
	at := e.now.Wall
	if t == job.TriggerClock && at.Sub(due) <= j.options.Grace {
		at = due
	}
	opens, against := e.blackouts.Opens(j.options.Hours, at)
	switch {
	case against == "":
		return nil, false
	case opens.IsZero() || !waitsOutside(j.options) && j.backfill == 0:
		e.skip(j, due, due, 1, job.OutsideHours, against)
		return nil, true
	}
	r = e.newRun(j, due, t)
	r.Gate, r.Cause, r.Detail = live.GateOverlap+1, reason, j.detail
	e.waitForHours(r, opens, against)
	return r, true
}

// outsideHours makes a run that was held back wait further, or drops it, if the job must
// not start now.
func (e *Engine) outsideHours(r *live.Run) (stopped bool) {
	if r.Options.Hours == nil && len(e.blackouts) == 0 || r.Requested() && r.Backfill == 0 {
		return false
	}
	opens, against := e.blackouts.Opens(r.Options.Hours, e.now.Wall)
	switch {
	case against == "":
		return false
	case opens.IsZero() || !waitsOutside(r.Options) && r.Backfill == 0:
		e.dropFor(r, job.OutsideHours, against)
	default:
		e.waitForHours(r, opens, against)
	}
	return true
}

func (e *Engine) waitForHours(r *live.Run, opens time.Time, against string) {
	r.NotBefore = opens
	e.wait(r, job.WaitsOnHours, live.DescribeWait(r)+", "+against)
	e.timers.Add(agenda.Timer{At: e.now.UpAt(opens), Run: r.ID, Kind: agenda.WaitOver})
}

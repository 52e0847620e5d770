package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/agenda"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/engine/live"
	"github.com/cronring/cronring/daemon/job"
)

// fire decides the occurrences of all schedules that are due.
func (e *Engine) fire() {
	if e.draining {
		return
	}
	e.pending = e.agenda.Due(e.now.Wall, e.pending)
	e.holdFaulty()
	room, n := stepSize*e.pace, 0
	var seen agenda.Lookup
	for n < len(e.pending) && room > 0 && seen.Asked < mostAsked {
		before := len(e.out)
		e.decide(e.pending[n], e.now.Wall, &seen)
		if e.jobs.HasEdges() {
			e.updateWaiting(e.pending[n])
		}
		room -= max(len(e.out)-before, min(len(e.jobs.RingJobs()), 1)) // checking an occurrence of a ring has a cost too
		n++
	}
	e.pending = e.pending[n:]
}

// mostAsked limits how often a step calls schedules to find missed occurrences; the next
// step does the rest. The limit takes about 2 ms.
const mostAsked = 20_000

// decide decides every occurrence of one job from its mark until an instant: it passes
// them through the gates, in order.
func (e *Engine) decide(slot int, until time.Time, seen *agenda.Lookup) {
	entry := e.jobs.Entry(slot)
	due := seen.Between(entry.Schedule, e.marks[slot], until)
	if due.Empty() || entry.Options().Scope == option.ScopeRing && e.claimDue(slot, due) {
		return
	}
	e.marks[slot] = due.Last().UnixNano()
	j := e.firing(slot)

	if reason, detail := e.standing(j); reason != "" {
		e.skip(j, due.First, due.Last(), due.Older+len(due.List), reason, detail)
		return
	}
	if j.options.Period != nil {
		e.decidePeriod(j, due)
		return
	}
	p := agenda.Catchup(j.options, timetable.FixedTime(entry.Schedule), due.List, e.now.Wall)
	e.skipOld(j, due, p)
	for i, at := range due.List[p.Missed:] {
		if p.Missed+i < p.OnTime {
			e.admit(j, at, job.TriggerCatchup, job.CaughtUp)
		} else {
			e.admit(j, at, job.TriggerClock, job.OnTime)
		}
	}
}

// firing is a job whose occurrence is being decided.
type firing struct {
	slot     int
	id       job.ID
	entry    *crontab.Entry
	options  *option.Options
	by       string           // the user who requested a manual run
	forced   bool             // --force was used
	env      []string         // additional environment of a manual run
	backfill int64            // ID of its backfill, or 0
	dead     *job.Run         // the dead letter that is run again; or nil
	run      *live.Run        // the waiting run that is checked again, or nil
	parents  []job.Parent     // the parent whose end starts it, by on=
	detail   string           // how the parent ended
	granted  *exchange.Permit // by which it starts, or nil
}

func (e *Engine) firing(slot int) *firing {
	return &firing{slot: slot, id: e.jobs.ID(slot), entry: e.jobs.Entry(slot), options: e.jobs.Options(slot)}
}

// standing is the first gate. It returns why the job must not run, or "" if it may run.
func (e *Engine) standing(j *firing) (reason job.Reason, detail string) {
	if !j.options.Enabled {
		return job.IsDisabled, ""
	}
	if j.options.Held != "" {
		return job.IsHeld, j.options.Held
	}
	if !catalog.IsHere(j.options, e.node) {
		return job.OtherHost, "this is " + e.node
	}
	if detail = catalog.Misfit(j.options, e.labels); detail != "" {
		return job.OtherLabels, detail
	}
	if b, ok := e.bars[j.entry.User()]; ok {
		return b.Reason, b.Detail
	}
	if reason, detail = e.paused(j); reason != "" {
		return reason, detail
	}
	if detail = e.broken(j); detail != "" {
		return job.Broken, detail
	}
	return "", ""
}

// paused is the part of standing that checks pauses. It ends a pause that is over.
func (e *Engine) paused(j *firing) (reason job.Reason, detail string) {
	h, ok := e.holds.Of(j.id, j.entry.User())
	switch {
	case !ok || e.now.Wall.Before(h.From):
		return "", ""
	case !h.Until.IsZero() && !e.now.Wall.Before(h.Until):
		e.setHold(j.id, j.entry.User(), nil)
		e.record(job.Record{Kind: job.Resumed, Job: j.id, User: j.entry.User(), Detail: "the pause was until " + h.Until.Format(time.RFC3339)})
		return "", ""
	case h.Reason != "":
		return job.IsPaused, "by " + h.By + ": " + h.Reason
	default:
		return job.IsPaused, "by " + h.By
	}
}

// skipOld records the occurrences that the plan skips.
func (e *Engine) skipOld(j *firing, due agenda.Occurrences, p agenda.Plan) {
	e.skipWith(j, agenda.LeftOut(due, p))
}

func lateness(now, due time.Time) string {
	return now.Sub(due).Round(time.Second).String() + " late"
}

// skip records that count occurrences from first to last do not run.
func (e *Engine) skip(j *firing, first, last time.Time, count int, reason job.Reason, detail string) {
	r := job.Record{
		Kind: job.Decided, Job: j.id, Due: last, Era: e.eraOf(j.options),
		Decision: job.DecideSkip, Reason: reason, Detail: detail, User: j.entry.User(),
	}
	if count > 1 {
		r.First, r.Count = first, count
	}
	e.record(r)
	e.notifyMissed(j.id, j.entry.User(), j.options, missedRuns{first, last, count, reason, detail, j.entry.Zone().Location(), nil})
}

// admit is the gate of hours, once-per= and overlap=: it starts the occurrence, queues it or skips it. It returns
// nil if it skips the occurrence.
func (e *Engine) admit(j *firing, due time.Time, t job.Trigger, reason job.Reason) *live.Run {
	e.startNextOf(j.id)
	if success := e.oncePerSuccess(j, due); success != "" {
		e.skip(j, due, due, 1, job.AlreadyRan, success)
		return nil
	}
	if against := e.skippedOutside(j, due, t); against != "" {
		e.skip(j, due, due, 1, job.OutsideHours, against)
		return nil
	}
	runs := live.OfUser(e.byJob[j.id], j.entry.User())
	if many := live.TooMany(j.options, runs); many != "" {
		e.skip(j, due, due, 1, job.TooMany, many)
		return nil
	}
	if many := e.flooded(j, runs); many != "" {
		e.skip(j, due, due, 1, job.TooManyWait, many)
		return nil
	}
	if len(runs) == 0 || j.options.Overlap == option.OverlapAllow {
		return e.begin(j, due, t, reason)
	}
	behind := runs[0].DescribeState(e.now.Wall)
	switch j.options.Overlap {
	case option.OverlapSkip:
		e.skip(j, due, due, 1, job.Overlapping, behind)
		return nil
	case option.OverlapQueue:
		if q := live.Queued(runs); q != nil {
			e.skip(j, due, due, 1, job.QueueFull, fmt.Sprintf("run %d is queued for %s", q.ID, q.Due.Format(time.RFC3339)))
			return nil
		}
	case option.OverlapReplace, option.OverlapKill:
		e.clear(runs)
	}
	r := e.enqueue(j, due, t, behind)
	e.startNextOf(j.id)
	return r
}

// clear stops all live runs of a job, so that a newer one can start.
func (e *Engine) clear(live []*live.Run) {
	for _, r := range slices.Clone(live) {
		if r.State == job.RunQueued || r.State == job.RunWaiting {
			e.drop(r, job.Replaced)
		} else {
			e.stop(r, job.Replaced)
		}
	}
}

// begin makes a run for an occurrence that no other run of its job blocks, and passes it
// through the gates. Outside of its hours the run waits; see skippedOutside.
func (e *Engine) begin(j *firing, due time.Time, t job.Trigger, reason job.Reason) *live.Run {
	opens, against := e.opensFor(j, due, t)
	r := e.newRun(j, due, t)
	r.Gate, r.Cause, r.Detail = live.GateOverlap+1, reason, j.detail
	if against != "" {
		e.waitForHours(r, opens, against)
	} else {
		e.pass(r)
	}
	return r
}

// enqueue records that an occurrence waits for another run.
func (e *Engine) enqueue(j *firing, due time.Time, t job.Trigger, behind string) *live.Run {
	r := e.newRun(j, due, t)
	e.wait(r, job.WaitsOnRun, behind)
	return r
}

// newRun makes the first run of a job's occurrence.
func (e *Engine) newRun(j *firing, due time.Time, t job.Trigger) *live.Run {
	era := e.eraOf(j.options)
	r := &live.Run{Options: j.options, Zone: j.entry.Zone().Location(), Forced: j.forced, Run: job.Run{
		ID: e.nextRun, Job: j.id, Due: due, Era: era, Attempt: 1, Trigger: t, By: j.by,
		User: j.entry.User(), Decided: e.now.Wall, Backfill: j.backfill, Parents: j.parents, Env: j.env,
	}}
	switch {
	case j.dead != nil:
		r.Env = j.dead.Env
		r.Era, r.Invocation, r.Parents = j.dead.Era, j.dead.Invocation, j.dead.Parents
	case t == job.TriggerManual || t == job.TriggerDependency:
		r.Invocation = job.Invocation(j.id, due, era, r.ID)
	default:
		r.Invocation = job.Invocation(j.id, due, era, 0)
	}
	if p := j.granted; p != nil {
		r.Token, r.TokenAt = p.Token, e.now.Up
		if x := p.Orphan; x != nil && x.Begun {
			r.Attempt, r.Lost = max(x.Attempt, 1)+1, x.Lost
			if !x.Left {
				r.Lost++
			}
		}
	}
	e.add(r)
	e.watchStart(r)
	return r
}

// flooded returns why no further run of a job is made, or "". runs are its live runs.
func (e *Engine) flooded(j *firing, runs []*live.Run) string {
	if len(runs) == 0 || j.options.Overlap == option.OverlapReplace || j.options.Overlap == option.OverlapKill {
		return ""
	}
	return e.stalled.Flood(j.entry.User(), e.slots.Limits.QueueMax, len(runs))
}

// broken returns why the breaker stops an occurrence, or "".
func (e *Engine) broken(j *firing) (detail string) {
	b := j.options.Breaker
	if b.Failures == 0 || j.by != "" || j.run != nil && (j.run.Attempt > 1 || j.run.Requested()) {
		return ""
	}
	l := e.ledger(j.id, j.entry.User())
	if l.Open.IsZero() {
		return ""
	}
	if l.Open.Sub(e.now.Wall) > b.Hold { // the clock was set back, or D is shorter now
		l.Open = e.now.Wall.Add(b.Hold)
		e.setLedger(l)
	}
	if e.now.Wall.Before(l.Open) {
		return fmt.Sprintf("until %s, after %d failures in a row", l.Open.In(j.entry.Zone().Location()).Format(time.RFC3339), l.Bad)
	}
	for _, r := range live.OfUser(e.byJob[j.id], j.entry.User()) {
		if r != j.run && r.Probes(l.Open) {
			return fmt.Sprintf("run %d tries whether it works again", r.ID)
		}
	}
	return ""
}

// closeBreaker closes the breaker when a person resumes the job.
func (e *Engine) closeBreaker(j *firing) bool {
	l := e.ledger(j.id, j.entry.User())
	if j.options.Breaker.Failures == 0 || !e.now.Wall.Before(l.Open) {
		return false
	}
	l.Open, l.Bad = time.Time{}, 0
	e.setLedger(l)
	return true
}

// eraOf returns the era of the decisions that a job makes now.
func (e *Engine) eraOf(o *option.Options) job.Era {
	if o.Scope == option.ScopeRing {
		return 0
	}
	return e.era
}

// The schedule of an entry has no occurrences outside of window= and blackout=, or has
// them moved. A run can still be ready to start outside of them: because it was caught
// up, waited for others, or was not started by the clock. Then it waits, or is dropped.
// A blackout of the host has the same effect on all jobs.

// waitsOutside reports whether a run waits outside of its hours. Otherwise it is dropped.
func waitsOutside(o *option.Options) bool { return o.WaitOutside || o.Period != nil }

// skippedOutside returns why an occurrence outside of its hours is skipped, or "". The
// runs of a backfill wait, and what a person requests starts; see objection.
func (e *Engine) skippedOutside(j *firing, due time.Time, t job.Trigger) (detail string) {
	opens, against := e.opensFor(j, due, t)
	if against == "" || j.backfill != 0 {
		return ""
	}
	if opens.IsZero() || !waitsOutside(j.options) {
		return against
	}
	return e.behindWaiting(j.id, j.entry.User(), nil, against)
}

// opensFor returns when the hours of an occurrence begin, and what it is against; "" if
// it can start now. An occurrence on time counts at its due time.
func (e *Engine) opensFor(j *firing, due time.Time, t job.Trigger) (opens time.Time, against string) {
	if j.by != "" && j.backfill == 0 {
		return due, ""
	}
	at := e.now.Wall
	if t == job.TriggerClock && at.Sub(due) <= j.options.Grace {
		at = due
	}
	return e.blackouts.Opens(j.options.Hours, at)
}

// behindWaiting returns which other run of a job waits for its hours, or "": occurrences
// that wait for the same time are one run. Runs of a backfill and further attempts of an
// occurrence do not count.
func (e *Engine) behindWaiting(id job.ID, user string, r *live.Run, against string) (detail string) {
	for _, x := range live.OfUser(e.byJob[id], user) {
		if x != r && x.WaitsOn() == job.WaitsOnHours && x.Attempt == 1 && !x.Requested() {
			return against + "; " + x.DescribeState(e.now.Wall)
		}
	}
	return ""
}

// outsideHours makes a run that was held back wait further, or drops it, if the job must
// not start now. Within grace= of its due time, an occurrence counts at that time.
func (e *Engine) outsideHours(r *live.Run) (stopped bool) {
	if r.Requested() && r.Backfill == 0 {
		return false
	}
	opens, against := e.blackouts.Opens(r.Options.Hours, e.now.Wall)
	if against == "" {
		return false
	}
	if r.Trigger == job.TriggerClock && e.now.Wall.Sub(r.Due) <= r.Options.Grace {
		if _, before := e.blackouts.Opens(r.Options.Hours, r.Due); before == "" {
			return false
		}
	}
	if opens.IsZero() || !waitsOutside(r.Options) && r.Backfill == 0 {
		e.dropFor(r, job.OutsideHours, against)
		return true
	}
	if r.Attempt == 1 && !r.Requested() {
		if behind := e.behindWaiting(r.Job, r.User, r, against); behind != "" {
			e.dropFor(r, job.OutsideHours, behind)
			return true
		}
	}
	e.waitForHours(r, opens, against)
	return true
}

func (e *Engine) waitForHours(r *live.Run, opens time.Time, against string) {
	if r.WaitsOn() != job.WaitsOnHours || !r.NotBefore.Equal(opens) {
		r.NotBefore = opens
		e.wait(r, job.WaitsOnHours, live.DescribeWait(r)+", "+against)
	}
	e.timers.Add(agenda.Timer{At: e.now.UpAt(opens), Run: r.ID, Kind: agenda.WaitOver})
}

// checkHours lets runs that wait for hours check them again in this step: after a load
// the runs whose hours changed, and after the clock was set all of them.
func (e *Engine) checkHours(all bool) {
	for id, r := range e.live {
		slot, ok := e.slotOf(r)
		if !ok || r.WaitsOn() != job.WaitsOnHours {
			continue
		}
		if opens, _ := e.blackouts.Opens(e.jobs.Options(slot).Hours, e.now.Wall); all || !opens.Equal(r.NotBefore) {
			e.timers.Add(agenda.Timer{At: e.now.Up, Run: id, Kind: agenda.WaitOver})
		}
	}
}

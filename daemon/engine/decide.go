package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
)

// fire decides the occurrences of all schedules that are due.
func (e *Engine) fire() {
	if e.draining {
		return
	}
	e.pending = e.agenda.due(e.now.Wall, e.pending)
	e.holdFaulty()
	room, n := stepSize*e.pace, 0
	var seen lookup
	for n < len(e.pending) && room > 0 && seen.asked < mostAsked {
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

// lookup caches the last result of occurrencesBetween: jobs with the same schedule
// usually have the same mark.
type lookup struct {
	schedule cron.Schedule
	mark     int64
	until    time.Time
	found    occurrences
	asked    int // how often schedules were called
}

func (l *lookup) between(s cron.Schedule, mark int64, until time.Time) occurrences {
	if l.schedule != s || l.mark != mark || !l.until.Equal(until) {
		l.schedule, l.mark, l.until = s, mark, until
		l.found = occurrencesBetween(s, time.Unix(0, mark).UTC(), until)
		l.asked += l.found.asked
	}
	return l.found
}

// decide decides every occurrence of one job from its mark until an instant: it passes
// them through the gates, in order.
func (e *Engine) decide(slot int, until time.Time, seen *lookup) {
	entry := e.jobs.Entry(slot)
	due := seen.between(entry.Schedule, e.marks[slot], until)
	if due.empty() || entry.Options().Scope == option.ScopeRing && e.claimDue(slot, due) {
		return
	}
	e.marks[slot] = due.last().UnixNano()
	j := e.firing(slot)

	if reason, detail := e.standing(j); reason != "" {
		e.skip(j, due.first, due.last(), due.older+len(due.list), reason, detail)
		return
	}
	if j.options.Period != nil {
		e.decidePeriod(j, due)
		return
	}
	p := catchup(j.options, timetable.FixedTime(entry.Schedule), due.list, e.now.Wall)
	e.skipOld(j, due, p)
	for i, at := range due.list[p.missed:] {
		if p.missed+i < p.onTime {
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
	run      *run             // the waiting run that is checked again, or nil
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
	case !ok:
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
func (e *Engine) skipOld(j *firing, due occurrences, p plan) {
	e.skipWith(j, leftOut(due, p))
}

// leftOut returns the occurrences that the plan skips. The first stretch includes the
// older ones that are not listed.
func leftOut(due occurrences, p plan) (all []exchange.Skip) {
	first, count := due.first, due.older
	pass := func(list []time.Time, reason job.Reason) {
		count += len(list)
		if count == 0 {
			return
		}
		last := due.first
		if len(list) > 0 {
			last = list[len(list)-1]
			if count == len(list) {
				first = list[0]
			}
		}
		all = append(all, exchange.Skip{First: first, Due: last, Count: count, Reason: reason})
		count = 0
	}
	if p.tooLate > 0 {
		pass(due.list[:p.tooLate], job.PastDeadline)
	}
	pass(due.list[p.tooLate:p.missed], p.reason)
	return all
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
	e.notifyMissed(j.id, j.entry.User(), j.options, missed{first, last, count, reason, detail, j.entry.Zone().Location(), nil})
}

// admit is the overlap gate: it starts the occurrence, queues it or skips it. It returns
// nil if it skips the occurrence.
func (e *Engine) admit(j *firing, due time.Time, t job.Trigger, reason job.Reason) *run {
	e.startNextOf(j.id)
	live := e.liveOf(j)
	if many := tooMany(j.options, live); many != "" {
		e.skip(j, due, due, 1, job.TooMany, many)
		return nil
	}
	if many := e.flooded(j, live); many != "" {
		e.skip(j, due, due, 1, job.TooManyWait, many)
		return nil
	}
	if len(live) == 0 || j.options.Overlap == option.OverlapAllow {
		return e.begin(j, due, t, reason)
	}
	behind := e.going(live[0])
	switch j.options.Overlap {
	case option.OverlapSkip:
		e.skip(j, due, due, 1, job.Overlapping, behind)
		return nil
	case option.OverlapQueue:
		if q := queued(live); q != nil {
			e.skip(j, due, due, 1, job.QueueFull, fmt.Sprintf("run %d is queued for %s", q.ID, q.Due.Format(time.RFC3339)))
			return nil
		}
	case option.OverlapReplace, option.OverlapKill:
		e.clear(live)
	}
	r := e.enqueue(j, due, t, behind)
	e.startNextOf(j.id)
	return r
}

// tooMany returns which runs already reach max-instances=, or "". With other values of
// overlap=, a job has at most one run anyway.
func tooMany(o *option.Options, live []*run) string {
	if o.MaxInstances == 0 || len(live) < o.MaxInstances || o.Overlap != option.OverlapAllow {
		return ""
	}
	const few = 3
	var names []string
	for _, r := range live[:min(few, len(live))] {
		names = append(names, r.ID.String())
	}
	if len(live) > few {
		names = append(names, fmt.Sprintf("%d more", len(live)-few))
	}
	return fmt.Sprintf("%d of %d: run %s", len(live), o.MaxInstances, strings.Join(names, ", "))
}

// clear stops all live runs of a job, so that a newer one can start.
func (e *Engine) clear(live []*run) {
	for _, r := range slices.Clone(live) {
		if r.State == job.RunQueued || r.State == job.RunWaiting {
			e.drop(r, job.Replaced)
		} else {
			e.stop(r, job.Replaced)
		}
	}
}

// going describes the state of a run that is in the way.
func (e *Engine) going(r *run) string {
	switch r.State {
	case job.RunRunning:
		return fmt.Sprintf("run %d had been going for %s", r.ID, e.now.Wall.Sub(r.Run.Started).Round(time.Second))
	case job.RunWaiting, job.RunQueued:
		switch r.WaitsOn() {
		case job.WaitsOnDelay:
			return fmt.Sprintf("run %d waits for its time at %s", r.ID, r.NotBefore.Format(time.RFC3339))
		case job.WaitsOnRetry:
			return fmt.Sprintf("run %d waits for its retry at %s", r.ID, r.NotBefore.Format(time.RFC3339))
		case job.WaitsOnCheck:
			return fmt.Sprintf("run %d waits for the command of if=", r.ID)
		case job.WaitsOnParents:
			return fmt.Sprintf("run %d waits for the runs that after= names", r.ID)
		case job.WaitsOnSlot:
			return fmt.Sprintf("run %d waits for a place", r.ID)
		}
		return fmt.Sprintf("run %d waits for an earlier one", r.ID)
	default:
		return fmt.Sprintf("run %d is about to start", r.ID)
	}
}

// inLine reports whether a run waits for an earlier run of its job.
func (r *run) inLine() bool { return r.WaitsOn() == job.WaitsOnRun }

func queued(live []*run) *run {
	for _, r := range live {
		if r.inLine() {
			return r
		}
	}
	return nil
}

// begin makes a run for an occurrence that no other run of its job blocks, and passes it
// through the gates.
func (e *Engine) begin(j *firing, due time.Time, t job.Trigger, reason job.Reason) *run {
	r := e.newRun(j, due, t)
	r.gate, r.cause, r.detail = gateOverlap+1, reason, j.detail
	e.pass(r)
	return r
}

// enqueue records that an occurrence waits for another run.
func (e *Engine) enqueue(j *firing, due time.Time, t job.Trigger, behind string) *run {
	r := e.newRun(j, due, t)
	e.wait(r, job.WaitsOnRun, behind)
	return r
}

// newRun makes the first run of a job's occurrence.
func (e *Engine) newRun(j *firing, due time.Time, t job.Trigger) *run {
	era := e.eraOf(j.options)
	r := &run{options: j.options, zone: j.entry.Zone().Location(), forced: j.forced, Run: job.Run{
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
		r.Token, r.tokenAt = p.Token, e.now.Up
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

func (e *Engine) add(r *run) {
	e.nextRun = max(e.nextRun, r.ID+1)
	e.locate(r)
	e.live[r.ID] = r
	e.stalled.join(r)
	e.countFill(r, 1)
	if r.isShared() && r.State != job.RunRunning {
		e.ring.unbegun[r.ID] = r
	}
	e.byJob[r.Job] = append(e.byJob[r.Job], r)
}

// liveOf returns the live runs of a job, oldest first. The result is valid until one of
// them ends. If another user had a job of that name before, runs of that job are not
// included.
func (e *Engine) liveOf(j *firing) []*run {
	all, user := e.byJob[j.id], j.entry.User()
	isOthers := func(r *run) bool { return !isOf(r, user) }
	if !slices.ContainsFunc(all, isOthers) { // avoid a copy: a job may have thousands of runs
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), isOthers)
}

// isOf reports whether a run belongs to a user. Any user can choose any name for a job,
// so a run with the name of a job is not necessarily a run of that job.
func isOf(r *run, user string) bool { return r.User == "" || r.User == user }

func (e *Engine) remove(r *run) {
	delete(e.live, r.ID)
	e.stalled.leave(r)
	e.countFill(r, -1)
	delete(e.ring.unbegun, r.ID)
	e.releaseSlots(r)
	rest := slices.DeleteFunc(e.byJob[r.Job], func(x *run) bool { return x == r })
	if len(rest) == 0 {
		delete(e.byJob, r.Job)
		return
	}
	e.byJob[r.Job] = rest
	e.freed = append(e.freed, r.Job)
}

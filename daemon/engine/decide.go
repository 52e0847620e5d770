package engine

import (
	"slices"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/agenda"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/engine/gate"
	"github.com/cronring/cronring/daemon/engine/live"
	"github.com/cronring/cronring/daemon/job"
)

// fire decides the occurrences of all schedules that are due.
func (e *Engine) fire() {
	if e.draining {
		return
	}
	e.pending = e.agenda.Due(e.now.Wall, e.resumes.Due(e.now.Wall.UnixNano(), e.delays.Due(int64(e.now.Up), e.pending)))
	e.holdFaulty()
	room, n := stepSize*e.pace, 0
	var seen agenda.Lookup
	for n < len(e.pending) && room > 0 && seen.Asked < mostAsked {
		before := len(e.out)
		if e.waitsForResume(e.pending[n]) {
			room--
			n++
			continue
		}
		e.decideUntil(e.pending[n], e.now.Wall, &seen)
		if e.jobs.HasEdges() {
			e.updateWaiting(e.pending[n])
		}
		room -= max(len(e.out)-before, min(len(e.jobs.RingJobs()), 1)) // checking an occurrence of a ring has a cost too
		n++
	}
	e.pending = e.pending[n:]
}

// With pause-counts=, a job keeps its mark while nothing but a pause stops it. Its occurrences
// wait together for the end of the pause. Then they are decided like those that were missed
// while no daemon ran. A load that removes the job or changes its times skips them as paused;
// see decideBefore.

// waitsForResume reports whether the occurrences of a job wait for the end of a pause.
func (e *Engine) waitsForResume(slot int) bool {
	if !e.jobs.Options(slot).PauseCounts {
		return false
	}
	h, paused := e.holds.Of(e.jobs.ID(slot), e.jobs.Entry(slot).User())
	if !paused || h.Skips || !h.Covers(e.now.Wall) {
		return false
	}
	o := e.occurrence(slot, e.now.Wall, job.TriggerClock, job.OnTime)
	return gate.DecideAll(e.host(), &o).Reason == job.IsPaused
}

// planResume notes when the pause of a job with pause-counts= ends.
func (e *Engine) planResume(slot int) {
	h, paused := e.holds.Of(e.jobs.ID(slot), e.jobs.Entry(slot).User())
	if paused && !h.Skips && !h.Until.IsZero() {
		e.resumes.Set(slot, h.Until.UnixNano())
	} else {
		e.resumes.Clear(slot)
	}
}

// planResumes calls planResume for all jobs, after a load or after the clock was set back.
func (e *Engine) planResumes() {
	e.resumes = agenda.NewTimes(e.jobs.PauseCounted())
	for _, slot := range e.jobs.PauseCounted() {
		e.planResume(slot)
	}
}

// nextResume returns when the first of these pauses ends, in time since boot.
func (e *Engine) nextResume() (up time.Duration, ok bool) {
	at, ok := e.resumes.First()
	return e.now.UpAt(time.Unix(0, at)), ok
}

// addWaiting adds the paused jobs with pause-counts= to slots, which is sorted.
func (e *Engine) addWaiting(slots []int) []int {
	slots = slices.Clone(slots)
	for _, slot := range e.jobs.PauseCounted() {
		if len(e.holds[e.jobs.ID(slot)]) > 0 {
			slots = append(slots, slot)
		}
	}
	slices.Sort(slots)
	return slices.Compact(slots)
}

// decideLater decides the occurrences of a job when the schedules fire.
func (e *Engine) decideLater(slot int) {
	if at, known := slices.BinarySearch(e.pending, slot); !known {
		e.pending = slices.Insert(slices.Clone(e.pending), at, slot)
	}
}

// mostAsked limits how often a step calls schedules to find missed occurrences; the next
// step finds the remaining ones. The limit takes about 2 ms.
const mostAsked = 20_000

// decideUntil decides every occurrence of one job from its mark until an instant.
func (e *Engine) decideUntil(slot int, until time.Time, seen *agenda.Lookup) {
	if e.delayOf(slot) > 0 {
		e.decideDelayed(slot)
		return
	}
	due := seen.Between(e.jobs.Entry(slot).Schedule, e.marks[slot], until)
	if due.Empty() || e.jobs.Options(slot).Scope == option.ScopeRing && e.claimDue(slot, due) {
		return
	}
	e.marks[slot] = due.Last().UnixNano()
	e.decideDue(e.occurrence(slot, due.Last(), job.TriggerClock, job.OnTime), due)
}

// decideDue decides all occurrences of a job that are due. It returns the run of the newest
// one, or nil if that is skipped.
func (e *Engine) decideDue(o gate.Occurrence, due agenda.Occurrences) (newest *live.Run) {
	if due.Older == 0 && len(due.List) == 1 && e.now.Wall.Sub(o.Due) <= o.Options.Grace { // the usual case, which the code below would decide in the same way
		return e.decide(&o)
	}
	due = e.decideBeforePause(o, due)
	all := o
	all.First, all.Due, all.Count = due.First, due.Last(), due.Older+len(due.List)
	e.repair(&all)
	if d := gate.DecideAll(e.host(), &all); d.Do == job.DecideSkip {
		e.skip(&all, d.Reason, d.Detail)
		return nil
	}
	p := e.catchup(o.Slot, due.List)
	e.skipAll(o, agenda.LeftOut(due, p))
	for i, at := range due.List[p.Missed:] {
		next := o
		next.Due = at
		if p.Missed+i < p.OnTime {
			next.Trigger, next.Cause, next.Wait = job.TriggerCatchup, job.CaughtUp, e.caught.Wait(o.User, e.now.Up)
		}
		if newest = e.decide(&next); newest != nil && next.Trigger == job.TriggerCatchup {
			e.caught.Count(o.User, e.now.Up)
		}
	}
	return newest
}

// decideBeforePause decides the occurrences before a pause that skips the newest one, and returns
// the others.
func (e *Engine) decideBeforePause(o gate.Occurrence, due agenda.Occurrences) agenda.Occurrences {
	h, known := e.holds.Of(o.ID, o.User)
	if !known || !o.CameDueIn(&h, due.Last()) || !h.Skips && h.Covers(e.now.Wall) {
		return due
	}
	n := slices.IndexFunc(due.List, func(at time.Time) bool { return o.CameDueIn(&h, at) })
	if n <= 0 {
		return due
	}
	before := due
	before.List, o.Due = due.List[:n], due.List[n-1]
	e.decideDue(o, before)
	return agenda.Occurrences{First: due.List[n], List: due.List[n:]}
}

// catchup applies grace=, deadline= and catchup= of a job to due times, oldest first.
func (e *Engine) catchup(slot int, due []time.Time) agenda.Plan {
	return agenda.Catchup(e.jobs.Options(slot), timetable.FixedTime(e.jobs.Entry(slot).Schedule), due, e.now.Wall)
}

func (e *Engine) job(slot int) gate.Job { return gate.JobAt(e.jobs, slot) }

func (e *Engine) occurrence(slot int, due time.Time, t job.Trigger, cause job.Reason) gate.Occurrence {
	return gate.Occurrence{Job: e.job(slot), Due: due, Trigger: t, Cause: cause}
}

// host returns the state that the gates read, until the next call.
func (e *Engine) host() *gate.Host {
	e.gates = gate.Host{
		Now: e.now.Wall, Node: e.node, Labels: e.labels, Jobs: e.jobs, Barred: e.barred, Holds: e.holds, Summaries: e.summaries, Stamps: e.stamps,
		Blackouts: e.blackouts, Live: e.live, ByJob: e.byJob, Unstarted: e.stalled, QueueMax: e.slots.Limits.QueueMax, Starting: e.dispatching.asker,
	}
	return &e.gates
}

// judge returns the decision on an occurrence, which the caller carries out. First it updates
// what the decision depends on: it starts a queued run of the job, and repairs the job's pause and breaker.
// The next attempt depends on none of them yet, and has the options of the attempt before.
func (e *Engine) judge(o *gate.Occurrence) gate.Decision {
	if o.Before != nil {
		return gate.Decide(e.host(), o)
	}
	if o.Run == nil { // a queued run of the job comes first
		e.startNextOf(o.ID)
	}
	e.repair(o)
	return gate.Decide(e.host(), o)
}

// repair ends a pause that is over. It shortens the hold of a breaker that is longer than
// breaker= allows, because the clock was set back or breaker= was edited.
func (e *Engine) repair(o *gate.Occurrence) {
	j := o.Job
	if h, ok := e.holds.Of(j.ID, j.User); ok && !h.Until.IsZero() && !e.now.Wall.Before(h.Until) && o.Ends(&h) {
		e.setHold(j.ID, j.User, nil)
		e.record(job.Record{Kind: job.Resumed, Job: j.ID, User: j.User, Detail: job.DetailPauseEnd(h.Until)})
	}
	if b := j.Options.Breaker; b.Failures > 0 {
		if l := e.summary(j.ID, j.User); l.Open.Sub(e.now.Wall) > b.Hold {
			l.Open = e.now.Wall.Add(b.Hold)
			e.setSummary(l)
		}
	}
}

// decide decides an occurrence. It returns its run, or nil if it is skipped.
func (e *Engine) decide(o *gate.Occurrence) *live.Run {
	d := e.judge(o)
	if d.Do == job.DecideSkip {
		e.skip(o, d.Reason, d.Detail)
		return nil
	}
	return e.admit(o, d)
}

// admit makes the run of an occurrence that is not skipped, and starts it or makes it wait.
func (e *Engine) admit(o *gate.Occurrence, d gate.Decision) *live.Run {
	if d.Replaces {
		e.clear(live.OfUser(e.byJob[o.ID], o.User))
	}
	r := e.newRun(o)
	if d.Do != job.DecideHold {
		e.pass(r)
		return r
	}
	e.hold(r, d)
	if o.Before != nil && o.Before.Outcome.Kind == job.Lost { // other members may have run it again meanwhile
		e.reclaim(r)
	}
	e.startNextOf(o.ID)
	return r
}

// hold makes a run wait as a gate decided. It does not keep slots meanwhile.
func (e *Engine) hold(r *live.Run, d gate.Decision) {
	e.releaseSlots(r)
	r.Gate = min(r.Gate, live.GateSlots)
	switch d.On {
	case job.WaitsOnRun:
		r.Gate = live.GateOverlap
		e.wait(r, d.On, d.Detail)
		return
	case job.WaitsOnSlot:
		e.refresh(r)
		e.lineUp(r)
		e.wait(r, d.On, d.Detail)
		e.overflow(r.User)
		return
	}
	if r.WaitsOn() != d.On || !r.NotBefore.Equal(d.Until) {
		r.NotBefore = d.Until
		e.wait(r, d.On, d.Detail)
	}
	e.timers.Add(agenda.Timer{At: e.now.UpAt(d.Until), Run: r.ID, Kind: agenda.WaitOver})
}

// skip records that an occurrence does not run, or several that are decided together.
func (e *Engine) skip(o *gate.Occurrence, reason job.Reason, detail job.Detail) {
	r := job.Record{
		Kind: job.Decided, Job: o.ID, Due: o.Due, Era: e.eraOf(o.Options),
		Decision: job.DecideSkip, Reason: reason, Detail: detail, User: o.User,
	}
	if o.Count > 1 {
		r.First, r.Count = o.First, o.Count
	}
	e.record(r)
	e.notifyMissed(o.ID, o.User, o.Options, missedRuns{o.First, o.Due, o.Count, reason, detail, o.Zone, nil})
}

// skipAll skips older occurrences together with a newer one.
func (e *Engine) skipAll(o gate.Occurrence, all []exchange.Skip) {
	for _, s := range all {
		o.First, o.Due, o.Count = s.First, s.Due, s.Count
		e.skip(&o, s.Reason, job.DetailLate(e.now.Wall.Sub(s.Due)))
	}
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

// newRun makes the run of an occurrence.
func (e *Engine) newRun(o *gate.Occurrence) *live.Run {
	era := e.eraOf(o.Options)
	r := &live.Run{Options: o.Options, Zone: o.Zone, Cause: o.Cause, CauseDetail: o.Detail, Run: job.Run{
		ID: e.nextRun, Job: o.ID, Due: o.Due, Era: era, Attempt: 1, Trigger: o.Trigger, By: o.By,
		User: o.User, Forced: o.Forced, Decided: e.now.Wall, Backfill: o.Backfill, Parents: o.Parents, Env: o.Env,
	}}
	switch b := o.Before; {
	case b != nil:
		r.Era, r.Invocation, r.Attempt, r.Lost, r.Token = b.Era, b.Invocation, b.Attempt+1, b.Lost, b.Token
		if b.WasPreempted() || b.Reruns() {
			r.Lost++
		}
		if b.Options.RetryFor > 0 {
			r.First = live.FirstBegan(&b.Run)
		}
		r.Opened, r.Tried, r.Recorded = b.Opened, b.Tried, b.Recorded // its occurrence was decided before
	case o.Dead != nil:
		r.Env = o.Dead.Env
		r.Era, r.Invocation, r.Parents = o.Dead.Era, o.Dead.Invocation, o.Dead.Parents
	case o.Trigger == job.TriggerManual || o.Trigger == job.TriggerDependency || o.Trigger == job.TriggerEvent:
		r.Invocation = job.Invocation(o.ID, o.Due, era, r.ID)
	default:
		r.Invocation = job.Invocation(o.ID, o.Due, era, 0)
	}
	if p := o.Permit; p != nil {
		r.Token, r.TokenAt = p.Token, e.now.Up
		if x := p.Orphan; x != nil {
			r.Tried = x.Tried
		}
		if x := p.Orphan; x != nil && x.Begun {
			r.Attempt, r.Lost = max(x.Attempt, 1)+1, x.Lost
			if !x.Left {
				r.Lost++
			}
		}
	}
	r.Gate = live.FirstGate(&r.Run)
	e.add(r)
	if o.Before == nil {
		e.watchStart(r)
	}
	return r
}

// closeBreaker closes the breaker when a person resumes the job.
func (e *Engine) closeBreaker(j gate.Job) bool {
	l := e.summary(j.ID, j.User)
	if j.Options.Breaker.Failures == 0 || !e.now.Wall.Before(l.Open) {
		return false
	}
	l.Open, l.Bad = time.Time{}, 0
	e.setSummary(l)
	return true
}

// eraOf returns the era of the decisions that a job makes now.
func (e *Engine) eraOf(o *option.Options) job.Era {
	if o.Scope == option.ScopeRing {
		return 0
	}
	return e.era
}

// checkHours lets runs that wait for hours check them again in this step: after a load
// the runs whose hours changed, and after the clock was set all of them.
func (e *Engine) checkHours(all bool) {
	for id, r := range e.live {
		if !r.IsInstalled() || r.WaitsOn() != job.WaitsOnHours {
			continue
		}
		if opens, _ := e.blackouts.Opens(e.jobs.Options(r.Slot).Hours, e.now.Wall); all || !opens.Equal(r.NotBefore) {
			e.timers.Add(agenda.Timer{At: e.now.Up, Run: id, Kind: agenda.WaitOver})
		}
	}
}

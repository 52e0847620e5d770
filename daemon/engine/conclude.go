package engine

import (
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/engine/gate"
	"github.com/cronring/cronring/daemon/engine/live"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
)

// summary returns the summary of a user's job.
func (e *Engine) summary(id job.ID, user string) job.Summary {
	if l, ok := e.summaries[job.Owned{Job: id, User: user}]; ok {
		return l
	}
	return job.Summary{Job: id, User: user}
}

func (e *Engine) setSummary(l job.Summary) {
	e.summaries[job.Owned{Job: l.Job, User: l.User}] = l
	e.updateProblems(l)
	e.emit(effect.Summary{Summary: l})
}

// conclude handles the consequences of a run that ended or was dropped: another attempt,
// or the effects that the end of its occurrence has on the job and on others.
func (e *Engine) conclude(r *live.Run) {
	if r.Verdict != job.VerdictRetry && !r.Reason.IsElsewhere() {
		e.progress(r, exchange.Over)
	}
	switch {
	case r.Verdict == job.VerdictRetry && r.Reason == job.HandedOver:
		e.handOver(r)
		return
	case r.Verdict == job.VerdictRetry:
		e.retry(r)
		return
	case r.Backfill != 0:
		if r.Verdict.Bad() || r.State == job.RunDropped && r.Verdict == "" {
			e.fills.NoteFailure(r.Backfill)
		}
	case r.Verdict.Final():
		e.enter(r)
	case !r.Requested():
		e.notifyMissed(r.Job, r.User, r.Options, missedRuns{due: r.Due, reason: r.Reason, zone: r.Zone, run: &r.Run})
	}
	e.beginDelay(r, e.endTime(r))
	e.follow(r)
}

// enter adds the end of an occurrence to its job's summary. If the occurrence is older
// than the newest in the summary, like a dead letter that is run again, the newest one
// stays.
func (e *Engine) enter(r *live.Run) {
	l := e.summary(r.Job, r.User)
	ended := e.now.Wall
	if !r.Run.Ended.IsZero() {
		ended = r.Run.Ended
	}
	if !r.Due.Before(l.Due) || l.Due.After(e.now.Wall) { // or the clock was set back
		l.Verdict, l.Run, l.Due, l.Ended = r.Verdict, r.ID, r.Due, ended
	} else if _, delayed := e.delayed(r); delayed && ended.After(l.Ended) {
		l.Ended = ended // the next occurrence counts from then
	}
	if !l.Ack.Covers(r.ID) {
		l.Ack = nil
	}
	switch {
	case r.Verdict == job.VerdictOK:
		e.succeed(&l, r, ended)
	case r.Verdict.Bad() && r.CountsAsFailure(l.Open):
		l.Bad++
		e.trip(&l, r, ended)
		e.notifyFailure(&l, r)
	}
	e.setSummary(l)
	e.pauseFailed(r)
}

// succeed ends the failures in a row, the breaker and reported trouble.
func (e *Engine) succeed(l *job.Summary, r *live.Run, ended time.Time) {
	before := *l
	l.Success, l.Bad, l.Open = ended, 0, time.Time{}
	future := time.Nanosecond // an older success replaces one in the future: the clock was set back
	if r.Options.OncePer == option.OncePerDue {
		future = 24 * time.Hour // see repeats in package gate
	}
	if !r.Due.Before(l.SuccessDue) || l.SuccessDue.Sub(e.now.Wall) >= future {
		l.SuccessDue = r.Due
	}
	over := job.NotifiedFailure | job.NotifiedExpect | job.NotifiedMissed
	if !r.Requested() && !r.WasLate() && !e.stillLate(r) {
		over |= job.NotifiedLate
	}
	l.Notified &^= over
	e.notifySuccess(before, *l, r)
	if r.IsInstalled() && live.IsOf(r, e.jobs.Entry(r.Slot).User()) {
		e.expect(e.jobs.Options(r.Slot), *l) // not those of r, which may have started before an edit
	}
}

// pauseFailed pauses a job whose run failed for good, if on-exhausted= requires that.
// Manual runs do not pause it.
func (e *Engine) pauseFailed(r *live.Run) {
	if r.Options.Exhausted != option.ExhaustedPause || r.Verdict != job.VerdictFail || r.StopReason != "" && !r.StopReason.IsTimeLimit() ||
		r.State != job.RunEnded || r.Refused || r.Requested() {
		return
	}
	if !r.IsInstalled() || !live.IsOf(r, e.jobs.Entry(r.Slot).User()) {
		return
	}
	if h, held := e.holds.Of(r.Job, r.User); held && h.Until.IsZero() && h.Covers(e.now.Wall) {
		return
	}
	h := job.Hold{
		Since: e.now.Wall, By: "cronring", User: r.User,
		Reason: job.DetailFailedForGood(&r.Run),
	}
	e.setHold(r.Job, r.User, &h)
	e.record(job.Record{Kind: job.Paused, Job: r.Job, Detail: h.Reason, Hold: &h})
}

// breaker=N/D holds a job for D after N occurrences in a row have failed. The first
// occurrence after that is a probe. While the probe is live, no other occurrence starts;
// its success closes the breaker, and its failure opens it for D again. Manual runs pass
// the breaker, and can be the probe. Further attempts pass together with their
// occurrence.

// trip opens the breaker after a failure that the summary counts already.
func (e *Engine) trip(l *job.Summary, r *live.Run, ended time.Time) {
	b := r.Options.Breaker
	if b.Failures > 0 && (l.Open.IsZero() && l.Bad >= b.Failures || r.Probes(l.Open)) {
		l.Open = ended.Add(b.Hold)
	}
}

// updateProblems updates the problems that views show from a summary.
func (e *Engine) updateProblems(l job.Summary) {
	key := job.Owned{Job: l.Job, User: l.User}
	t := view.Problems{Broken: l.Open, Late: l.Notified&job.NotifiedLate != 0, Unseen: l.Notified&job.NotifiedExpect != 0, Ack: l.Ack}
	if slot, ok := e.jobs.Find(l.Job); ok && e.jobs.Options(slot).OncePer != option.OncePerNone && e.jobs.Entry(slot).User() == l.User {
		t.Done = l.SuccessDue
	}
	before, was := e.problems[key]
	is := t != view.Problems{}
	if is {
		t.Bad = l.Bad
	}
	if is == was && t == before {
		return
	}
	e.viewed.problems = nil
	if is {
		e.problems[key] = t
	} else {
		delete(e.problems, key)
	}
}

// retry decides the next attempt of an occurrence.
func (e *Engine) retry(failed *live.Run) *live.Run {
	return e.decide(&gate.Occurrence{
		Job: gate.Job{Slot: failed.Slot, ID: failed.Job, User: failed.User, Zone: failed.Zone, Options: failed.Options},
		Due: failed.Due, Trigger: job.TriggerRetry, By: failed.By, Env: failed.Env, Backfill: failed.Backfill, Parents: failed.Parents, Before: failed,
	})
}

// drop records that a queued or waiting run will never start.
func (e *Engine) drop(r *live.Run, reason job.Reason) { e.dropFor(r, reason, "") }

// dropFor is drop with a detail of the reason.
func (e *Engine) dropFor(r *live.Run, reason job.Reason, detail job.Detail) {
	e.unask(r)
	r.State, r.Reason, r.Detail = job.RunDropped, reason, detail
	r.Verdict = live.JudgeDropped(r)
	e.recordRun(job.Dropped, "", r, detail)
	e.remove(r)
	e.conclude(r)
}

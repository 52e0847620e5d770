package engine

import (
	"fmt"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
)

// owned identifies a job of a user. A name may pass to another user and back: the ledger
// of one user's job says nothing about the other's.
type owned struct {
	job  job.ID
	user string
}

func (o owned) before(x owned) bool { return o.job < x.job || o.job == x.job && o.user < x.user }

// ledger returns the ledger of a user's job.
func (e *Engine) ledger(id job.ID, user string) job.Ledger {
	if l, ok := e.ledgers[owned{id, user}]; ok {
		return l
	}
	return job.Ledger{Job: id, User: user}
}

func (e *Engine) setLedger(l job.Ledger) {
	e.ledgers[owned{l.Job, l.User}] = l
	e.noteTrouble(l)
	e.emit(Ledger{l})
}

// conclude handles the consequences of a run that ended or was dropped: another attempt,
// or the effects that the end of its occurrence has on the job and on others.
func (e *Engine) conclude(r *run) {
	if r.Verdict != job.VerdictRetry && !r.isElsewhere() {
		e.progress(r, exchange.Over)
	}
	switch {
	case r.Verdict == job.VerdictRetry:
		e.retry(r)
		return
	case r.Backfill != 0:
		e.filled(r)
	case r.Verdict.Final():
		e.enter(r)
	case !r.asked():
		e.notifyMissed(r.Job, r.User, r.options, missed{due: r.Due, reason: r.Reason, zone: r.zone, run: &r.Run})
	}
	e.follow(r)
}

// asked reports whether a person requested the run. That person watches the run: it does
// not count towards the failures in a row, and sends no notification except that a
// success ended trouble.
func (r *run) asked() bool { return r.By != "" || r.Backfill != 0 }

// enter adds the end of an occurrence to its job's ledger. If the occurrence is older
// than the newest in the ledger, like a dead letter that is run again, the newest one
// stays.
func (e *Engine) enter(r *run) {
	l := e.ledger(r.Job, r.User)
	ended := e.now.Wall
	if !r.Run.Ended.IsZero() {
		ended = r.Run.Ended
	}
	if !r.Due.Before(l.Due) || l.Due.After(e.now.Wall) { // or the clock was set back
		l.Verdict, l.Run, l.Due, l.Ended = r.Verdict, r.ID, r.Due, ended
	}
	if !l.Ack.Covers(r.ID) {
		l.Ack = nil
	}
	switch {
	case r.Verdict == job.VerdictOK:
		e.succeed(&l, r, ended)
	case r.Verdict.Bad() && r.counts(l.Open):
		l.Bad++
		e.trip(&l, r, ended)
		e.notifyFailure(&l, r)
	}
	e.setLedger(l)
	e.pauseFailed(r)
}

// counts reports whether a failure is the job's own. It is not if a person stopped or
// dropped the run, or requested it, unless it was the breaker's probe.
func (r *run) counts(open time.Time) bool {
	switch {
	case r.stop == job.StopAsked, r.stop == job.DaemonStopped:
		return false
	case r.State == job.RunDropped && r.Verdict != job.VerdictUpstream:
		return isMissed(r.Reason)
	}
	return !r.asked() || r.probes(open)
}

// succeed ends the failures in a row, the breaker and reported trouble.
func (e *Engine) succeed(l *job.Ledger, r *run, ended time.Time) {
	before := *l
	l.Success, l.Bad, l.Open = ended, 0, time.Time{}
	over := job.NotifiedFailure | job.NotifiedExpect | job.NotifiedMissed
	if !r.asked() && !r.wasLate() && !e.stillLate(r) {
		over |= job.NotifiedLate
	}
	l.Notified &^= over
	e.notifySuccess(before, *l, r)
	if slot, ok := e.slotOf(r); ok && isOf(r, e.jobs.Entry(slot).User()) {
		e.expect(e.jobs.Options(slot), *l) // not those of r, which may have started before an edit
	}
}

// pauseFailed pauses a job whose run failed for good, if on-exhausted= requires that.
// Manual runs do not pause it.
func (e *Engine) pauseFailed(r *run) {
	if r.options.Exhausted != option.ExhaustedPause || r.Verdict != job.VerdictFail || r.stop != "" && r.stop != job.OverTime ||
		r.State != job.RunEnded || r.refused || r.asked() {
		return
	}
	slot, ok := e.slotOf(r)
	if !ok || !isOf(r, e.jobs.Entry(slot).User()) {
		return
	}
	if h, held := e.holds.Of(r.Job, r.User); held && h.Until.IsZero() {
		return
	}
	h := job.Hold{
		Since: e.now.Wall, By: "cronring", User: r.User,
		Reason: fmt.Sprintf("run %d failed for good: %s", r.ID, r.Result()),
	}
	e.setHold(r.Job, r.User, &h)
	e.record(job.Record{Kind: job.Paused, Job: r.Job, Detail: h.Reason, Hold: &h})
}

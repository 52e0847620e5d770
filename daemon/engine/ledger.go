package engine

import (
	"github.com/cronring/cronring/daemon/job"
)

// ledger is what is remembered of a job, if that is of the same account's.
func (e *Engine) ledger(id job.ID, user string) job.Ledger {
	l, ok := e.ledgers[id]
	if !ok || !l.Binds(user) {
		return job.Ledger{Job: id, User: user}
	}
	return l
}

func (e *Engine) setLedger(l job.Ledger) {
	e.ledgers[l.Job] = l
	e.emit(Ledger{l})
}

// conclude draws the consequences of a run that ended or was dropped: another
// attempt, or what the end of its occurrence means to the job and to others.
func (e *Engine) conclude(r *run) {
	switch {
	case r.Verdict == job.VerdictRetry:
		e.retry(r)
	case r.Backfill != 0:
		e.filled(r)
	case r.Verdict.Final():
		e.enter(r)
	}
}

// enter writes the end of an occurrence into its job's ledger.
func (e *Engine) enter(r *run) {
	l := e.ledger(r.Job, r.User)
	l.Verdict, l.Run, l.Due, l.Ended = r.Verdict, r.ID, r.Due, e.now.Wall
	if !r.Run.Ended.IsZero() {
		l.Ended = r.Run.Ended
	}
	switch {
	case r.Verdict == job.VerdictOK:
		l.Success, l.Bad = l.Ended, 0
	case r.Verdict.Bad():
		l.Bad++
	}
	e.setLedger(l)
}

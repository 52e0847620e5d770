package store

import "github.com/cronring/cronring/daemon/job"

// putLedger replaces what is remembered of a job.
func (w *writer) putLedger(l *job.Ledger) error {
	n, err := w.number(l.Job)
	if err != nil {
		return err
	}
	_, err = w.exec(w.stmts.ledger, n, l.User, string(l.Verdict), int64(l.Run), nanos(l.Due), nanos(l.Ended),
		nanos(l.Success), int64(l.Bad), int64(l.Told), nanos(l.Open), nanos(l.Watched))
	return err
}

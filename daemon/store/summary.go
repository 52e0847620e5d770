package store

import (
	"database/sql/driver"
	"encoding/json"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

// putSummary replaces the row of a job in table ledger.
func (w *writer) putSummary(l *job.Summary) error {
	n, err := w.Number(l.Job)
	if err != nil {
		return err
	}
	ack, err := ackText(l.Ack)
	if err != nil {
		return err
	}
	_, err = w.Exec(w.stmts.summary, n, l.User, string(l.Verdict), int64(l.Run), database.Nanos(l.Due), database.Nanos(l.Ended),
		database.Nanos(l.Success), int64(l.Bad), int64(l.Notified), database.Nanos(l.Open), database.Nanos(l.Watched), ack, database.Nanos(l.SuccessDue), database.Nanos(l.Since))
	return err
}

// ackText returns the stored form of an acknowledgement: NULL for none.
func ackText(a *job.Ack) (driver.Value, error) {
	if a == nil {
		return nil, nil
	}
	text, err := json.Marshal(a)
	return string(text), err
}

func ackOf(text []byte) (*job.Ack, error) {
	if text == nil {
		return nil, nil
	}
	a := new(job.Ack)
	err := json.Unmarshal(text, a)
	a.Reason = job.CutText(a.Reason) // old versions stored up to 1,000 bytes
	return a, err
}

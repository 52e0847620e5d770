package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

// Of chooses what belongs to jobs. Zero fields choose all.
type Of struct {
	Jobs  []job.ID
	User  string // whose job it was
	Limit int    // 0: 100
}

// newest returns the choice in SQL, newest first. id, name and user are the columns of the number, and of the
// job's name and user.
func (o Of) newest(id, name, user string) (rest string, args []any) {
	var w database.Where
	w.If(o.Jobs != nil, name+" IN (SELECT value FROM json_each(?))", database.List(o.Jobs))
	w.If(o.User != "", user+" = ?", o.User)
	return w.Newest(id, o.Limit)
}

// putBackfill writes the progress of a backfill. It also adds a record when the backfill begins or
// ends, but not for the many steps in between.
func (w *writer) putBackfill(r *job.Record) error {
	b := r.Backfill
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	known, err := w.Exec(w.stmts.goOnFill, b.ID, string(b.State), string(text))
	if err != nil || known > 0 && b.State == job.BackfillGoing {
		return err
	}
	if known == 0 {
		if _, err := w.Exec(w.stmts.beginFill, b.ID, string(b.Job), b.User, b.Asked.UnixNano(), string(b.State), string(text)); err != nil {
			return err
		}
	}
	return w.note(r, nil, string(text))
}

// Backfills returns the backfills of some jobs, newest first.
func (s *Store) Backfills(ctx context.Context, of Of) ([]job.Backfill, error) {
	rest, args := of.newest("id", "job", "user")
	return s.backfills(ctx, rest, args...)
}

func (s *Store) backfills(ctx context.Context, rest string, args ...any) ([]job.Backfill, error) {
	var all []job.Backfill
	err := s.Each(ctx, func(rows *sql.Rows) error {
		var text sql.RawBytes
		if err := rows.Scan(&text); err != nil {
			return err
		}
		var b job.Backfill
		err := json.Unmarshal(text, &b)
		all = append(all, b)
		return err
	}, "SELECT backfill FROM backfill "+rest, args...)
	if err != nil {
		return nil, fmt.Errorf("read backfills: %w", err)
	}
	return all, nil
}

const ranQuery = `SELECT due, state, ` + verdict + ` FROM run
	WHERE job = (SELECT n FROM job WHERE id = ?) AND user = ? AND due >= ? AND due <= ? ORDER BY id`

// verdict is that of a run, also of one from before there were verdicts.
const verdict = `CASE WHEN verdict <> '' OR outcome = '' THEN verdict WHEN outcome = 'exited' AND code = 0 THEN 'ok'
	WHEN outcome = 'lost' THEN 'lost' ELSE 'fail' END`

// Ran returns the occurrences of a job that ran as a user between two instants, both included, by
// their due times in Unix nanoseconds, with the verdict of the newest run of each: "" if it is
// live. If the last attempt was dropped, the attempt before counts.
func (s *Store) Ran(ctx context.Context, id job.ID, user string, from, to time.Time) (map[int64]job.Verdict, error) {
	ran := map[int64]job.Verdict{}
	err := s.Each(ctx, func(rows *sql.Rows) error {
		var due int64
		var state job.RunState
		var v job.Verdict
		err := rows.Scan(&due, &state, &v)
		switch {
		case state != job.RunDropped || v != "":
			ran[due] = v
		case ran[due] == job.VerdictRetry:
			ran[due] = job.VerdictFail
		}
		return err
	}, ranQuery, id, user, database.NanosBound(from), database.NanosBound(to))
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	return ran, nil
}

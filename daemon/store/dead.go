package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

// Letter is a dead letter: a run that failed for good and waits until a user retries or discards
// it. Output returns what it printed.
type Letter struct {
	Run job.Run
	At  time.Time // since when it is a dead letter
	Why string    // the detail of the record of its end
}

// putDead lays a run among the dead letters.
func (w *writer) putDead(r *job.Record) error {
	_, err := w.Exec(w.stmts.die, int64(r.Run.ID), r.Run.User, r.At.UnixNano(), r.Detail)
	return err
}

// takeOff takes a run off the dead letters, and keeps who did that and how.
func (w *writer) takeOff(r *job.Record) error {
	if _, err := w.Exec(w.stmts.undie, int64(r.Run.ID)); err != nil {
		return err
	}
	return w.note(r, nil, nil)
}

// Letters returns the dead letters of some jobs, newest first.
func (s *Store) Letters(ctx context.Context, of Of) ([]Letter, error) {
	where, args := of.where("job.id", "dead.user")
	return s.letters(ctx, where+" ORDER BY dead.run DESC LIMIT ?", append(args, of.limit())...)
}

// Letter returns the dead letter of a run; ok is false if the run is not one.
func (s *Store) Letter(ctx context.Context, id job.RunID) (l Letter, ok bool, err error) {
	letters, err := s.letters(ctx, "WHERE dead.run = ?", int64(id))
	if len(letters) == 0 {
		return l, false, err
	}
	return letters[0], true, nil
}

func (s *Store) letters(ctx context.Context, rest string, args ...any) ([]Letter, error) {
	var all []Letter
	var r runRow
	var at int64
	var why string
	fields := append([]any{&at, &why}, r.fields()...)
	err := s.Each(ctx, func(rows *sql.Rows) error {
		if err := rows.Scan(fields...); err != nil {
			return err
		}
		run, err := r.run()
		all = append(all, Letter{Run: run, At: database.FromNanos(at), Why: why})
		return err
	}, "SELECT dead.at, dead.why, "+runColumns+" FROM dead CROSS JOIN run ON run.id = dead.run JOIN job ON job.n = run.job "+rest, args...)
	if err != nil {
		return nil, fmt.Errorf("read dead letters: %w", err)
	}
	return all, nil
}

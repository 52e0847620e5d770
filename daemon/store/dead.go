package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

// DeadLetter is a run that failed for good and waits until a user retries or discards
// it. Output returns what it printed.
type DeadLetter struct {
	Run job.Run
	At  time.Time  // since when it is a dead letter
	Why job.Detail // the detail of the record of its end
}

// putDead adds a run to the dead letters.
func (w *writer) putDead(r *job.Record) error {
	_, err := w.Exec(w.stmts.die, int64(r.Run.ID), r.Run.User, r.At.UnixNano(), string(r.Detail.Short()))
	return err
}

// takeOff removes a run from the dead letters, and records who did that and how.
func (w *writer) takeOff(r *job.Record) error {
	if _, err := w.Exec(w.stmts.undie, int64(r.Run.ID)); err != nil {
		return err
	}
	return w.note(r, nil, nil)
}

// DeadLetters returns the dead letters of some jobs, newest first. They have no variables, because those of
// thousands of letters need much memory.
func (s *Store) DeadLetters(ctx context.Context, of Of) ([]DeadLetter, error) {
	rest, args := of.newest("dead.run", "job.id", "dead.user")
	return s.readDeadLetters(ctx, false, rest, args...)
}

// DeadLetter returns the dead letter of a run; ok is false if the run is not one.
func (s *Store) DeadLetter(ctx context.Context, id job.RunID) (l DeadLetter, ok bool, err error) {
	letters, err := s.readDeadLetters(ctx, true, "WHERE dead.run = ?", int64(id))
	if len(letters) == 0 {
		return l, false, err
	}
	return letters[0], true, nil
}

func (s *Store) readDeadLetters(ctx context.Context, whole bool, rest string, args ...any) ([]DeadLetter, error) {
	var all []DeadLetter
	var r runRow
	var at int64
	var why job.Detail
	fields := append([]any{&at, &why}, r.fields()...)
	err := s.Each(ctx, func(rows *sql.Rows) error {
		if err := rows.Scan(fields...); err != nil {
			return err
		}
		run, err := r.run()
		if !whole {
			run.Env = nil
		}
		all = append(all, DeadLetter{Run: run, At: database.FromNanos(at), Why: why})
		return err
	}, "SELECT dead.at, dead.why, "+runColumns+" FROM dead CROSS JOIN run ON run.id = dead.run JOIN job ON job.n = run.job "+rest, args...)
	if err != nil {
		return nil, fmt.Errorf("read dead letters: %w", err)
	}
	return all, nil
}

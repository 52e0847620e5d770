package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

// mostEvents is how many events of each user are counted, the ones that were emitted last.
const mostEvents = 1000

// putEmission counts an event.
func (w *writer) putEmission(r *job.Record) error {
	name := r.Detail.Words()
	n, err := w.Exec(w.stmts.emitAgain, r.User, name, r.At.UnixNano())
	if n > 0 || err != nil {
		return err
	}
	if _, err = w.Exec(w.stmts.emit, r.User, name, r.At.UnixNano()); err != nil {
		return err
	}
	_, err = w.Exec(w.stmts.trim, r.User, int64(mostEvents))
	return err
}

// Emissions returns the events that a user has emitted, or all users if user is "", the newest first.
func (s *Store) Emissions(ctx context.Context, user string) ([]job.Emission, error) {
	all := []job.Emission{}
	err := s.Each(ctx, func(rows *sql.Rows) error {
		var e job.Emission
		var last int64
		err := rows.Scan(&e.User, &e.Name, &e.Times, &last)
		e.Last = database.FromNanos(last)
		all = append(all, e)
		return err
	}, "SELECT user, name, times, last FROM event WHERE user = ?1 OR ?1 = '' ORDER BY last DESC, user, name LIMIT ?2", user, 10*mostEvents)
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return all, nil
}

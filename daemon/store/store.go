package store

import (
	"context"
	"fmt"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/audit"
	"github.com/cronring/cronring/daemon/store/database"
	"github.com/cronring/cronring/daemon/store/prune"
	"github.com/cronring/cronring/daemon/store/revision"
	"github.com/cronring/cronring/daemon/store/state"
	"github.com/cronring/cronring/daemon/store/statistics"
)

// Store is an open history. Its methods may be called concurrently; commits and slices of Prune take
// turns, readers wait for neither.
type Store struct {
	*database.DB
	*prune.Pruner
	*revision.Archive
	*state.Values
	*audit.Log
	*statistics.Reader

	write   *writer  // with the writer of DB
	reserve *reserve // in place of write, while the disk does not take anything
}

// Open opens the history in a directory, or creates it; see database.Open.
func Open(ctx context.Context, dir string) (*Store, error) {
	s := &Store{}
	db, err := database.Open(ctx, dir, s.prepare)
	if err != nil {
		return nil, err
	}
	s.DB, s.Archive, s.Values, s.Log, s.Reader = db, revision.New(db), state.New(db), audit.New(db), statistics.New(db)
	s.Pruner = prune.New(db, s.Reader)
	if !db.Writable() {
		s.reserve = openReserve(ctx, db)
	}
	return s, nil
}

// prepare takes a writer that was opened.
func (s *Store) prepare(ctx context.Context, w *database.Writer) (err error) {
	if s.write, err = newWriter(ctx, w, func(n int64, r *job.Record) { s.Note(n, r) }); err != nil {
		return err
	}
	if s.reserve != nil && s.reserve.fresh {
		if err := w.Script(ctx, fmt.Sprintf("UPDATE host SET seed = %d", int64(s.reserve.restored.Seed))); err != nil {
			return fmt.Errorf("keep seed: %w", err)
		}
	}
	s.reserve = nil
	return nil
}

package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cronring/cronring/daemon/store/database"
)

// Store is an open history. Its methods may be called concurrently; commits and slices of Prune take
// turns, readers wait for neither.
type Store struct {
	*database.DB

	write   *writer  // with the writer of DB
	reserve *reserve // in place of write, while the disk does not take anything

	pruning sync.Mutex // held by Prune, with the next two
	swept   time.Time  // when it looked at all jobs
	printed printed
	news    news
}

// Open opens the history in a directory, or creates it; see database.Open.
func Open(ctx context.Context, dir string) (*Store, error) {
	s := &Store{}
	db, err := database.Open(ctx, dir, s.prepare)
	if err != nil {
		return nil, err
	}
	if s.DB = db; !db.Writable() {
		s.reserve = openReserve(ctx, db)
	}
	return s, nil
}

// prepare takes a writer that was opened.
func (s *Store) prepare(ctx context.Context, w *database.Writer) (err error) {
	if s.write, err = newWriter(ctx, w, &s.news); err != nil {
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

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"

	"modernc.org/sqlite"

	"github.com/cronring/cronring/daemon/job"
)

// reserve stands in for a writer that could not be opened because the disk is
// full: jobs must run all the same. It knows what the history said, and
// Commit opens the writer as soon as there is room.
type reserve struct {
	restored Restored
	fresh    bool // there was no history to read: restored.Seed is new and is to be kept
}

// openReserve reads what a start must know without writing anything.
func openReserve(ctx context.Context, path string, why error) (*reserve, error) {
	// An exclusive reader needs no shared memory file, for which there may be
	// no room either.
	c, err := sqlite.NewConnector(source(path, "locking_mode(exclusive)", "query_only(1)"))
	if err != nil {
		return nil, fmt.Errorf("read full disk: %w", err)
	}
	db := sql.OpenDB(c)
	defer db.Close()
	db.SetMaxOpenConns(1)
	var version int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil || version == 0 {
		return freshReserve(), nil
	}
	restored, err := (&Store{read: db}).Restore(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w; and read it: %w", why, err)
	}
	return &reserve{restored: restored}, nil
}

func freshReserve() *reserve {
	return &reserve{fresh: true, restored: Restored{
		Holds: map[job.ID]job.Hold{}, NextRun: 1, Seed: rand.Uint64(),
	}}
}

// writer is the one that writes, opened now if there was no room before. The
// caller holds s.mu.
func (s *Store) writer(ctx context.Context) (*writer, error) {
	if s.write != nil {
		return s.write, nil
	}
	w, err := openWriter(ctx, s.path)
	if err != nil {
		return nil, fmt.Errorf("open history: %w", err)
	}
	if s.reserve.fresh {
		if err := w.script(ctx, fmt.Sprintf("UPDATE host SET seed = %d", int64(s.reserve.restored.Seed))); err != nil {
			return nil, fmt.Errorf("keep seed: %w", errors.Join(err, w.close()))
		}
	}
	s.write, s.reserve = w, nil
	return w, nil
}

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
	c, err := sqlite.NewConnector(source(path, "locking_mode(exclusive)", "temp_store(memory)"))
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
	if err := seeAsNew(ctx, db, version); err != nil {
		return nil, fmt.Errorf("%w; and read it: %w", why, err)
	}
	restored, err := (&Store{read: db}).Restore(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w; and read it: %w", why, err)
	}
	return &reserve{restored: restored}, nil
}

func freshReserve() *reserve {
	return &reserve{fresh: true, restored: Restored{
		Holds: job.Holds{}, Ran: map[int64]map[int64]job.Verdict{},
		NextRun: 1, NextBackfill: 1, Seed: rand.Uint64(),
	}}
}

// seeAsNew has a database of an older version look like one of this version to
// whoever asks through the connection, without writing to it: names of the
// temporary database, which is in memory, go before those of the file.
func seeAsNew(ctx context.Context, db *sql.DB, version int) error {
	var text string
	switch {
	case version < 4:
		text = `CREATE TEMP VIEW run AS SELECT *, '' AS verdict, 0 AS cpu, 0 AS memory, 0 AS read, 0 AS write,
			NULL AS parents, 0 AS backfill, 0 AS lost, NULL AS asked FROM main.run;`
	case version < 8:
		text = "CREATE TEMP VIEW run AS SELECT *, NULL AS asked FROM main.run;"
	}
	switch {
	case version < 5:
		ledgers, err := schemas.ReadFile("schema/0005_ledger.sql")
		if err != nil {
			return err
		}
		text += `CREATE TEMP TABLE ledger (job, user, verdict, run, due, ended, success, bad, told, open, watched, ack);
			CREATE TEMP TABLE backfill (id, state, backfill);` + string(ledgers)
	case version < 6:
		text += "CREATE TEMP VIEW ledger AS SELECT *, NULL AS ack FROM main.ledger;"
	}
	if version < 9 {
		text += "CREATE TEMP VIEW host AS SELECT *, 0 AS owners FROM main.host;"
	}
	if _, err := db.ExecContext(ctx, text); err != nil {
		return fmt.Errorf("look at an older database: %w", err)
	}
	return nil
}

// writer is the one that writes, opened now if there was no room before, with
// what Rename has left to do done. The caller holds s.mu.
func (s *Store) writer(ctx context.Context) (*writer, error) {
	if s.write == nil {
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
	}
	if s.renames == nil {
		return s.write, nil
	}
	err := s.write.transact(func() error { return s.write.rename(ctx, s.renames) })
	if err != nil {
		return nil, fmt.Errorf("rename jobs: %w", err)
	}
	s.renames = nil
	return s.write, nil
}

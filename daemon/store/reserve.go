package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"modernc.org/sqlite"

	"github.com/cronring/cronring/daemon/job"
)

// reserve replaces a writer that could not be opened because the disk is full or read-only: jobs
// must run anyway. It holds the content of the history, and Commit opens the writer as soon as the
// disk allows.
type reserve struct {
	restored Restored
	fresh    bool  // no history existed: restored.Seed is new and must be stored
	unread   error // why the existing history could not be read: it must not be written before the next start
}

// openReserve reads what a start must know without writing anything.
func openReserve(ctx context.Context, path string, readOnly bool) *reserve {
	restored, err := readWithoutWriting(ctx, path, readOnly)
	if err != nil {
		r := freshReserve()
		r.unread = err
		return r
	}
	if restored == nil {
		return freshReserve()
	}
	return &reserve{restored: *restored}
}

// readWithoutWriting returns nil if no history exists.
func readWithoutWriting(ctx context.Context, path string, readOnly bool) (*Restored, error) {
	if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil, nil
	}
	c, err := sqlite.NewConnector(reserveSource(path, readOnly))
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(c)
	defer db.Close()
	db.SetMaxOpenConns(1)
	var version int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return nil, err
	}
	if version == 0 {
		return nil, nil
	}
	if steps, err := schemaSteps(); err != nil || version > len(steps) {
		return nil, cmp.Or(err, error(&NewerError{Path: path, Schema: version, Known: len(steps)}))
	}
	if err := seeAsNew(ctx, db, version); err != nil {
		return nil, err
	}
	restored, err := (&Store{read: db}).Restore(ctx)
	return &restored, err
}

// reserveSource returns a source that opens the database without writing. An exclusive reader needs
// no shared memory file, for which there may be no space either, but a lock that a read-only disk
// does not allow. On such a disk SQLite reads the files of the last writer; if that closed the
// database, all of the history is in the database itself.
func reserveSource(path string, readOnly bool) string {
	if !readOnly {
		return source(path, "locking_mode(exclusive)", "temp_store(memory)")
	}
	options := "&mode=ro"
	if _, err := os.Stat(path + suffixes[1]); err != nil {
		options += "&immutable=1"
	}
	return source(path, "temp_store(memory)") + options
}

func freshReserve() *reserve {
	return &reserve{fresh: true, restored: Restored{
		Holds: job.Holds{}, Ran: map[int64]map[int64]job.Verdict{},
		NextRun: 1, NextBackfill: 1, Seed: rand.Uint64(),
	}}
}

// seeAsNew makes a database of an older version look like one of this version on this connection,
// without writing to it: names of the temporary database, which is in memory, precede those of the
// file.
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

// writer returns the writer. It opens it now if that failed before, and completes Rename. The
// caller holds s.mu.
func (s *Store) writer(ctx context.Context) (*writer, error) {
	if s.write == nil {
		if s.reserve.unread != nil {
			return nil, fmt.Errorf("the history could not be read at the start, and is used again after the next one: %w", s.reserve.unread)
		}
		if s.lock == nil {
			lock, err := lockDir(filepath.Dir(s.path))
			if err != nil {
				return nil, err
			}
			s.lock = lock
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

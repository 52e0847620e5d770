package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"

	"github.com/cronring/cronring/daemon/atomicfile"
)

// Sizes describes the size of the history.
type Sizes struct {
	Path  string
	Bytes int64            // of the file and its journal
	Free  int64            // of them, room for more
	Rows  map[string]int64 // by table
}

// tables are the tables that are counted.
var tables = []string{"run", "occurrence", "output", "record", "life", "job", "revision", "dead", "state", "backfill", "action"}

// Sizes measures the history.
func (db *DB) Sizes(ctx context.Context) (Sizes, error) {
	z := Sizes{Path: db.path, Bytes: db.Bytes(), Rows: map[string]int64{}}
	err := db.read.QueryRowContext(ctx,
		"SELECT free.freelist_count * size.page_size FROM pragma_freelist_count AS free, pragma_page_size AS size").Scan(&z.Free)
	for _, name := range tables {
		if err != nil {
			return z, fmt.Errorf("measure history: %w", err)
		}
		var n int64
		err = db.read.QueryRowContext(ctx, "SELECT count(*) FROM "+name).Scan(&n)
		z.Rows[name] = n
	}
	return z, err
}

// Bytes returns the size of the history's file and its journal.
func (db *DB) Bytes() (n int64) {
	for _, path := range []string{db.path, db.path + "-wal"} {
		if info, err := os.Stat(path); err == nil {
			n += info.Size()
		}
	}
	return n
}

// mostProblems limits the result of Check for a file that is damaged throughout.
const mostProblems = 100

// Check reads all of the database and returns what is damaged. Commits continue meanwhile.
func (db *DB) Check(ctx context.Context) (problems []string, err error) {
	err = db.Each(ctx, func(rows *sql.Rows) error {
		var text string
		err := rows.Scan(&text)
		if text != "ok" {
			problems = append(problems, text)
		}
		return err
	}, fmt.Sprintf("PRAGMA integrity_check(%d)", mostProblems))
	if err != nil {
		return nil, fmt.Errorf("check history: %w", err)
	}
	return problems, nil
}

// keepBackups is the maximum number of copies.
const keepBackups = 5

// OldBackupError reports that Backup wrote a copy, but could not remove an old one.
type OldBackupError struct{ Err error }

func (e *OldBackupError) Error() string { return "remove an old backup: " + e.Err.Error() }
func (e *OldBackupError) Unwrap() error { return e.Err }

// Backup writes a copy of the current database next to it, and removes the oldest copies beyond
// five. The name contains the time in milliseconds; if it exists, the error is os.ErrExist. Commits
// continue meanwhile. If Backup fails, path is where the copy would be; after an OldBackupError it is
// there.
func (db *DB) Backup(ctx context.Context, now time.Time) (path string, size int64, err error) {
	dir := filepath.Join(filepath.Dir(db.path), "backup")
	path = filepath.Join(dir, "cronring-"+now.UTC().Format("20060102T150405.000Z")+".db")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return path, 0, err
	}
	if _, err := os.Lstat(path); err == nil {
		return path, 0, fmt.Errorf("back history up to %s: %w", path, os.ErrExist)
	}
	size, err = db.copyTo(ctx, path+".part")
	if err == nil {
		err = os.Rename(path+".part", path)
	}
	if err != nil {
		return path, 0, errors.Join(err, remove(path+".part"))
	}
	return path, size, dropBackups(dir)
}

// copyTo writes a copy to a file, replaces an incomplete one, and returns the size. It uses its own
// connection, because those for queries must not write.
func (db *DB) copyTo(ctx context.Context, path string) (size int64, err error) {
	if err := remove(path); err != nil {
		return 0, err
	}
	if err := createPrivate(path); err != nil { // VACUUM INTO takes an empty file, and leaves its mode
		return 0, err
	}
	c, err := sqlite.NewConnector(source(db.path))
	if err != nil {
		return 0, err
	}
	own := sql.OpenDB(c)
	defer own.Close()
	if _, err := own.ExecContext(ctx, "VACUUM INTO ?", path); err != nil {
		return 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), atomicfile.Sync(path)
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// dropBackups removes the oldest copies beyond keepBackups.
func dropBackups(dir string) error {
	all := atomicfile.Match(dir, "cronring-*.db") // by time, as they are named
	for _, path := range all[:max(0, len(all)-keepBackups)] {
		if err := os.Remove(path); err != nil {
			return &OldBackupError{err}
		}
	}
	return nil
}

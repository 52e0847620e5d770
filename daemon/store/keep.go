package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"modernc.org/sqlite"
)

// Sizes is how large the history is.
type Sizes struct {
	Path  string
	Bytes int64            // of the file and its journal
	Free  int64            // of them, room for more
	Rows  map[string]int64 // by table
}

// tables are those that are counted.
var tables = []string{"run", "occurrence", "output", "record", "life", "job", "revision", "dead", "state", "backfill"}

// Sizes measures the history.
func (s *Store) Sizes(ctx context.Context) (Sizes, error) {
	z := Sizes{Path: s.path, Bytes: s.Bytes(), Rows: map[string]int64{}}
	err := s.read.QueryRowContext(ctx,
		"SELECT free.freelist_count * size.page_size FROM pragma_freelist_count AS free, pragma_page_size AS size").Scan(&z.Free)
	for _, name := range tables {
		if err != nil {
			return z, fmt.Errorf("measure history: %w", err)
		}
		var n int64
		err = s.read.QueryRowContext(ctx, "SELECT count(*) FROM "+name).Scan(&n)
		z.Rows[name] = n
	}
	return z, err
}

// Bytes is how large the file of the history and its journal are.
func (s *Store) Bytes() (n int64) {
	for _, path := range []string{s.path, s.path + "-wal"} {
		if info, err := os.Stat(path); err == nil {
			n += info.Size()
		}
	}
	return n
}

// mostProblems bounds what Check tells of a file that is damaged all over.
const mostProblems = 100

// Check reads all of the database and tells what is damaged. Commits go on
// meanwhile.
func (s *Store) Check(ctx context.Context) (problems []string, err error) {
	err = s.each(ctx, func(rows *sql.Rows) error {
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

// keepBackups is how many copies there are at most.
const keepBackups = 5

// Backup writes a copy of the database as it is now beside it, and removes the
// oldest copies beyond five. Its name is of the second; that it exists is an
// error that is os.ErrExist. Commits go on meanwhile.
func (s *Store) Backup(ctx context.Context, now time.Time) (path string, size int64, err error) {
	dir := filepath.Join(filepath.Dir(s.path), "backup")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", 0, fmt.Errorf("back history up: %w", err)
	}
	path = filepath.Join(dir, "cronring-"+now.UTC().Format("20060102T150405Z")+".db")
	if _, err := os.Lstat(path); err == nil {
		return "", 0, fmt.Errorf("back history up to %s: %w", path, os.ErrExist)
	}
	if err := s.copyTo(ctx, path+".part"); err != nil {
		return "", 0, errors.Join(fmt.Errorf("back history up to %s: %w", path, err), remove(path+".part"))
	}
	if err := os.Rename(path+".part", path); err != nil {
		return "", 0, fmt.Errorf("back history up: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", 0, fmt.Errorf("back history up: %w", err)
	}
	return path, info.Size(), dropBackups(dir)
}

// copyTo writes a copy to a file of which what is there goes: one that was cut
// short. The connection is its own, as those for queries may write nothing.
func (s *Store) copyTo(ctx context.Context, path string) error {
	if err := remove(path); err != nil {
		return err
	}
	if err := createPrivate(path); err != nil { // VACUUM INTO takes an empty file, and leaves its mode
		return err
	}
	c, err := sqlite.NewConnector(source(s.path))
	if err != nil {
		return err
	}
	db := sql.OpenDB(c)
	defer db.Close()
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", path); err != nil {
		return err
	}
	return syncFile(path)
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// dropBackups removes the oldest copies beyond those that are kept.
func dropBackups(dir string) error {
	all, err := filepath.Glob(filepath.Join(dir, "cronring-*.db"))
	if err != nil {
		return err
	}
	slices.Sort(all) // by time, as they are named
	for _, path := range all[:max(0, len(all)-keepBackups)] {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("remove an old backup: %w", err)
		}
	}
	return nil
}

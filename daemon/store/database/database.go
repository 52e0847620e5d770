package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"modernc.org/sqlite"
)

// fileName is the database in the state directory.
const fileName = "cronring.db"

// DB is an open database. Its methods may be called concurrently: writers take turns, readers wait
// for none.
type DB struct {
	// Notice describes what Open did about a damaged database; "" if it was sound.
	Notice string

	path    string
	prepare func(ctx context.Context, w *Writer) error
	turn    sync.Mutex          // held by a writer that is not urgent
	mu      sync.RWMutex        // held while writing; only for reading with turn, so that an urgent writer is next
	lock    *os.File            // nil: the disk is read-only, and the lock is taken with write
	write   *Writer             // nil: the disk did not take anything yet
	blocked error               // why nothing must be written; nil: nothing prevents it
	first   func(*Writer) error // to do before anything else is written; nil: nothing
	read    *sql.DB
}

// Open opens DIR/cronring.db, or creates it, and locks DIR against a second daemon (*LockedError).
// It sets a damaged database aside and begins a new one, because jobs must keep running: see
// DB.Notice. On a disk that is full or read-only it also succeeds, and each Write tries again to open
// the database for writing. It rejects a database from a newer version (*NewerError). prepare is
// called with each writer before it is used.
func Open(ctx context.Context, dir string, prepare func(ctx context.Context, w *Writer) error) (*DB, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find state directory: %w", err)
	}
	db := &DB{path: filepath.Join(dir, fileName), prepare: prepare}
	if db.lock, err = lockDir(dir); err != nil && !IsReadOnly(err) {
		return nil, err
	}
	if err == nil {
		if err := db.open(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("open history %s: %w", db.path, err), db.lock.Close())
		}
	}
	if db.read, err = openReaders(db.path); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func (db *DB) open(ctx context.Context) (err error) {
	db.write, err = db.openWriter(ctx)
	if IsDamaged(err) {
		aside, asideErr := setAside(db.path, time.Now())
		if asideErr != nil {
			return errors.Join(err, asideErr)
		}
		db.Notice = fmt.Sprintf("the history was damaged (%v) and is kept as %s; a new one was begun", err, aside)
		db.write, err = db.openWriter(ctx)
	}
	if IsFull(err) {
		return nil
	}
	return err
}

// Writable reports whether the database is open for writing.
func (db *DB) Writable() bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.write != nil
}

// Block makes each Write return an error that wraps err, instead of opening the database for writing.
func (db *DB) Block(err error) { db.blocked = err }

// Close waits for the current writer and releases the lock.
func (db *DB) Close() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	var err error
	if db.read != nil {
		err = db.read.Close()
	}
	if db.write != nil {
		err = errors.Join(err, db.write.close())
	}
	if db.lock != nil {
		err = errors.Join(err, db.lock.Close())
	}
	return err
}

// openReaders makes the pool that queries use: few connections, which are closed
// after a minute without a query. The operating system caches the file. The cache of
// a connection has room for the inner pages of the indexes of millions of runs;
// without it, to find a run by its number takes twice as long.
func openReaders(path string) (*sql.DB, error) {
	c, err := sqlite.NewConnector(source(path, "query_only(1)", "cache_size(-1000)"))
	if err != nil {
		return nil, fmt.Errorf("open readers: %w", err)
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(1)
	db.SetConnMaxIdleTime(time.Minute)
	return db, nil
}

// source is the driver's name for the database with the given pragmas.
func source(path string, pragmas ...string) string {
	q := url.Values{"_pragma": append([]string{"busy_timeout(5000)"}, pragmas...), "_txlock": {"immediate"}}
	u := url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}
	return u.String()
}

// Each calls f for every row of a query.
func (db *DB) Each(ctx context.Context, f func(*sql.Rows) error, query string, args ...any) error {
	rows, err := db.read.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Row returns the only row of a query.
func (db *DB) Row(ctx context.Context, query string, args ...any) *sql.Row {
	return db.read.QueryRowContext(ctx, query, args...)
}

package store

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

	"github.com/cronring/cronring/daemon/job"
)

// fileName is the database in the state directory.
const fileName = "cronring.db"

// Store is an open history database. Its methods may be called concurrently;
// commits and slices of Prune take turns, readers wait for neither.
type Store struct {
	// Notice describes what Open did about a damaged database; "" if it was sound.
	Notice string

	path    string
	mu      sync.Mutex // held while writing
	lock    *os.File   // nil: the disk is read-only, and the lock is taken with write
	write   *writer
	reserve *reserve // in place of write, while the disk does not take anything

	pruning sync.Mutex // held by Prune, with the next two
	swept   time.Time  // when it looked at all jobs
	printed printed

	renames *job.Renames // left to do in the database; nil: none
	read    *sql.DB
}

// Open opens DIR/cronring.db, or creates it, and locks DIR against a second daemon (*LockedError).
// It sets a damaged database aside and begins a new one, because jobs must keep running: see
// Store.Notice. On a disk that is full or read-only it also succeeds, and Commit fails until it can
// write. It rejects a database from a newer version (*NewerError).
func Open(ctx context.Context, dir string) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find state directory: %w", err)
	}
	s := &Store{path: filepath.Join(dir, fileName)}
	if s.lock, err = lockDir(dir); IsReadOnly(err) {
		s.reserve = openReserve(ctx, s.path, true)
		if s.read, err = openReaders(s.path); err != nil {
			return nil, err
		}
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open history %s: %w", s.path, err), s.lock.Close())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	w, err := openWriter(ctx, s.path)
	if IsDamaged(err) {
		aside, asideErr := setAside(s.path, time.Now())
		if asideErr != nil {
			return errors.Join(err, asideErr)
		}
		s.Notice = fmt.Sprintf("the history was damaged (%v) and is kept as %s; a new one was begun", err, aside)
		w, err = openWriter(ctx, s.path)
	}
	if IsFull(err) {
		s.reserve, err = openReserve(ctx, s.path, false), nil
	}
	if err != nil {
		return err
	}
	s.write = w
	if s.read, err = openReaders(s.path); err != nil {
		return errors.Join(err, s.closeWriter())
	}
	return nil
}

func (s *Store) closeWriter() error {
	if s.write == nil {
		return nil
	}
	return s.write.close()
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

// Close waits for the current commit and releases the lock.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := errors.Join(s.read.Close(), s.closeWriter())
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}

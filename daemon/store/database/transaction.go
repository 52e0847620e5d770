package database

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// writer returns the writer. It opens it now if that failed before, and completes First. The caller
// holds db.mu, or has its turn.
func (db *DB) writer(ctx context.Context) (w *Writer, err error) {
	if db.write == nil {
		if db.blocked != nil {
			return nil, fmt.Errorf("the history could not be read at this start; the next start tries it again: %w", db.blocked)
		}
		if db.lock == nil {
			if db.lock, err = lockDir(filepath.Dir(db.path)); err != nil {
				return nil, err
			}
		}
		if db.write, err = db.openWriter(ctx); err != nil {
			return nil, fmt.Errorf("open history: %w", err)
		}
	}
	if err := db.checkPlace(); err != nil {
		return nil, err
	}
	if db.first != nil {
		if err := db.write.transact(func() error { return db.first(db.write) }); err != nil {
			return nil, err
		}
		db.first = nil
	}
	return db.write, nil
}

// errReplaced means that the next daemon would not find what this one writes.
var errReplaced = errors.New("the file of the history was removed, or replaced by another one")

// checkPlace returns an error if the path does not lead to the file that is open.
func (db *DB) checkPlace() error {
	now, err := os.Stat(db.path)
	if err == nil && !os.SameFile(now, db.write.file) || errors.Is(err, os.ErrNotExist) {
		return errReplaced
	}
	return nil // other errors are those of the disk, which the write itself reports
}

// Write calls f in one transaction: nothing of it remains after an error. The error can mean that
// the disk is full or read-only; a later Write tries again.
func (db *DB) Write(ctx context.Context, f func(w *Writer) error) error {
	defer db.takeTurn()()
	return db.transact(ctx, f)
}

// WriteUrgent is Write for the commits of the loop: it waits for the running transaction, but not
// for other writers that wait.
func (db *DB) WriteUrgent(ctx context.Context, f func(w *Writer) error) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.transact(ctx, f)
}

// takeTurn waits until a writer that is not urgent may write, and returns what ends that.
func (db *DB) takeTurn() (end func()) {
	db.turn.Lock()
	db.mu.RLock() // it waits while Lock does
	return func() {
		db.mu.RUnlock()
		db.turn.Unlock()
	}
}

func (db *DB) transact(ctx context.Context, f func(w *Writer) error) error {
	w, err := db.writer(ctx)
	if err != nil {
		return err
	}
	return w.transact(func() error { return f(w) })
}

// WriteUnsynced is Write without waiting for the disk: after a power loss the transaction may be
// missing. The next Write, which waits, comes after it in the journal.
func (db *DB) WriteUnsynced(ctx context.Context, f func(w *Writer) error) error {
	defer db.takeTurn()()
	w, err := db.writer(ctx)
	if err != nil {
		return err
	}
	if err := w.Script(ctx, "PRAGMA synchronous = normal"); err != nil {
		return err
	}
	err = w.transact(func() error { return f(w) })
	return errors.Join(err, w.Script(context.WithoutCancel(ctx), "PRAGMA synchronous = full"))
}

// First calls f in a transaction now. If that fails, each later write first tries it again.
func (db *DB) First(ctx context.Context, f func(w *Writer) error) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.first = f
	_, err := db.writer(ctx)
	return err
}

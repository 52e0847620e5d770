package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"modernc.org/sqlite"
)

// writer is the one connection that writes. It uses the driver directly, because database/sql needs
// 2.5 times the allocations for the same rows. It is used by one goroutine at a time.
type writer struct {
	conn  driver.Conn
	stmts statements
	args  []driver.NamedValue // reused by exec
	life  int64               // this opening's row in the table life
	jobs  jobNumbers
	news  news
}

// lockWait is how long a commit waits while another program, such as an administrator's sqlite3,
// holds the lock of the database. No job starts meanwhile.
const lockWait = 100 * time.Millisecond

// openWriter opens the database, checks it and brings its schema up to date.
func openWriter(ctx context.Context, path string) (*writer, error) {
	if err := createPrivate(path); err != nil {
		return nil, err
	}
	c, err := sqlite.NewConnector(source(path, "cache_size(-512)", "journal_mode(wal)",
		"synchronous(full)", "foreign_keys(1)", "journal_size_limit(4194304)"))
	if err != nil {
		return nil, err
	}
	conn, err := c.Connect(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{conn: conn, jobs: jobNumbers{}, news: newNews()}
	if err := w.prepare(ctx, path); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *writer) prepare(ctx context.Context, path string) error {
	if err := w.check(ctx); err != nil {
		return err
	}
	if err := w.migrate(ctx, path); err != nil {
		return err
	}
	life, err := w.value(ctx, "SELECT coalesce(max(id), 0) + 1 FROM life")
	if err != nil {
		return fmt.Errorf("count lives: %w", err)
	}
	w.life = life.(int64)
	if err := w.script(ctx, "PRAGMA busy_timeout = "+strconv.Itoa(int(lockWait.Milliseconds()))); err != nil {
		return err
	}
	return w.stmts.prepare(ctx, w.conn)
}

func (w *writer) close() error {
	return errors.Join(w.stmts.close(), w.conn.Close())
}

// transact runs f in one transaction, which is over when it returns: nothing
// of it remains after an error.
func (w *writer) transact(f func() error) error {
	tx, err := w.conn.(driver.ConnBeginTx).BeginTx(context.Background(), driver.TxOptions{})
	if err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	if err := f(); err != nil {
		clear(w.jobs)
		// After severe errors, such as a full disk, SQLite itself has rolled back, and then rejects
		// another rollback; err is the relevant error.
		_ = tx.Rollback()
		return err
	}
	if err := tx.Commit(); err != nil {
		clear(w.jobs)
		return fmt.Errorf("commit transaction: %w", err)
	}
	return nil
}

// exec runs a prepared statement and returns the number of rows it changed.
// It is not to be interrupted: a step is written whole or fails by itself.
func (w *writer) exec(s driver.Stmt, args ...driver.Value) (int64, error) {
	w.args = w.args[:0]
	for i, v := range args {
		w.args = append(w.args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	r, err := s.(driver.StmtExecContext).ExecContext(context.Background(), w.args)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// script runs statements that are not worth preparing.
func (w *writer) script(ctx context.Context, text string) error {
	_, err := w.conn.(driver.ExecerContext).ExecContext(ctx, text, nil)
	return err
}

// value is the first column of the first row of a query.
func (w *writer) value(ctx context.Context, query string) (driver.Value, error) {
	rows, err := w.conn.(driver.QueryerContext).QueryContext(ctx, query, nil)
	if err != nil {
		return nil, err
	}
	return first(rows)
}

// lookUp is value for a prepared statement; nil without a row.
func (w *writer) lookUp(s driver.Stmt, arg driver.Value) (driver.Value, error) {
	args := []driver.NamedValue{{Ordinal: 1, Value: arg}}
	rows, err := s.(driver.StmtQueryContext).QueryContext(context.Background(), args)
	if err != nil {
		return nil, err
	}
	v, err := first(rows)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	return v, err
}

func first(rows driver.Rows) (driver.Value, error) {
	dest := make([]driver.Value, len(rows.Columns()))
	err := rows.Next(dest)
	if err = errors.Join(err, rows.Close()); err != nil {
		return nil, err
	}
	return dest[0], nil
}

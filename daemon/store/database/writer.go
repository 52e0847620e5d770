package database

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"modernc.org/sqlite"

	"github.com/cronring/cronring/daemon/job"
)

// Writer is the one connection that writes. It uses the driver directly, because database/sql needs
// 2.5 times the allocations for the same rows. It is used by one goroutine at a time, within a
// transaction.
type Writer struct {
	file            os.FileInfo // that the connection has open
	conn            driver.Conn
	stmts           []driver.Stmt
	args            []driver.NamedValue // reused by Exec
	findJob, addJob driver.Stmt
	jobs            map[job.ID]int64 // rows of jobs that were used lately
}

// lockWait is how long a commit waits while another program, such as an administrator's sqlite3,
// holds the lock of the database. No job starts meanwhile.
const lockWait = 100 * time.Millisecond

// openWriter opens the database for writing, checks it and brings its schema up to date.
func (db *DB) openWriter(ctx context.Context) (*Writer, error) {
	if err := createPrivate(db.path); err != nil {
		return nil, err
	}
	c, err := sqlite.NewConnector(source(db.path, "cache_size(-512)", "journal_mode(wal)",
		"synchronous(full)", "foreign_keys(1)", "journal_size_limit(4194304)"))
	if err != nil {
		return nil, err
	}
	conn, err := c.Connect(ctx)
	if err != nil {
		return nil, err
	}
	w := &Writer{conn: conn, jobs: map[job.ID]int64{}}
	if w.file, err = os.Stat(db.path); err == nil {
		err = w.prepare(ctx, db.path)
	}
	if err == nil {
		err = db.prepare(ctx, w)
	}
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *Writer) prepare(ctx context.Context, path string) error {
	if err := w.check(ctx); err != nil {
		return err
	}
	if err := w.migrate(ctx, path); err != nil {
		return err
	}
	if err := w.Script(ctx, "PRAGMA busy_timeout = "+strconv.Itoa(int(lockWait.Milliseconds()))); err != nil {
		return err
	}
	return errors.Join(w.Prepare(ctx, &w.findJob, "SELECT n FROM job WHERE id = ?"),
		w.Prepare(ctx, &w.addJob, "INSERT INTO job (id) VALUES (?) RETURNING n"))
}

// Prepare prepares a statement for as long as the writer is open, because preparing costs more than
// running.
func (w *Writer) Prepare(ctx context.Context, stmt *driver.Stmt, text string) (err error) {
	if *stmt, err = w.conn.(driver.ConnPrepareContext).PrepareContext(ctx, text); err != nil {
		return fmt.Errorf("prepare %q: %w", text, err)
	}
	w.stmts = append(w.stmts, *stmt)
	return nil
}

func (w *Writer) close() error {
	var errs []error
	for _, stmt := range w.stmts {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(errors.Join(errs...), w.conn.Close())
}

// transact runs f in one transaction, which is over when it returns: nothing
// of it remains after an error.
func (w *Writer) transact(f func() error) error {
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

// Exec runs a prepared statement and returns the number of rows it changed.
// It is not to be interrupted: a step is written whole or fails by itself.
func (w *Writer) Exec(s driver.Stmt, args ...driver.Value) (int64, error) {
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

// Once runs a statement that is not worth keeping prepared.
func (w *Writer) Once(ctx context.Context, text string, args ...driver.Value) error {
	return w.With(ctx, text, func(stmt driver.Stmt) error {
		_, err := w.Exec(stmt, args...)
		return err
	})
}

// With prepares a statement for f only.
func (w *Writer) With(ctx context.Context, text string, f func(stmt driver.Stmt) error) error {
	stmt, err := w.conn.(driver.ConnPrepareContext).PrepareContext(ctx, text)
	if err != nil {
		return err
	}
	return errors.Join(f(stmt), stmt.Close())
}

// Script runs statements that are not worth preparing.
func (w *Writer) Script(ctx context.Context, text string) error {
	_, err := w.conn.(driver.ExecerContext).ExecContext(ctx, text, nil)
	return err
}

// Value is the first column of the first row of a query.
func (w *Writer) Value(ctx context.Context, query string) (driver.Value, error) {
	rows, err := w.conn.(driver.QueryerContext).QueryContext(ctx, query, nil)
	if err != nil {
		return nil, err
	}
	return first(rows)
}

// lookUp is Value for a prepared statement; nil without a row.
func (w *Writer) lookUp(s driver.Stmt, arg driver.Value) (driver.Value, error) {
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

const maxJobNumbers = 10_000

// Number is the row of a job, made when it is first written of.
func (w *Writer) Number(id job.ID) (int64, error) {
	if n, ok := w.jobs[id]; ok {
		return n, nil
	}
	v, err := w.lookUp(w.findJob, string(id))
	if err == nil && v == nil {
		v, err = w.lookUp(w.addJob, string(id))
	}
	if err != nil {
		return 0, err
	}
	if len(w.jobs) >= maxJobNumbers {
		clear(w.jobs)
	}
	n := v.(int64)
	w.jobs[id] = n
	return n, nil
}

// ForgetJobs forgets the rows of jobs, because some are about to be removed.
func (w *Writer) ForgetJobs() { clear(w.jobs) }

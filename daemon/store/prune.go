package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"
)

// Policy is how much history is kept. Zero fields keep everything.
type Policy struct {
	PerJob int           // runs, and skips, of one job
	Age    time.Duration // since the decision
}

// Pruned counts what Prune removed.
type Pruned struct {
	Runs, Skips int
}

// Prune looks for so many rows in one go, and removes them for so long in one
// transaction: commits pass in between.
const (
	pageRows  = 10_000
	sliceTime = time.Millisecond
)

// cut is one way in which rows leave the history. Readers find them and the
// writer only removes them: commits wait for what is removed, not for what is
// looked at.
type cut struct {
	find  string // up to three numbers that name a row; ?1 is keep, ?2 how many rows
	keep  int64
	drop  string // removes that row
	count *int
}

// over is what Prune may take: no live run, and never a job's newest. As runs
// neither come back to life nor become the newest again, what is over stays so.
const over = "state IN ('ended', 'dropped') AND run.id < (SELECT max(id) FROM run AS newest WHERE newest.job = run.job)"

// Rows come in order of time, as they lie on disk: one transaction touches few
// pages then.
const (
	oldRuns    = "SELECT id FROM run WHERE decided < ?1 AND " + over + " ORDER BY decided LIMIT ?2"
	oldSkips   = "SELECT due, job, era FROM occurrence WHERE run IS NULL AND at < ?1 ORDER BY at LIMIT ?2"
	oldRecords = "SELECT id FROM record WHERE at < ?1 LIMIT ?2"
	oldLives   = "SELECT id FROM life WHERE seen < ?1 AND id < (SELECT max(id) FROM life) LIMIT ?2"

	moreRuns = `SELECT run.id FROM job CROSS JOIN run ON run.job = job.n AND ` + over + ` AND run.id <=
		(SELECT id FROM run AS kept WHERE kept.job = job.n ORDER BY id DESC LIMIT 1 OFFSET ?1) ORDER BY run.id LIMIT ?2`
	moreSkips = `SELECT o.due, o.job, o.era FROM job CROSS JOIN occurrence AS o ON o.job = job.n AND o.run IS NULL AND o.due <=
		(SELECT due FROM occurrence AS kept WHERE kept.job = job.n AND kept.run IS NULL ORDER BY due DESC LIMIT 1 OFFSET ?1) ORDER BY o.due LIMIT ?2`

	dropRun    = "DELETE FROM run WHERE id = ?"
	dropSkip   = "DELETE FROM occurrence WHERE due = ? AND job = ? AND era = ?"
	dropRecord = "DELETE FROM record WHERE id = ?"
	dropLife   = "DELETE FROM life WHERE id = ?"
)

func (p Policy) cuts(now time.Time, done *Pruned) (cuts []cut) {
	if p.Age > 0 {
		before, uncounted := nanosBound(now.Add(-p.Age)), new(int)
		cuts = append(cuts,
			cut{oldRuns, before, dropRun, &done.Runs},
			cut{oldSkips, before, dropSkip, &done.Skips},
			cut{oldRecords, before, dropRecord, uncounted},
			cut{oldLives, before, dropLife, uncounted})
	}
	if p.PerJob > 0 {
		cuts = append(cuts,
			cut{moreRuns, int64(p.PerJob), dropRun, &done.Runs},
			cut{moreSkips, int64(p.PerJob), dropSkip, &done.Skips})
	}
	return cuts
}

// Prune removes history that the policy does not keep. Marks are no history:
// they stay. Commits may go on meanwhile.
func (s *Store) Prune(ctx context.Context, now time.Time, p Policy) (done Pruned, err error) {
	for _, c := range p.cuts(now, &done) {
		if err := s.cut(ctx, c); err != nil {
			return done, fmt.Errorf("prune history: %w", err)
		}
	}
	return done, nil
}

func (s *Store) cut(ctx context.Context, c cut) error {
	for {
		rows, err := s.keys(ctx, c)
		if err != nil {
			return err
		}
		for rest := rows; len(rest) > 0; {
			n, err := s.drop(ctx, c.drop, rest)
			if err != nil {
				return err
			}
			*c.count += n
			rest = rest[n:]
		}
		if len(rows) < pageRows {
			return nil
		}
	}
}

// keys names the rows that a cut takes, or some of them if they are many.
func (s *Store) keys(ctx context.Context, c cut) (keys [][]driver.Value, err error) {
	err = s.each(ctx, func(rows *sql.Rows) error {
		columns, err := rows.Columns()
		if err != nil {
			return err
		}
		key, dest := make([]driver.Value, len(columns)), make([]any, len(columns))
		for i := range key {
			dest[i] = &key[i]
		}
		keys = append(keys, key)
		return rows.Scan(dest...)
	}, c.find, c.keep, pageRows)
	return keys, err
}

// drop removes as many rows as one transaction has time for, at least one.
func (s *Store) drop(ctx context.Context, text string, keys [][]driver.Value) (n int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.writer(ctx)
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	err = w.transact(func() error {
		stmt, err := w.conn.(driver.ConnPrepareContext).PrepareContext(ctx, text)
		if err != nil {
			return err
		}
		defer stmt.Close()
		for n < len(keys) && (n == 0 || time.Since(begun) < sliceTime) {
			if _, err := w.exec(stmt, keys[n]...); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

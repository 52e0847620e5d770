package statistics

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

// Skips calls f for up to n of the newest decisions to skip of each job that
// were due from (inclusive) to (exclusive), newest first: with Job, Due, First,
// Count, At, Reason, Detail and User.
func (s *Reader) Skips(ctx context.Context, jobs []job.ID, from, to time.Time, n int, f func(job.Record)) error {
	return s.eachSkip(ctx, f, skipColumns+`FROM json_each(?1) AS wanted JOIN job ON job.id = wanted.value
		JOIN occurrence AS o ON o.job = job.n AND o.run IS NULL AND o.due IN (SELECT due FROM occurrence
			WHERE job = job.n AND run IS NULL AND due >= ?2 AND due < ?3 ORDER BY due DESC LIMIT ?4)
		ORDER BY o.due DESC`, database.List(jobs), database.NanosBound(from), database.NanosBound(to), n)
}

// SkipsBetween is Skips for all jobs and for the decisions of a period.
func (s *Reader) SkipsBetween(ctx context.Context, from, to time.Time, n int, f func(job.Record)) error {
	return s.eachSkip(ctx, f, skipColumns+`FROM occurrence AS o CROSS JOIN job ON job.n = o.job
		WHERE o.run IS NULL AND o.at >= ? AND o.at < ? ORDER BY o.at DESC LIMIT ?`, database.NanosBound(from), database.NanosBound(to), n)
}

const skipColumns = "SELECT job.id, o.due, o.first, o.count, o.at, o.reason, o.detail, o.user "

func (s *Reader) eachSkip(ctx context.Context, f func(job.Record), query string, args ...any) error {
	err := s.db.Each(ctx, func(rows *sql.Rows) error {
		r := job.Record{Kind: job.Decided, Decision: job.DecideSkip}
		var due, at int64
		var first sql.NullInt64
		err := rows.Scan(&r.Job, &due, &first, &r.Count, &at, &r.Reason, &r.Detail, &r.User)
		r.Due, r.First, r.At = database.FromNanos(due), database.Instant(first), database.FromNanos(at)
		f(r)
		return err
	}, query, args...)
	if err != nil {
		return fmt.Errorf("read skips: %w", err)
	}
	return nil
}

// SkipSample is a decision to skip as statistics need it.
type SkipSample struct {
	Number  int   // of the job
	Due, At int64 // nanoseconds since 1970; At is the time of the decision
	Count   int   // at least 1
}

const newestSkips = " FROM occurrence WHERE run IS NULL AND at >= ? AND at < ? ORDER BY at DESC LIMIT "

// SkipSamples calls f for the decisions to skip of a period, newest first. f must not keep the
// sample.
func (s *Reader) SkipSamples(ctx context.Context, from, to time.Time, f func(*SkipSample)) error {
	var r SkipSample
	fields := []any{&r.Number, &r.Due, &r.At, &r.Count}
	err := s.db.Each(ctx, func(rows *sql.Rows) error {
		err := rows.Scan(fields...)
		r.Count = max(1, r.Count)
		f(&r)
		return err
	}, "SELECT job, due, at, count"+newestSkips+"-1", database.NanosBound(from), database.NanosBound(to))
	if err != nil {
		return fmt.Errorf("read samples of skips: %w", err)
	}
	return nil
}

// SkipsFrom returns the earliest time from which on a period has at most n decisions to skip.
func (s *Reader) SkipsFrom(ctx context.Context, from, to time.Time, n int) (time.Time, error) {
	var at int64 // of the one before these
	err := s.db.Row(ctx, "SELECT at"+newestSkips+"1 OFFSET ?", database.NanosBound(from), database.NanosBound(to), n).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		return from, nil
	}
	if err != nil {
		return from, fmt.Errorf("count skips: %w", err)
	}
	return database.FromNanos(at + 1), nil
}

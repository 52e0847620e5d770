package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

// decision selects decisions about occurrences, each with its run as it is now.
const decision = `SELECT o.due AS due, o.era AS era, o.first, o.count, o.at, o.decision, o.reason, o.detail, o.user, ` + runColumns + `
	FROM job CROSS JOIN occurrence AS o ON o.job = job.n LEFT JOIN run ON run.id = o.run WHERE job.id = ?1 AND `

// Table occurrence is ordered by time, not by job: decisions that made a run are found through
// the job's runs, others through their own index.
const decisionsQuery = decision + `o.run IS NOT NULL AND (o.due, o.era) IN (SELECT r.due, r.era FROM run AS r
		WHERE r.job = (SELECT n FROM job WHERE id = ?1) AND r.due >= ?2 AND r.due < ?3)
	UNION ALL ` + decision + `o.run IS NULL AND o.due >= ?2 AND coalesce(o.first, o.due) < ?3
	ORDER BY due DESC, era DESC LIMIT ?4`

// Decisions returns the decisions for a job's occurrences from (inclusive) to (exclusive), in time
// order; Run is the run as it is now. If there are more than limit, it returns the newest.
func (s *Store) Decisions(ctx context.Context, id job.ID, from, to time.Time, limit int) ([]job.Record, error) {
	records, err := s.decisions(ctx, decisionsQuery, id, database.NanosBound(from), database.NanosBound(to), limit)
	slices.Reverse(records)
	return records, err
}

// An occurrence is either a row of its own, or inside a row of skips.
const decisionAtQuery = decision + "o.due = ?2 UNION ALL " +
	decision + "o.run IS NULL AND o.due > ?2 AND o.first <= ?2 ORDER BY era DESC LIMIT 1"

// DecisionAt returns the decision for one occurrence, in its newest era.
func (s *Store) DecisionAt(ctx context.Context, id job.ID, due time.Time) (rec job.Record, ok bool, err error) {
	records, err := s.decisions(ctx, decisionAtQuery, id, database.NanosBound(due))
	if len(records) == 0 {
		return rec, false, err
	}
	return records[0], true, nil
}

func (s *Store) decisions(ctx context.Context, query string, args ...any) ([]job.Record, error) {
	var records []job.Record
	var rec job.Record
	var due, at int64
	var first sql.NullInt64
	var r runRow
	fields := append([]any{&due, &rec.Era, &first, &rec.Count, &at, &rec.Decision, &rec.Reason, &rec.Detail, &rec.User}, r.fields()...)
	err := s.Each(ctx, func(rows *sql.Rows) error {
		if err := rows.Scan(fields...); err != nil {
			return err
		}
		rec.Kind, rec.Job, rec.Run = job.Decided, job.ID(r.job.String), nil
		rec.Due, rec.First, rec.At = database.FromNanos(due), database.Instant(first), database.FromNanos(at)
		rec.Detail = rec.Detail.Short()
		if r.id.Valid {
			run, err := r.run()
			if err != nil {
				return err
			}
			rec.Run = &run
		}
		records = append(records, rec)
		return nil
	}, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read decisions: %w", err)
	}
	return records, nil
}

// cutError cuts errors. Some have texts of a crontab, such as the path of a SHELL that does not exist, of
// 100 KiB and more.
func cutError(text string) string {
	if len(text) <= 2*job.MaxText {
		return text
	}
	return job.CutText(text)
}

// Doubles calls f with each occurrence that also ran on another member of the ring, and with where
// it did ("ran on HOST too, as run N"), if that was noticed at an instant or later.
func (s *Store) Doubles(ctx context.Context, since time.Time, f func(id job.ID, due time.Time, where job.Detail)) error {
	err := s.Each(ctx, func(rows *sql.Rows) error {
		var id job.ID
		var due int64
		var where job.Detail
		err := rows.Scan(&id, &due, &where)
		f(id, database.FromNanos(due), where)
		return err
	}, "SELECT job, due, detail FROM record WHERE at >= ? AND kind = ? AND due IS NOT NULL", database.NanosBound(since), job.Doubled)
	if err != nil {
		return fmt.Errorf("read doubles: %w", err)
	}
	return nil
}

// Records returns the facts that are not steps of a run (paused, resumed, loaded, stepped, up,
// down; a backfill that began or ended; a dead letter that was removed) from (inclusive) to
// (exclusive), in time order. The run of a dead letter is as it is now, and nil once it is pruned.
func (s *Store) Records(ctx context.Context, from, to time.Time, limit int) ([]job.Record, error) {
	var records []job.Record
	err := s.Each(ctx, func(rows *sql.Rows) error {
		var r job.Record
		var at int64
		var due sql.NullInt64
		var hold, backfill []byte
		var of runRow
		fields := append([]any{&at, &r.Kind, &r.Job, &r.Era, &r.Reason, &r.Detail, &due, &hold, &backfill}, of.fields()...)
		if err := rows.Scan(fields...); err != nil {
			return err
		}
		r.At, r.Due, r.Detail = database.FromNanos(at), database.Instant(due), r.Detail.Short()
		var err error
		if hold != nil {
			r.Hold = new(job.Hold)
			*r.Hold, err = readHold(hold)
		}
		if backfill != nil {
			r.Backfill = new(job.Backfill)
			err = errors.Join(err, json.Unmarshal(backfill, r.Backfill))
		}
		if of.id.Valid {
			run, unread := of.run()
			r.Run, r.Due, err = &run, run.Due, errors.Join(err, unread)
		}
		records = append(records, r)
		return err
	}, `SELECT record.at, record.kind, record.job, record.era, record.reason, record.detail, record.due, record.hold, record.backfill, `+runColumns+`
		FROM record LEFT JOIN run ON run.id = record.run LEFT JOIN job ON job.n = run.job
		WHERE record.at >= ? AND record.at < ? ORDER BY record.at, record.id LIMIT ?`,
		database.NanosBound(from), database.NanosBound(to), limit)
	if err != nil {
		return nil, fmt.Errorf("read records: %w", err)
	}
	return records, nil
}

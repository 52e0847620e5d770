package store

import (
	"context"
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

// slice is how many rows one transaction of Prune removes: a few milliseconds,
// so that commits pass in between.
const slice = 200

// keep is what Prune never takes: live runs, and a job's newest.
const keep = "run.state IN ('ended', 'dropped') AND run.id < (SELECT max(id) FROM run AS newest WHERE newest.job = run.job)"

// Prune removes history that the policy does not keep. Marks are no history:
// they stay.
func (s *Store) Prune(ctx context.Context, now time.Time, p Policy) (Pruned, error) {
	var done Pruned
	for _, step := range p.steps(now) {
		for {
			n, err := s.pruneSlice(ctx, step.query, step.args)
			if err != nil {
				return done, fmt.Errorf("prune history: %w", err)
			}
			*step.count(&done) += n
			if n < slice {
				break
			}
		}
	}
	return done, nil
}

type pruneStep struct {
	query string
	args  []driver.NamedValue
	count func(*Pruned) *int
}

func (p Policy) steps(now time.Time) []pruneStep {
	runs := func(d *Pruned) *int { return &d.Runs }
	skips := func(d *Pruned) *int { return &d.Skips }
	arg := func(v int64) []driver.NamedValue { return []driver.NamedValue{{Ordinal: 1, Value: v}} }
	var steps []pruneStep
	if p.Age > 0 {
		before := arg(now.Add(-p.Age).UnixNano())
		steps = append(steps,
			pruneStep{fmt.Sprintf("DELETE FROM run WHERE id IN (SELECT id FROM run WHERE decided < ? AND %s LIMIT %d)", keep, slice), before, runs},
			pruneStep{fmt.Sprintf(`DELETE FROM occurrence WHERE (due, job, era) IN (SELECT due, job, era FROM occurrence
				WHERE due < ? AND run IS NULL LIMIT %d)`, slice), before, skips},
			pruneStep{fmt.Sprintf("DELETE FROM record WHERE id IN (SELECT id FROM record WHERE at < ? LIMIT %d)", slice), before, skips})
	}
	if p.PerJob > 0 {
		n := arg(int64(p.PerJob))
		steps = append(steps,
			pruneStep{fmt.Sprintf(`DELETE FROM run WHERE id IN (SELECT run.id FROM job JOIN run ON run.job = job.n
				WHERE run.id <= (SELECT id FROM run AS kept WHERE kept.job = job.n ORDER BY id DESC LIMIT 1 OFFSET ?) AND %s LIMIT %d)`, keep, slice), n, runs},
			pruneStep{fmt.Sprintf(`DELETE FROM occurrence WHERE (due, job, era) IN (SELECT o.due, o.job, o.era FROM job
				JOIN occurrence AS o ON o.job = job.n AND o.run IS NULL
				WHERE o.due <= (SELECT due FROM occurrence AS kept WHERE kept.job = job.n AND kept.run IS NULL ORDER BY due DESC LIMIT 1 OFFSET ?) LIMIT %d)`, slice), n, skips})
	}
	// The decision of a run goes with it.
	return append(steps, pruneStep{fmt.Sprintf(`DELETE FROM occurrence WHERE (due, job, era) IN (SELECT due, job, era FROM occurrence
		WHERE run IS NOT NULL AND run NOT IN (SELECT id FROM run) LIMIT %d)`, slice), nil, func(*Pruned) *int { return new(int) }})
}

// pruneSlice removes rows in one transaction and counts them.
func (s *Store) pruneSlice(ctx context.Context, query string, args []driver.NamedValue) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows int64
	err := s.write.transact(func() error {
		result, err := s.write.conn.(driver.ExecerContext).ExecContext(context.Background(), query, args)
		if err != nil {
			return err
		}
		rows, err = result.RowsAffected()
		return err
	})
	return int(rows), err
}

package statistics

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

// Sample is a run as statistics need it. They read several 100,000 runs, which as job.Run
// takes several times as long.
type Sample struct {
	ID     job.RunID
	Number int         // of the job, from 1 on: JobNumbers has its name
	Kind   *SampleKind // must not be changed

	// Nanoseconds since 1970, or NoTime.
	Due, Decided, Started, Ended int64

	Code   int // of the outcome
	CPU    time.Duration
	Memory int64
}

// NoTime is a time that is not known.
const NoTime = math.MinInt64

// SampleKind holds the properties that many runs share.
type SampleKind struct {
	User    string          `json:"user"`
	Trigger job.Trigger     `json:"trigger"`
	State   job.RunState    `json:"state"`
	Outcome job.OutcomeKind `json:"outcome"`
	Verdict job.Verdict     `json:"verdict"`
}

// JobNumbers returns the names of jobs by the numbers of samples. Missing numbers have no name.
func (s *Reader) JobNumbers(ctx context.Context) (jobs []job.ID, err error) {
	err = s.db.Each(ctx, func(rows *sql.Rows) error {
		var n int
		var id job.ID
		err := rows.Scan(&n, &id)
		jobs = append(jobs, make([]job.ID, max(0, n-len(jobs)))...)
		jobs = append(jobs, id)
		return err
	}, "SELECT n, id FROM job ORDER BY n")
	if err != nil {
		return nil, fmt.Errorf("read jobs: %w", err)
	}
	return jobs, nil
}

// Samples calls f for up to n runs of some jobs, or of all if jobs is nil, that were decided from
// (inclusive) to (exclusive), newest first. f must not keep the sample.
func (s *Reader) Samples(ctx context.Context, jobs []job.ID, from, to time.Time, n int, f func(*Sample)) error {
	first, last, err := s.db.RunsBetween(ctx, from, to)
	if err != nil {
		return err
	}
	if jobs == nil {
		return s.allSamples(ctx, job.RunID(first), job.RunID(last), n, f)
	}
	return s.sampleRows(ctx, f, `WHERE job IN (SELECT job.n FROM job WHERE job.id IN (SELECT value FROM json_each(?)))
		AND id > ? AND id <= ? ORDER BY id DESC LIMIT ?`, database.List(jobs), first, last, n)
}

// allSamples reads the runs of all jobs: from blocks, and from rows where there are none.
func (s *Reader) allSamples(ctx context.Context, first, last job.RunID, n int, f func(*Sample)) error {
	left := n
	take := func(r *Sample) {
		if left > 0 {
			f(r)
		}
		left--
	}
	rows := func(from, to job.RunID) error {
		if left <= 0 || from >= to {
			return nil
		}
		return s.sampleRows(ctx, take, "WHERE id > ? AND id <= ? ORDER BY id DESC LIMIT ?", from, to, left)
	}
	for left > 0 && last > first {
		blocks, err := s.blocks(ctx, int64(first)/BlockRuns, int64(last)/BlockRuns)
		if err != nil {
			return err
		}
		for _, b := range blocks {
			begin := max(first, job.RunID(b.n*BlockRuns-1))
			err := rows(max(first, job.RunID(b.n*BlockRuns+BlockRuns-1)), last)
			if err == nil && left > 0 {
				err = eachOfBlock(b.runs, b.n, begin, last, take)
			}
			if err != nil {
				return fmt.Errorf("read block %d: %w", b.n, err)
			}
			last = begin
		}
		if len(blocks) < blocksAtOnce {
			return rows(first, last)
		}
	}
	return nil
}

// blocksAtOnce is the number of blocks that one query reads. Each takes some 25 kB.
const blocksAtOnce = 64

type block struct {
	n    int64
	runs []byte
}

// blocks returns the newest blocks from one number to another.
func (s *Reader) blocks(ctx context.Context, first, last int64) (found []block, err error) {
	err = s.db.Each(ctx, func(rows *sql.Rows) error {
		var b block
		err := rows.Scan(&b.n, &b.runs)
		found = append(found, b)
		return err
	}, "SELECT n, runs FROM block WHERE n BETWEEN ? AND ? AND runs NOTNULL ORDER BY n DESC LIMIT ?", first, last, blocksAtOnce)
	if err != nil {
		return nil, fmt.Errorf("read blocks of runs: %w", err)
	}
	return found, nil
}

// sampleRows reads samples from the rows of runs that a condition selects.
func (s *Reader) sampleRows(ctx context.Context, f func(*Sample), where string, args ...any) error {
	var r Sample
	var user, trigger, state, outcome, verdict sql.RawBytes
	var due, started, ended sql.NullInt64
	known := words{}
	fields := []any{
		&r.ID, &r.Number, &due, &r.Decided, &started, &ended, &r.Code, &r.CPU, &r.Memory, &user, &trigger, &state, &outcome, &verdict,
	}
	err := s.db.Each(ctx, func(rows *sql.Rows) error {
		if err := rows.Scan(fields...); err != nil {
			return err
		}
		r.Kind = &SampleKind{
			User: known.of(user), Trigger: job.Trigger(known.of(trigger)), State: job.RunState(known.of(state)),
			Outcome: job.OutcomeKind(known.of(outcome)), Verdict: job.Verdict(known.of(verdict)),
		}
		r.Due, r.Started, r.Ended = nanosOrNone(due), nanosOrNone(started), nanosOrNone(ended)
		f(&r)
		return nil
	}, "SELECT id, job, due, decided, started, ended, code, cpu, memory, user, trigger, state, outcome, verdict FROM run "+where, args...)
	if err != nil {
		return fmt.Errorf("read samples of runs: %w", err)
	}
	return nil
}

func nanosOrNone(t sql.NullInt64) int64 {
	if !t.Valid {
		return NoTime
	}
	return t.Int64
}

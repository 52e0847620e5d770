package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

// readers is the number of connections that share a query of many jobs.
const readers = 2

// Last calls f for the newest ended run of each job, in no particular order. The runs have only ID,
// Job, User, Started, Ended, Outcome and Verdict.
func (s *Store) Last(ctx context.Context, f func(job.Run)) error {
	var jobs int64
	if err := s.Row(ctx, "SELECT coalesce(max(n), 0) FROM job").Scan(&jobs); err != nil {
		return fmt.Errorf("count jobs: %w", err)
	}
	share := jobs/readers + 1
	return shared(f, func(i int, one func(job.Run)) error {
		first := int64(i) * share
		return s.last(ctx, one, "job.n > ? AND job.n <= ?", first, first+share)
	})
}

// LastOf is Last for some jobs.
func (s *Store) LastOf(ctx context.Context, jobs []job.ID, f func(job.Run)) error {
	share := len(jobs)/readers + 1
	return shared(f, func(i int, one func(job.Run)) error {
		part := jobs[min(i*share, len(jobs)):min((i+1)*share, len(jobs))]
		if len(part) == 0 {
			return nil
		}
		return s.last(ctx, one, "job.id IN (SELECT value FROM json_each(?))", database.List(part))
	})
}

// shared has several readers read a share each, by number. Their calls of f take turns.
func shared(f func(job.Run), read func(share int, one func(job.Run)) error) error {
	var mu sync.Mutex
	one := func(r job.Run) {
		mu.Lock()
		defer mu.Unlock()
		f(r)
	}
	failed := make([]error, readers)
	var all sync.WaitGroup
	for i := range failed {
		all.Go(func() { failed[i] = read(i, one) })
	}
	all.Wait()
	return errors.Join(failed...)
}

// LastBy is Last for the newest run of a job that ran as a user.
func (s *Store) LastBy(ctx context.Context, id job.ID, user string, f func(job.Run)) error {
	return s.lastWith(ctx, f, "AND newest.user = ?", "job.id = ?", user, string(id))
}

func (s *Store) last(ctx context.Context, f func(job.Run), which string, args ...any) error {
	return s.lastWith(ctx, f, "", which, args...)
}

func (s *Store) lastWith(ctx context.Context, f func(job.Run), runs, which string, args ...any) error {
	err := s.Each(ctx, func(rows *sql.Rows) error {
		var r job.Run
		var started, ended sql.NullInt64
		o := &r.Outcome
		err := rows.Scan(&r.Job, &r.ID, &r.User, &started, &ended, &o.Kind, &o.Code, &o.Signal, &o.Error, &r.Verdict)
		r.State, r.Started, r.Ended = job.RunEnded, database.Instant(started), database.Instant(ended)
		f(r)
		return err
	}, `SELECT job.id, run.id, run.user, run.started, run.ended, run.outcome, run.code, run.signal, run.error, run.verdict
		FROM job CROSS JOIN run ON run.id = (SELECT newest.id FROM run AS newest
			WHERE newest.job = job.n AND newest.state = 'ended' `+runs+` ORDER BY newest.id DESC LIMIT 1)
		WHERE `+which, args...)
	if err != nil {
		return fmt.Errorf("read newest runs: %w", err)
	}
	return nil
}

// Streaks calls f for each job whose newest occurrence did not succeed, with the number of failures
// in a row and the time of the last success. Other fields of the summaries are not read.
func (s *Store) Streaks(ctx context.Context, f func(l job.Summary)) error {
	err := s.Each(ctx, func(rows *sql.Rows) error {
		var l job.Summary
		var success sql.NullInt64
		err := rows.Scan(&l.Job, &l.User, &l.Bad, &success)
		l.Success = database.Instant(success)
		f(l)
		return err
	}, "SELECT job.id, user, bad, success FROM ledger JOIN job ON job.n = ledger.job WHERE bad > 0 OR verdict <> 'ok'")
	if err != nil {
		return fmt.Errorf("read streaks: %w", err)
	}
	return nil
}

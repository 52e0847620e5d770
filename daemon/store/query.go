package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

// Filter chooses runs. Zero fields choose all.
type Filter struct {
	Jobs       []job.ID
	FailedOnly bool
	Skipped    bool // runs of occurrences that were not run after all
	Trigger    job.Trigger
	Since      time.Time // decided at or after
	Until      time.Time // decided before
	Before     job.RunID // the last run of the page before
	Limit      int       // 0: 100
	Bulk       int       // the last run is the first one with which the sum of job.Run.Bulk reaches this; 0: no limit
}

// where returns the filter in SQL.
func (f Filter) where() (rest string, args []any) {
	var w database.Where
	w.If(f.Jobs != nil, "run.job IN (SELECT n FROM job WHERE id IN (SELECT value FROM json_each(?)))", database.List(f.Jobs))
	w.If(f.FailedOnly, database.IsFailed)
	w.If(f.Skipped, database.Skipped)
	w.If(f.Trigger != "", "run.trigger = ?", f.Trigger)
	w.If(f.Jobs == nil && f.Trigger != "" && f.Trigger != job.TriggerClock, "run.trigger <> 'clock'") // the runs of a job are fewer
	w.If(!f.Since.IsZero(), "run.decided >= ?", database.NanosBound(f.Since))
	w.If(!f.Until.IsZero(), "run.decided < ?", database.NanosBound(f.Until))
	w.If(f.Before != 0, "run.id < ?", int64(f.Before))
	return w.Newest("run.id", f.Limit)
}

// Run returns one run; ok is false if it does not exist.
func (s *Store) Run(ctx context.Context, id job.RunID) (r job.Run, ok bool, err error) {
	runs, err := s.runs(ctx, "WHERE run.id = ?", int64(id))
	if len(runs) == 0 {
		return r, false, err
	}
	return runs[0], true, nil
}

var errEnough = errors.New("there are enough runs")

// Runs returns the selected runs, newest first.
func (s *Store) Runs(ctx context.Context, f Filter) (runs []job.Run, err error) {
	where, args := f.where()
	bulk := 0
	err = s.eachRun(ctx, func(r job.Run) error {
		runs = append(runs, r)
		if bulk += r.Bulk(); f.Bulk > 0 && bulk >= f.Bulk {
			return errEnough
		}
		return nil
	}, where, args...)
	if errors.Is(err, errEnough) {
		err = nil
	}
	return runs, err
}

// Numbered calls f for the runs with these numbers, in no order.
func (s *Store) Numbered(ctx context.Context, ids []job.RunID, f func(job.Run)) error {
	return s.eachRun(ctx, func(r job.Run) error {
		f(r)
		return nil
	}, "WHERE run.id IN (SELECT value FROM json_each(?))", database.List(ids))
}

// Recent returns up to n newest runs of each job, newest first. They have no variables, because those of
// many runs need much memory.
func (s *Store) Recent(ctx context.Context, jobs []job.ID, n int) (map[job.ID][]job.Run, error) {
	return s.newest(ctx, "", jobs, n)
}

// Ended returns up to n newest ended runs of each job, newest first, without variables.
func (s *Store) Ended(ctx context.Context, jobs []job.ID, n int) (map[job.ID][]job.Run, error) {
	return s.newest(ctx, "AND state = 'ended' ", jobs, n)
}

func (s *Store) newest(ctx context.Context, which string, jobs []job.ID, n int) (map[job.ID][]job.Run, error) {
	recent := map[job.ID][]job.Run{}
	err := s.eachRun(ctx, func(r job.Run) error {
		r.Env = nil
		recent[r.Job] = append(recent[r.Job], r)
		return nil
	}, `WHERE run.id IN (
		SELECT newest.id FROM json_each(?) AS wanted JOIN job AS j ON j.id = wanted.value
		JOIN run AS newest ON newest.id IN (SELECT id FROM run WHERE job = j.n `+which+`ORDER BY id DESC LIMIT ?))
		ORDER BY run.id DESC`, database.List(jobs), n)
	return recent, err
}

const runColumns = `run.id, job.id, run.due, run.era, run.attempt, run.trigger, run.by, run.invocation, run.decided, run.user,
	run.state, run.reason, run.not_before, run.started, run.ended, run.pid, run.outcome, run.code, run.signal, run.error,
	run.verdict, run.cpu, run.memory, run.read, run.write, run.parents, run.backfill, run.lost, run.asked`

// runs returns the runs that the rest of a query selects.
func (s *Store) runs(ctx context.Context, rest string, args ...any) ([]job.Run, error) {
	var runs []job.Run
	err := s.eachRun(ctx, func(r job.Run) error {
		runs = append(runs, r)
		return nil
	}, rest, args...)
	return runs, err
}

// eachRun calls f for each of them, until f returns an error.
func (s *Store) eachRun(ctx context.Context, f func(job.Run) error, rest string, args ...any) error {
	var r runRow
	fields := r.fields()
	err := s.Each(ctx, func(rows *sql.Rows) error {
		if err := rows.Scan(fields...); err != nil {
			return err
		}
		run, err := r.run()
		if err != nil {
			return err
		}
		return f(run)
	}, "SELECT "+runColumns+" FROM run JOIN job ON job.n = run.job "+rest, args...)
	if err != nil {
		return fmt.Errorf("read runs: %w", err)
	}
	return nil
}

// runRow is a run as SQLite returns it. All columns may be NULL, for a skip without a run.
type runRow struct {
	id, due, era, attempt, decided, notBefore, started, ended, pid, code, signal sql.NullInt64
	cpu, memory, read, write, backfill, lost                                     sql.NullInt64
	job, trigger, by, invocation, user, state, reason, outcome, error, verdict   sql.NullString
	parents, asked                                                               []byte
}

func (r *runRow) fields() []any {
	return []any{
		&r.id, &r.job, &r.due, &r.era, &r.attempt, &r.trigger, &r.by, &r.invocation, &r.decided, &r.user,
		&r.state, &r.reason, &r.notBefore, &r.started, &r.ended, &r.pid, &r.outcome, &r.code, &r.signal, &r.error,
		&r.verdict, &r.cpu, &r.memory, &r.read, &r.write, &r.parents, &r.backfill, &r.lost, &r.asked,
	}
}

func (r *runRow) run() (job.Run, error) {
	run := job.Run{
		ID: job.RunID(r.id.Int64), Job: job.ID(r.job.String), Due: database.Instant(r.due), Era: job.Era(r.era.Int64),
		Attempt: int(r.attempt.Int64), Lost: int(r.lost.Int64), Trigger: job.Trigger(r.trigger.String), By: r.by.String,
		Invocation: r.invocation.String, Decided: database.Instant(r.decided), User: r.user.String,
		State: job.RunState(r.state.String), Reason: job.Reason(r.reason.String), NotBefore: database.Instant(r.notBefore),
		Started: database.Instant(r.started), Ended: database.Instant(r.ended), PID: int(r.pid.Int64),
		Outcome: job.Outcome{
			Kind: job.OutcomeKind(r.outcome.String), Code: int(r.code.Int64), Signal: int(r.signal.Int64), Error: r.error.String,
		},
		Verdict:  job.Verdict(r.verdict.String),
		Usage:    job.Usage{CPU: time.Duration(r.cpu.Int64), Memory: r.memory.Int64, Read: r.read.Int64, Write: r.write.Int64},
		Backfill: r.backfill.Int64,
	}
	if len(r.asked) > 0 {
		var wish asked
		if err := json.Unmarshal(r.asked, &wish); err != nil {
			return run, err
		}
		run.Env, run.Stop, run.Forced, run.First, run.Previous = wish.Env, wish.Stop.stop(), wish.Forced, wish.First, wish.Previous
		run.Detail, run.Trimmed = job.Detail(wish.Detail), wish.Trimmed
	}
	if len(r.parents) == 0 {
		return run, nil
	}
	err := json.Unmarshal(r.parents, &run.Parents)
	return run, err
}

// Output returns the output of a run, in order.
func (s *Store) Output(ctx context.Context, id job.RunID) ([]job.Chunk, error) {
	var chunks []job.Chunk
	err := s.Each(ctx, func(rows *sql.Rows) error {
		c := job.Chunk{Run: id}
		var at sql.NullInt64
		err := rows.Scan(&c.Job, &c.Stream, &at, &c.Cut, &c.Data)
		c.At = database.Instant(at)
		chunks = append(chunks, c)
		return err
	}, `SELECT job.id, stream, at, cut, data FROM output JOIN run ON run.id = output.run JOIN job ON job.n = run.job
		WHERE output.run = ? ORDER BY output.id`, int64(id))
	if err != nil {
		return nil, fmt.Errorf("read output: %w", err)
	}
	return chunks, nil
}

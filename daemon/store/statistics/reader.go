package statistics

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

// Reader reads many runs in brief, and sums them up.
type Reader struct{ db *database.DB }

// New returns a reader of a history.
func New(db *database.DB) *Reader { return &Reader{db} }

// briefColumns are the columns of a run that sums and strips need. Queries read up to a hundred
// thousand runs, so each column costs.
const briefColumns = `job.id, run.id, run.due, run.trigger, run.state, run.reason, run.decided, run.started, run.ended, run.user,
	run.outcome, run.code, run.signal, run.error, run.verdict, run.cpu, run.memory`

// Newest calls f for up to n newest runs of each job, in no particular order. The runs have only
// times and results.
func (s *Reader) Newest(ctx context.Context, jobs []job.ID, n int, f func(*job.Run)) error {
	return s.eachBrief(ctx, f, `FROM json_each(?) AS wanted JOIN job ON job.id = wanted.value
		JOIN run ON run.id IN (SELECT id FROM run WHERE job = job.n ORDER BY id DESC LIMIT ?)`, database.List(jobs), n)
}

// Between calls f for up to n runs of some jobs that were decided from (inclusive) to
// (exclusive), newest first, with the same fields as Newest.
func (s *Reader) Between(ctx context.Context, jobs []job.ID, from, to time.Time, n int, f func(*job.Run)) error {
	first, last, err := s.db.RunsBetween(ctx, from, to)
	if err != nil {
		return err
	}
	return s.eachBrief(ctx, f, `FROM job CROSS JOIN run ON run.job = job.n AND run.id > ? AND run.id <= ?
		WHERE job.id IN (SELECT value FROM json_each(?)) ORDER BY run.id DESC LIMIT ?`, first, last, database.List(jobs), n)
}

// LastBefore calls f for the newest run of each job that was decided before a time, with the same
// fields as Newest.
func (s *Reader) LastBefore(ctx context.Context, jobs []job.ID, t time.Time, f func(*job.Run)) error {
	last, err := s.db.RunBefore(ctx, t)
	if err != nil {
		return err
	}
	return s.eachBrief(ctx, f, `FROM json_each(?) AS wanted JOIN job ON job.id = wanted.value
		JOIN run ON run.id = (SELECT max(before.id) FROM run AS before WHERE before.job = job.n AND before.id <= ?)`, database.List(jobs), last)
}

// Bounds of Starts.
const (
	longWait    = time.Hour // a run that began longer after it was decided is not counted in the time's first hours
	countedRuns = 1_000_000 // the newest: beyond them nothing is counted
)

// Starts counts the runs of a user, or of all if user is empty, that began from (inclusive) to
// (exclusive), in equal parts of that time.
func (s *Reader) Starts(ctx context.Context, user string, from, to time.Time, parts int) ([]int, error) {
	first, last, err := s.db.RunsBetween(ctx, from.Add(-longWait), to)
	if err != nil {
		return nil, err
	}
	starts := make([]int, parts)
	begin, end := database.NanosBound(from), database.NanosBound(to)
	err = s.db.Each(ctx, func(rows *sql.Rows) error {
		var part, n int
		err := rows.Scan(&part, &n)
		if part >= 0 && part < parts {
			starts[part] = n
		}
		return err
	}, `SELECT (started - ?1) * ?2 / (?3 - ?1) AS part, count(*)
		FROM (SELECT started, user FROM run WHERE id > ?4 AND id <= ?5 ORDER BY id DESC LIMIT ?6)
		WHERE started >= ?1 AND started < ?3 AND (?7 = '' OR user = ?7) GROUP BY part`,
		begin, parts, end, first, last, countedRuns, user)
	if err != nil {
		return nil, fmt.Errorf("count starts: %w", err)
	}
	return starts, nil
}

func (s *Reader) eachBrief(ctx context.Context, f func(*job.Run), rest string, args ...any) error {
	var id, user, trigger, state, reason, outcome, failure, verdict sql.RawBytes
	var due, decided, started, ended sql.NullInt64
	known := words{}
	var r job.Run
	fields := []any{
		&id, &r.ID, &due, &trigger, &state, &reason, &decided, &started, &ended, &user,
		&outcome, &r.Outcome.Code, &r.Outcome.Signal, &failure, &verdict, &r.Usage.CPU, &r.Usage.Memory,
	}
	err := s.db.Each(ctx, func(rows *sql.Rows) error {
		if err := rows.Scan(fields...); err != nil {
			return err
		}
		r.Job, r.User = job.ID(known.of(id)), known.of(user)
		r.Trigger, r.State, r.Reason = job.Trigger(known.of(trigger)), job.RunState(known.of(state)), job.Reason(known.of(reason))
		r.Outcome.Kind, r.Outcome.Error = job.OutcomeKind(known.of(outcome)), known.of(failure)
		r.Verdict = job.Verdict(known.of(verdict))
		r.Due, r.Decided, r.Started, r.Ended = database.Instant(due), database.Instant(decided), database.Instant(started), database.Instant(ended)
		f(&r)
		return nil
	}, "SELECT "+briefColumns+" "+rest, args...)
	if err != nil {
		return fmt.Errorf("read runs in brief: %w", err)
	}
	return nil
}

// words keeps one copy of each text, because most columns have few different ones.
type words map[string]string

const mostWords = 10_000

func (w words) of(text []byte) string {
	if len(text) == 0 {
		return ""
	}
	if word, ok := w[string(text)]; ok {
		return word
	}
	if len(w) >= mostWords {
		clear(w)
	}
	word := string(text)
	w[word] = word
	return word
}

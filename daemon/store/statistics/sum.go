package statistics

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

// Totals sums up what was decided since a time.
type Totals struct {
	Runs    int
	OK      int
	Failed  int           // attempts that others follow, and runs that were left alone, are none
	Skipped int           // occurrences
	LagP99  time.Duration // from due to started, of the newest runs on the clock
}

// ranked is the maximum number of lags for the percentile. Ranking all lags of a busy day would
// take nearly a second.
const ranked = 10_000

// Totals sums up what was decided at or after since.
func (s *Reader) Totals(ctx context.Context, since time.Time) (t Totals, err error) {
	from := database.NanosBound(since)
	first, err := s.firstRun(ctx, from)
	if err == nil {
		err = errors.Join(s.sumRuns(ctx, first, from, &t), s.sumSkips(ctx, from, &t), s.rankLags(ctx, first, from, &t))
	}
	if err != nil {
		return t, fmt.Errorf("sum up history: %w", err)
	}
	return t, nil
}

// firstRun is the lowest number of the runs decided since; beyond all when
// there are none. Rows are read much faster by number than by an index on
// time. Numbers follow time but where the clock was set back, so the time must
// be asked for too.
func (s *Reader) firstRun(ctx context.Context, since int64) (id job.RunID, err error) {
	const none = job.RunID(math.MaxInt64)
	err = s.db.Row(ctx, "SELECT coalesce(min(id), ?) FROM run INDEXED BY run_decided WHERE decided >= ?", none, since).Scan(&id)
	return id, err
}

func (s *Reader) sumRuns(ctx context.Context, first job.RunID, since int64, t *Totals) error {
	row := s.db.Row(ctx, `SELECT count(*),
		count(*) FILTER (WHERE `+database.WasOK+`), count(*) FILTER (WHERE `+database.Failed+` AND verdict <> 'retry')
		FROM run WHERE id >= ? AND +decided >= ?`, first, since)
	return row.Scan(&t.Runs, &t.OK, &t.Failed)
}

func (s *Reader) sumSkips(ctx context.Context, since int64, t *Totals) error {
	row := s.db.Row(ctx,
		"SELECT coalesce(sum(max(count, 1)), 0) FROM occurrence WHERE run IS NULL AND at >= ?", since)
	return row.Scan(&t.Skipped)
}

// rankLags takes the percentile of the time from due to started.
func (s *Reader) rankLags(ctx context.Context, first job.RunID, since int64, t *Totals) error {
	var lags []time.Duration
	err := s.db.Each(ctx, func(row *sql.Rows) error {
		var lag time.Duration
		err := row.Scan(&lag)
		lags = append(lags, lag)
		return err
	}, `SELECT started - due FROM run WHERE id >= ? AND +decided >= ? AND trigger = 'clock' AND started IS NOT NULL
		ORDER BY id DESC LIMIT ?`, first, since, ranked)
	if err != nil || len(lags) == 0 {
		return err
	}
	slices.Sort(lags)
	t.LagP99 = lags[(len(lags)-1)*99/100]
	return nil
}

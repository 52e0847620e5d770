package store

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

// Life is one life of the daemon.
type Life struct {
	Up       time.Time
	LastSeen time.Time // its newest commit
	Down     time.Time // zero: it lives, or died unseen
	Clean    bool      // it stopped in good order
	BootID   string
}

// Lives returns the daemon's lives that overlap the time from..to, oldest first.
func (s *Store) Lives(ctx context.Context, from, to time.Time) ([]Life, error) {
	var lives []Life
	err := s.Each(ctx, func(rows *sql.Rows) error {
		var l Life
		var up, seen int64
		var down sql.NullInt64
		err := rows.Scan(&up, &seen, &down, &l.BootID)
		l.Up, l.LastSeen, l.Down, l.Clean = database.FromNanos(up), database.FromNanos(seen), database.Instant(down), down.Valid
		lives = append(lives, l)
		return err
	}, "SELECT up, seen, down, boot FROM life WHERE seen >= ? AND up <= ? ORDER BY id", database.NanosBound(from), database.NanosBound(to))
	if err != nil {
		return nil, fmt.Errorf("read lives: %w", err)
	}
	return lives, nil
}

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
func (s *Store) Totals(ctx context.Context, since time.Time) (t Totals, err error) {
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
func (s *Store) firstRun(ctx context.Context, since int64) (id job.RunID, err error) {
	const none = job.RunID(math.MaxInt64)
	err = s.Row(ctx, "SELECT coalesce(min(id), ?) FROM run INDEXED BY run_decided WHERE decided >= ?", none, since).Scan(&id)
	return id, err
}

func (s *Store) sumRuns(ctx context.Context, first job.RunID, since int64, t *Totals) error {
	row := s.Row(ctx, `SELECT count(*),
		count(*) FILTER (WHERE `+database.WasOK+`), count(*) FILTER (WHERE `+database.Failed+` AND verdict <> 'retry')
		FROM run WHERE id >= ? AND +decided >= ?`, first, since)
	return row.Scan(&t.Runs, &t.OK, &t.Failed)
}

func (s *Store) sumSkips(ctx context.Context, since int64, t *Totals) error {
	row := s.Row(ctx,
		"SELECT coalesce(sum(max(count, 1)), 0) FROM occurrence WHERE run IS NULL AND at >= ?", since)
	return row.Scan(&t.Skipped)
}

// rankLags takes the percentile of the time from due to started.
func (s *Store) rankLags(ctx context.Context, first job.RunID, since int64, t *Totals) error {
	var lags []time.Duration
	err := s.Each(ctx, func(row *sql.Rows) error {
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

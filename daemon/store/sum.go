package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Life is one life of the daemon.
type Life struct {
	Up       time.Time
	LastSeen time.Time // its newest commit
	Down     time.Time // zero: it lives, or died unseen
	Clean    bool      // it stopped in good order
	BootID   string
}

// Lives gives the daemon's lives that touch the time from..to, oldest first.
func (s *Store) Lives(ctx context.Context, from, to time.Time) ([]Life, error) {
	var lives []Life
	err := s.each(ctx, func(rows *sql.Rows) error {
		var l Life
		var up, seen int64
		var down sql.NullInt64
		err := rows.Scan(&up, &seen, &down, &l.BootID)
		l.Up, l.LastSeen, l.Down, l.Clean = fromNanos(up), fromNanos(seen), instant(down), down.Valid
		lives = append(lives, l)
		return err
	}, "SELECT up, seen, down, boot FROM life WHERE seen >= ? AND up <= ? ORDER BY id", lower(from), to.UnixNano())
	if err != nil {
		return nil, fmt.Errorf("read lives: %w", err)
	}
	return lives, nil
}

// Totals sums up what was decided since a time.
type Totals struct {
	Runs    int
	OK      int
	Failed  int
	Live    int
	Dropped int
	Skipped int
	LagP50  time.Duration // from due to started, of runs on the clock
	LagP99  time.Duration
	LagMax  time.Duration
}

// Totals sums up what was decided at or after since.
func (s *Store) Totals(ctx context.Context, since time.Time) (Totals, error) {
	var t Totals
	err := s.read.QueryRowContext(ctx, `SELECT count(*),
		count(*) FILTER (WHERE outcome = 'exited' AND code = 0), count(*) FILTER (WHERE `+failed+`),
		count(*) FILTER (WHERE state NOT IN ('ended', 'dropped')), count(*) FILTER (WHERE state = 'dropped')
		FROM run WHERE decided >= ?`, lower(since)).Scan(&t.Runs, &t.OK, &t.Failed, &t.Live, &t.Dropped)
	if err == nil {
		err = s.read.QueryRowContext(ctx, "SELECT coalesce(sum(max(count, 1)), 0) FROM occurrence WHERE run IS NULL AND due >= ? AND at >= ?",
			lower(since), lower(since)).Scan(&t.Skipped)
	}
	if err == nil {
		err = s.lags(ctx, since, &t)
	}
	if err != nil {
		return t, fmt.Errorf("sum up history: %w", err)
	}
	return t, nil
}

// lags ranks the time from due to started of runs on the clock.
func (s *Store) lags(ctx context.Context, since time.Time, t *Totals) error {
	const ranked = `WITH lag AS (SELECT started - due AS lag FROM run
		WHERE decided >= ? AND trigger = 'clock' AND started IS NOT NULL)
		SELECT coalesce((SELECT lag FROM lag ORDER BY lag LIMIT 1 OFFSET (SELECT (count(*) - 1) * 50 / 100 FROM lag)), 0),
		coalesce((SELECT lag FROM lag ORDER BY lag LIMIT 1 OFFSET (SELECT (count(*) - 1) * 99 / 100 FROM lag)), 0),
		coalesce((SELECT max(lag) FROM lag), 0)`
	return s.read.QueryRowContext(ctx, ranked, lower(since)).Scan(&t.LagP50, &t.LagP99, &t.LagMax)
}

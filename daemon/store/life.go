package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

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

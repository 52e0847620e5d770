package store

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

// Bounds on what a job keeps for itself: checkpoints, not data.
const (
	stateValue = 64 << 10
	stateKeys  = 256
	stateBytes = 1 << 20 // keys and values of one job

	// All jobs of one account but root together: it may have as many as it likes.
	accountKeys  = 20_000
	accountBytes = 64 << 20
)

var stateKey = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// StateError is the reason why a job cannot save a value, for the caller of the API.
type StateError struct{ reason string }

func (e *StateError) Error() string { return e.reason }

// StateEntry is one thing that a job keeps, without its value.
type StateEntry struct {
	Key  string
	Size int // of the value, in bytes
	At   time.Time
}

// SetState stores a value under a key for a user's job. *StateError reports a limit.
func (s *Store) SetState(ctx context.Context, id job.ID, user, key string, value []byte, now time.Time) error {
	switch {
	case !stateKey.MatchString(key):
		return &StateError{fmt.Sprintf("the key %.150q is not 1 to 128 letters, digits, dots, low lines and hyphens", key)}
	case len(value) > stateValue:
		return &StateError{fmt.Sprintf("the value has %d bytes, and at most %d can be kept", len(value), stateValue)}
	case value == nil:
		value = []byte{} // nil is NULL
	}
	return s.changeState(ctx, func(w *database.Writer) error {
		if err := s.roomForState(ctx, id, user, key, len(value)); err != nil {
			return err
		}
		n, err := w.Number(id)
		if err != nil {
			return err
		}
		return w.Once(ctx, `INSERT INTO state (job, user, key, at, value) VALUES (?,?,?,?,?)
			ON CONFLICT (job, user, key) DO UPDATE SET at = excluded.at, value = excluded.value`, n, user, key, now.UnixNano(), value)
	})
}

// ofState chooses what one job of one account keeps.
const ofState = " FROM state WHERE job = (SELECT n FROM job WHERE id = ?) AND user = ?"

// roomForState reports whether there is room for a key and its value beside all
// other keys. The caller writes.
func (s *Store) roomForState(ctx context.Context, id job.ID, user, key string, size int) error {
	var keys, bytes int
	err := s.Row(ctx, "SELECT count(*), coalesce(sum(length(key) + length(value)), 0)"+ofState+" AND key <> ?",
		id, user, key).Scan(&keys, &bytes)
	switch {
	case err != nil:
		return err
	case keys >= stateKeys:
		return &StateError{fmt.Sprintf("%s keeps %d keys already, and may keep no more; delete some", id, keys)}
	case bytes+len(key)+size > stateBytes:
		return &StateError{fmt.Sprintf("%s would keep %d bytes, and may keep %d; delete some", id, bytes+len(key)+size, stateBytes)}
	case user == "root":
		return nil
	}
	return s.roomForAccount(ctx, id, user, key, size)
}

func (s *Store) roomForAccount(ctx context.Context, id job.ID, user, key string, size int) error {
	var keys, bytes int
	err := s.Row(ctx, `SELECT count(*), coalesce(sum(length(key) + length(value)), 0) FROM state
		WHERE user = ?2 AND (key <> ?3 OR job IS NOT (SELECT n FROM job WHERE id = ?1))`, id, user, key).Scan(&keys, &bytes)
	switch {
	case err != nil:
		return err
	case keys >= accountKeys:
		return &StateError{fmt.Sprintf("the jobs of %s keep %d keys, and may keep no more; delete some", user, keys)}
	case bytes+len(key)+size > accountBytes:
		return &StateError{fmt.Sprintf("the jobs of %s would keep %d bytes, and may keep %d; delete some", user, bytes+len(key)+size, accountBytes)}
	}
	return nil
}

// changeState runs f in a transaction of its own.
func (s *Store) changeState(ctx context.Context, f func(*database.Writer) error) error {
	if err := s.Write(ctx, f); err != nil {
		return fmt.Errorf("keep state: %w", err)
	}
	return nil
}

// State returns the value under a key; ok is false if there is none.
func (s *Store) State(ctx context.Context, id job.ID, user, key string) (value []byte, ok bool, err error) {
	err = s.Each(ctx, func(rows *sql.Rows) error {
		ok = true
		return rows.Scan(&value)
	}, "SELECT value"+ofState+" AND key = ?", id, user, key)
	if err != nil {
		return nil, false, fmt.Errorf("read state: %w", err)
	}
	return value, ok, nil
}

// States returns all values that a user's job has saved, by key.
func (s *Store) States(ctx context.Context, id job.ID, user string) ([]StateEntry, error) {
	var all []StateEntry
	err := s.Each(ctx, func(rows *sql.Rows) error {
		var e StateEntry
		var at int64
		err := rows.Scan(&e.Key, &e.Size, &at)
		e.At = database.FromNanos(at)
		all = append(all, e)
		return err
	}, "SELECT key, length(value), at"+ofState+" ORDER BY key", id, user)
	if err != nil {
		return nil, fmt.Errorf("read state: %w", err)
	}
	return all, nil
}

// DeleteState forgets a key; ok is false when there was none.
func (s *Store) DeleteState(ctx context.Context, id job.ID, user, key string) (ok bool, err error) {
	if _, ok, err = s.State(ctx, id, user, key); !ok || err != nil {
		return false, err
	}
	err = s.changeState(ctx, func(w *database.Writer) error {
		return w.Once(ctx, "DELETE"+ofState+" AND key = ?", string(id), user, key)
	})
	return err == nil, err
}

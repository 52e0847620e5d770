package state

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

// Limits of the values that a job saves: they are meant for checkpoints, not for data.
const (
	stateValue = 64 << 10
	stateKeys  = 256
	stateBytes = 1 << 20 // keys and values of one job

	// All jobs of one user other than root together: a user can have any number of jobs.
	accountKeys  = 20_000
	accountBytes = 64 << 20
)

var stateKey = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// Error is the reason why a job cannot save a value, for the caller of the API.
type Error struct{ reason string }

func (e *Error) Error() string { return e.reason }

// Entry describes one saved value of a job.
type Entry struct {
	Key  string
	Size int // of the value, in bytes
	At   time.Time
}

// Values stores the values of jobs.
type Values struct {
	db *database.DB
	mu sync.Mutex // held from the check for room until the value is stored
}

// New returns the values in a history.
func New(db *database.DB) *Values { return &Values{db: db} }

// SetState stores a value under a key for a user's job. *Error reports a limit.
func (v *Values) SetState(ctx context.Context, id job.ID, user, key string, value []byte, now time.Time) error {
	switch {
	case !stateKey.MatchString(key):
		return &Error{fmt.Sprintf("the key %.150q is not 1 to 128 letters, digits, dots, underscores and hyphens", key)}
	case len(value) > stateValue:
		return &Error{fmt.Sprintf("the value has %d bytes, and at most %d can be kept", len(value), stateValue)}
	case value == nil:
		value = []byte{} // nil is NULL
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.roomForState(ctx, id, user, key, len(value)); err != nil { // before the transaction, for which commits wait
		return wrap(err)
	}
	err := v.db.Write(ctx, func(w *database.Writer) error {
		n, err := w.Number(id)
		if err != nil {
			return err
		}
		return w.Once(ctx, `INSERT INTO state (job, user, key, at, value) VALUES (?,?,?,?,?)
			ON CONFLICT (job, user, key) DO UPDATE SET at = excluded.at, value = excluded.value`, n, user, key, now.UnixNano(), value)
	})
	return wrap(err)
}

// ofState selects the values of one job of one user.
const ofState = " FROM state WHERE job = (SELECT n FROM job WHERE id = ?) AND user = ?"

// roomForState reports whether there is room for a key and its value beside all
// other keys.
func (v *Values) roomForState(ctx context.Context, id job.ID, user, key string, size int) error {
	var keys, bytes int
	err := v.db.Row(ctx, "SELECT count(*), coalesce(sum(length(key) + length(value)), 0)"+ofState+" AND key <> ?",
		id, user, key).Scan(&keys, &bytes)
	switch {
	case err != nil:
		return err
	case keys >= stateKeys:
		return &Error{fmt.Sprintf("%s has %d keys, which is the limit; delete some", id, keys)}
	case bytes+len(key)+size > stateBytes:
		return &Error{fmt.Sprintf("%s would have %d bytes, and the limit is %d; delete some", id, bytes+len(key)+size, stateBytes)}
	case user == "root":
		return nil
	}
	return v.roomForAccount(ctx, id, user, key, size)
}

// ofAccount counts the keys of a user but one, and their bytes, from an index alone: the values
// fill up to 64 MiB.
const ofAccount = `SELECT count(*), coalesce(sum(length(key) + length(value)), 0) FROM state
	WHERE user = ? AND rowid IS NOT (SELECT rowid` + ofState + " AND key = ?)"

func (v *Values) roomForAccount(ctx context.Context, id job.ID, user, key string, size int) error {
	var keys, bytes int
	err := v.db.Row(ctx, ofAccount, user, id, user, key).Scan(&keys, &bytes)
	switch {
	case err != nil:
		return err
	case keys >= accountKeys:
		return &Error{fmt.Sprintf("the jobs of %s have %d keys, which is the limit; delete some", user, keys)}
	case bytes+len(key)+size > accountBytes:
		return &Error{fmt.Sprintf("the jobs of %s would have %d bytes, and the limit is %d; delete some", user, bytes+len(key)+size, accountBytes)}
	}
	return nil
}

// State returns the value under a key; ok is false if there is none.
func (v *Values) State(ctx context.Context, id job.ID, user, key string) (value []byte, ok bool, err error) {
	err = v.db.Each(ctx, func(rows *sql.Rows) error {
		ok = true
		return rows.Scan(&value)
	}, "SELECT value"+ofState+" AND key = ?", id, user, key)
	if err != nil {
		return nil, false, fmt.Errorf("read state: %w", err)
	}
	return value, ok, nil
}

// States returns all values that a user's job has saved, by key.
func (v *Values) States(ctx context.Context, id job.ID, user string) ([]Entry, error) {
	var all []Entry
	err := v.db.Each(ctx, func(rows *sql.Rows) error {
		var e Entry
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

// DeleteState deletes a key and its value; ok is false if there is none.
func (v *Values) DeleteState(ctx context.Context, id job.ID, user, key string) (ok bool, err error) {
	if _, ok, err = v.State(ctx, id, user, key); !ok || err != nil {
		return false, err
	}
	err = v.db.Write(ctx, func(w *database.Writer) error {
		return w.Once(ctx, "DELETE"+ofState+" AND key = ?", string(id), user, key)
	})
	return err == nil, wrap(err)
}

func wrap(err error) error {
	if err != nil {
		return fmt.Errorf("keep state: %w", err)
	}
	return nil
}

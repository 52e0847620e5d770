package audit

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

// slice is the largest number of actions in one transaction, because commits of runs wait for it.
const slice = 100

// Log is the audit log in a history.
type Log struct {
	db *database.DB

	mu     sync.Mutex
	counts map[string]int // number of actions of each active share; it may be too high
}

// New returns the audit log of a history.
func New(db *database.DB) *Log { return &Log{db: db, counts: map[string]int{}} }

const add = `INSERT INTO action (at, who, uid, origin, what, subject, owner, why, before, after, refused, share)
	VALUES (?,?,?,?,?,?,?,?,?,?,?,?)`

// newest selects the action of a share that has a given number of newer actions.
const newest = "SELECT id FROM action WHERE share = ? AND share <> '' ORDER BY id DESC LIMIT 1 OFFSET ?"

// excess removes the oldest actions of a share up to one.
const excess = "DELETE FROM action WHERE share = ? AND share <> '' AND id <= ?"

// Record stores actions, with texts cut to job.MaxText bytes. If a share exceeds perShare by
// about a hundred actions, it removes the oldest actions of that share, never those of other shares. It
// does not wait until the disk has them: a power loss can take the newest.
func (l *Log) Record(ctx context.Context, perShare int, actions ...job.Action) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for part := range slices.Chunk(actions, slice) {
		if err := l.record(ctx, perShare, part); err != nil {
			clear(l.counts)
			return fmt.Errorf("record actions: %w", err)
		}
	}
	return nil
}

func (l *Log) record(ctx context.Context, perShare int, part []job.Action) error {
	shares := map[string]int{}
	for i := range part {
		shares[part[i].Share]++
	}
	delete(shares, "")
	remove := map[string]int64{} // up to which action, by share
	for share, n := range shares {
		if err := l.count(ctx, share); err != nil {
			return err
		}
		if l.counts[share] += n; l.counts[share] <= perShare+slice {
			continue
		}
		var id int64
		if err := l.db.Row(ctx, newest, share, max(perShare-n, 0)).Scan(&id); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		remove[share], l.counts[share] = id, max(perShare, n)
	}
	return l.db.WriteUnsynced(ctx, func(w *database.Writer) error {
		for i := range part {
			if err := put(ctx, w, &part[i]); err != nil {
				return err
			}
		}
		for share, id := range remove {
			if err := w.Once(ctx, excess, share, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// count counts the actions of a share, because finding the excess takes long.
func (l *Log) count(ctx context.Context, share string) error {
	if _, known := l.counts[share]; known {
		return nil
	}
	var n int
	err := l.db.Row(ctx, "SELECT count(*) FROM action WHERE share = ? AND share <> ''", share).Scan(&n)
	l.counts[share] = n
	return err
}

func put(ctx context.Context, w *database.Writer, a *job.Action) error {
	var uid driver.Value
	if a.UID != nil {
		uid = int64(*a.UID)
	}
	return w.Once(ctx, add, a.At.UnixNano(), job.CutText(a.Who), uid, job.CutText(a.From), job.CutText(a.What), job.CutText(a.Subject),
		job.CutText(a.Owner), job.CutText(a.Why), job.CutText(a.Before), job.CutText(a.After), job.CutText(a.Refused), job.CutText(a.Share))
}

// Expire removes the actions before a time.
func (l *Log) Expire(ctx context.Context, before time.Time) error {
	const old = "FROM action WHERE at < ?"
	for left := slice; left == slice; {
		if err := l.db.Row(ctx, "SELECT count(*) FROM (SELECT 1 "+old+" LIMIT ?)", database.NanosBound(before), slice).Scan(&left); err != nil || left == 0 {
			return err
		}
		err := l.db.WriteUnsynced(ctx, func(w *database.Writer) error {
			return w.Once(ctx, "DELETE FROM action WHERE id IN (SELECT id "+old+" ORDER BY at LIMIT ?)", database.NanosBound(before), int64(slice))
		})
		if err != nil {
			return fmt.Errorf("remove old actions: %w", err)
		}
	}
	return nil
}

// Filter chooses actions. Zero fields choose all.
type Filter struct {
	Jobs   []job.ID // any of them; nil: actions about any job, or about none
	What   string
	Since  time.Time
	Until  time.Time
	Before int64 // older than this action: for the next page
	Limit  int   // 0: 100

	// User limits the choice to actions on what belongs to that user, and to those that the user
	// did with the uid.
	User string
	UID  uint32
}

// Actions returns the selected actions, newest first.
func (l *Log) Actions(ctx context.Context, f Filter) ([]job.Action, error) {
	where, args := f.where()
	found := []job.Action{}
	err := l.db.Each(ctx, func(rows *sql.Rows) error {
		var a job.Action
		var at int64
		err := rows.Scan(&a.ID, &at, &a.Who, &a.UID, &a.From, &a.What, &a.Subject, &a.Owner, &a.Why, &a.Before, &a.After, &a.Refused)
		a.At = database.FromNanos(at)
		found = append(found, a)
		return err
	}, "SELECT id, at, who, uid, origin, what, subject, owner, why, before, after, refused FROM action "+where, args...)
	if err != nil {
		return nil, fmt.Errorf("read actions: %w", err)
	}
	return found, nil
}

func (f Filter) where() (rest string, args []any) {
	var w database.Where
	w.If(f.User != "", "(owner = ? OR share = ? AND who = ?)", f.User, Share(f.UID), f.User)
	w.If(f.Jobs != nil, "subject IN (SELECT value FROM json_each(?))", database.List(f.Jobs))
	w.If(f.What != "", "what = ?", f.What)
	w.If(!f.Since.IsZero(), "at >= ?", database.NanosBound(f.Since))
	w.If(!f.Until.IsZero(), "at < ?", database.NanosBound(f.Until))
	w.If(f.Before != 0, "id < ?", f.Before)
	return w.Newest("id", f.Limit)
}

// Share is the share of the actions of a uid.
func Share(uid uint32) string { return fmt.Sprint("uid ", uid) }

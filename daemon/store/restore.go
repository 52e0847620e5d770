package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

// Restored is the state that a start needs from earlier lives of the daemon. In a new database all
// fields are zero except Seed and NextRun.
type Restored struct {
	Marks     []job.Mark
	Live      []job.Run // queued, waiting, decided or running when last seen; oldest first
	Handed    []job.Run // contains recent runs that could not start here, were handed over, and have no later run here
	Holds     job.Holds
	Known     []effect.Known
	Summaries []job.Summary // the last changed are last
	NextRun   job.RunID     // the first unused number
	Era       job.Era
	LastSeen  time.Time // wall time of the newest commit
	BootID    string    // of the newest commit
	Seed      uint64    // random, made with the database, never changed
	Unowned   bool      // the IDs of jobs have no owner, as in version 0.7: call Rename

	LastUsers map[job.ID]string // if Unowned: of each job in the history the user that it ran as last, or ""

	Backfills    []job.Backfill                  // the running ones, oldest first
	Ran          map[int64]map[int64]job.Verdict // of each of them by ID; see Store.Ran
	NextBackfill int64                           // the first unused number
}

// mostHanded limits the runs among which those that were handed over are searched.
const mostHanded = 1000

// Restore reads what the engine starts from.
func (s *Store) Restore(ctx context.Context) (Restored, error) {
	if s.reserve != nil {
		return s.reserve.restored, nil
	}
	r := Restored{Holds: job.Holds{}, Ran: map[int64]map[int64]job.Verdict{}}
	var seed, owners int64
	err := errors.Join(
		s.Row(ctx, "SELECT seed, owners FROM host").Scan(&seed, &owners),
		s.Row(ctx, "SELECT coalesce(max(id), 0) + 1 FROM run").Scan(&r.NextRun),
		s.Row(ctx, "SELECT coalesce(max(id), 0) + 1 FROM backfill").Scan(&r.NextBackfill),
		s.restoreLife(ctx, &r), s.restoreMarks(ctx, &r), s.restoreHolds(ctx, &r), s.restoreRoster(ctx, &r),
		s.restoreSummaries(ctx, &r), s.restoreBackfills(ctx, &r),
	)
	if err != nil {
		return r, fmt.Errorf("read history: %w", err)
	}
	r.Seed, r.Unowned = uint64(seed), owners == 0
	if r.Unowned {
		if err := s.restoreUsers(ctx, &r); err != nil {
			return r, fmt.Errorf("read history: %w", err)
		}
	}
	if r.Live, err = s.runs(ctx, "WHERE "+database.Live+" ORDER BY run.id"); err != nil {
		return r, err
	}
	r.Handed, err = s.runs(ctx, `WHERE run.id > ? AND state = 'ended' AND reason = ?
		AND NOT EXISTS (SELECT 1 FROM run AS next WHERE next.id > run.id AND next.job = run.job AND next.due = run.due
			AND next.by = '' AND next.backfill = 0)
		ORDER BY run.id`, r.NextRun-mostHanded, job.HandedOver)
	return r, err
}

func (s *Store) restoreUsers(ctx context.Context, r *Restored) error {
	r.LastUsers = map[job.ID]string{}
	return s.Each(ctx, func(row *sql.Rows) error {
		var id job.ID
		var user string
		err := row.Scan(&id, &user)
		r.LastUsers[id] = user
		return err
	}, "SELECT id, coalesce((SELECT user FROM run WHERE run.job = job.n ORDER BY run.id DESC LIMIT 1), '') FROM job")
}

func (s *Store) restoreLife(ctx context.Context, r *Restored) error {
	var seen int64
	row := s.Row(ctx, "SELECT boot, era, seen FROM life ORDER BY id DESC LIMIT 1")
	err := row.Scan(&r.BootID, &r.Era, &seen)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	r.LastSeen = database.FromNanos(seen)
	return err
}

func (s *Store) restoreMarks(ctx context.Context, r *Restored) error {
	var jobs int
	if err := s.Row(ctx, "SELECT count(*) FROM job").Scan(&jobs); err != nil {
		return err
	}
	r.Marks = make([]job.Mark, 0, jobs)
	var id string
	var due, era int64
	return s.Each(ctx, func(row *sql.Rows) error {
		err := row.Scan(&id, &due, &era)
		r.Marks = append(r.Marks, job.Mark{Job: job.ID(id), Due: database.FromNanos(due), Era: job.Era(era)})
		return err
	}, "SELECT id, due, era FROM job WHERE due IS NOT NULL")
}

func (s *Store) restoreHolds(ctx context.Context, r *Restored) error {
	return s.Each(ctx, func(row *sql.Rows) error {
		var id job.ID
		var text []byte
		if err := row.Scan(&id, &text); err != nil {
			return err
		}
		h, err := readHold(text)
		r.Holds.Put(id, h)
		return err
	}, "SELECT job.id, hold FROM hold JOIN job ON job.n = hold.job ORDER BY hold.job, hold.hold ->> '$.user'")
}

func (s *Store) restoreRoster(ctx context.Context, r *Restored) error {
	var size int
	if err := s.Row(ctx, "SELECT coalesce(sum(length(known)), 0) FROM roster").Scan(&size); err != nil {
		return err
	}
	r.Known = make([]effect.Known, 0, size/knownSize)
	return s.Each(ctx, func(row *sql.Rows) (err error) {
		var blob sql.RawBytes
		if err := row.Scan(&blob); err != nil {
			return err
		}
		r.Known, err = appendKnown(r.Known, blob)
		return err
	}, "SELECT known FROM roster ORDER BY part")
}

func (s *Store) restoreSummaries(ctx context.Context, r *Restored) error {
	var summaries int
	if err := s.Row(ctx, "SELECT count(*) FROM ledger").Scan(&summaries); err != nil {
		return err
	}
	r.Summaries = make([]job.Summary, 0, summaries)
	var l job.Summary
	var due, ended, success, open, watched, successDue, since sql.NullInt64
	return s.Each(ctx, func(row *sql.Rows) error {
		var ack []byte
		if err := row.Scan(&l.Job, &l.User, &l.Verdict, &l.Run, &due, &ended, &success, &l.Bad, &l.Notified, &open, &watched, &ack, &successDue, &since); err != nil {
			return err
		}
		var err error
		l.Ack, err = ackOf(ack)
		l.Due, l.Ended, l.Success, l.Open, l.Watched = database.Instant(due), database.Instant(ended), database.Instant(success), database.Instant(open), database.Instant(watched)
		l.SuccessDue, l.Since = database.Instant(successDue), database.Instant(since)
		r.Summaries = append(r.Summaries, l)
		return err
	}, `SELECT job.id, user, verdict, run, ledger.due, ended, success, bad, told, open, watched, ack, success_due, since
		FROM ledger JOIN job ON job.n = ledger.job ORDER BY run`)
}

func (s *Store) restoreBackfills(ctx context.Context, r *Restored) (err error) {
	if r.Backfills, err = s.backfills(ctx, "WHERE state = 'going' ORDER BY id"); err != nil {
		return err
	}
	for _, b := range r.Backfills {
		if r.Ran[b.ID], err = s.Ran(ctx, b.Job, b.User, b.From, b.To); err != nil {
			return err
		}
	}
	return nil
}

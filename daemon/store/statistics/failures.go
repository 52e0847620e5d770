package statistics

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

// Failures are runs of one job and user that failed in the same way and ended in the same part of
// a period.
type Failures struct {
	Newest      job.Run // only its number, job, user, end, reason, outcome and verdict are set
	Part        int     // from 0 on; a run that ended before or after the period is outside of its parts
	Count       int
	First, Last time.Time // ends of the oldest and the newest
}

// FailuresOf selects failed runs that were decided from (inclusive) to (exclusive).
type FailuresOf struct {
	User     string                            // whose they are; empty: all users
	Sees     func(id job.ID, user string) bool // chooses the jobs and users whose runs are counted; nil: all
	From, To time.Time
	Parts    int // of the period, which are equal
	Runs     int // how many are looked at, at most, the newest
	Groups   int // of runs that failed in the same way: how many are returned at most, the newest
}

// Failures calls f for failed runs. It returns how many there are in all groups, and whether older ones
// were not looked at.
func (s *Reader) Failures(ctx context.Context, of FailuresOf, f func(*Failures)) (runs int, older bool, err error) {
	first, last, err := s.db.RunsBetween(ctx, of.From, of.To)
	if err != nil {
		return 0, false, err
	}
	seen := 0
	part := of.To.Sub(of.From)/time.Duration(of.Parts) + 1
	err = s.db.Each(ctx, func(rows *sql.Rows) error {
		var begin, end int64
		var g Failures
		r := &g.Newest
		err := rows.Scan(&r.ID, &r.Job, &r.User, &r.Reason, &r.Outcome.Kind, &r.Outcome.Code, &r.Outcome.Signal, &r.Outcome.Error, &r.Verdict,
			&g.Part, &g.Count, &begin, &end)
		if err != nil {
			return err
		}
		sees := of.Sees == nil || of.Sees(r.Job, r.User)
		if r.ID == 0 { // the number of all failures of a job and user
			if seen += g.Count; sees {
				runs += g.Count
			}
			return nil
		}
		if !sees {
			return nil
		}
		g.First, g.Last = time.Unix(0, begin).UTC(), time.Unix(0, end).UTC()
		r.Ended = g.Last
		f(&g)
		return nil
	}, `WITH failed AS MATERIALIZED (
			SELECT id, job, user, reason, outcome, code, signal, error, verdict, coalesce(ended, decided) AS ended
			FROM run WHERE id > ?3 AND id <= ?4 AND (?5 = '' OR user = ?5) AND `+database.IsFailed+` ORDER BY id DESC LIMIT ?6),
		newest AS MATERIALIZED (
			SELECT max(id) AS id, job, user, reason, outcome, code, signal, error, verdict
			FROM failed GROUP BY job, user, reason, outcome, code, signal, error, verdict ORDER BY max(id) DESC LIMIT ?7)
		SELECT newest.id, job.id, newest.user, newest.reason, newest.outcome, newest.code, newest.signal, newest.error,
			newest.verdict, (failed.ended - ?1) / ?2 AS part, count(*), min(failed.ended), max(failed.ended)
		FROM newest JOIN job ON job.n = newest.job JOIN failed USING (job, user, reason, outcome, code, signal, error, verdict)
		GROUP BY newest.id, part
		UNION ALL SELECT 0, job.id, failed.user, failed.reason, failed.outcome, failed.code, failed.signal, failed.error, failed.verdict,
			0, count(*), 0, 0
		FROM failed JOIN job ON job.n = failed.job GROUP BY failed.job, failed.user`,
		database.NanosBound(of.From), int64(part), first, last, of.User, of.Runs, of.Groups)
	if err != nil {
		return 0, false, fmt.Errorf("count failures: %w", err)
	}
	return runs, seen >= of.Runs, nil
}

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

// MostFailures is the maximum number of failed runs that Failures counts, the newest.
const MostFailures = 200_000

// Failures calls f for the failed runs that were decided from (inclusive) to (exclusive), in no
// particular order. The period has equal parts. An empty user means all users.
func (s *Reader) Failures(ctx context.Context, user string, from, to time.Time, parts int, f func(*Failures)) error {
	first, err := s.db.RunBefore(ctx, from)
	if err != nil {
		return err
	}
	last, err := s.db.RunBefore(ctx, to)
	if err != nil {
		return err
	}
	err = s.db.Each(ctx, func(rows *sql.Rows) error {
		var begin, end int64
		var g Failures
		r := &g.Newest
		err := rows.Scan(&r.ID, &r.Job, &r.User, &r.Reason, &r.Outcome.Kind, &r.Outcome.Code, &r.Outcome.Signal, &r.Outcome.Error, &r.Verdict,
			&g.Part, &g.Count, &begin, &end)
		if err != nil {
			return err
		}
		g.First, g.Last = time.Unix(0, begin).UTC(), time.Unix(0, end).UTC()
		r.Ended = g.Last
		f(&g)
		return nil
	}, `SELECT alike.id, job.id, user, reason, outcome, code, signal, error, verdict, part, runs, first, last
		FROM (SELECT max(id) AS id, job, user, reason, outcome, code, signal, error, verdict,
			(ended - ?1) * ?2 / (?3 - ?1) AS part, count(*) AS runs, min(ended) AS first, max(ended) AS last
			FROM (SELECT id, job, user, reason, outcome, code, signal, error, verdict, coalesce(ended, decided) AS ended
				FROM run WHERE id > ?4 AND id <= ?5 AND (?6 = '' OR user = ?6) AND `+database.Failed+` ORDER BY id DESC LIMIT ?7)
			GROUP BY job, user, reason, outcome, code, signal, error, verdict, part) AS alike
		JOIN job ON job.n = alike.job`,
		database.NanosBound(from), parts, database.NanosBound(to), first, last, user, MostFailures)
	if err != nil {
		return fmt.Errorf("count failures: %w", err)
	}
	return nil
}

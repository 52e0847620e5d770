package server

import (
	"context"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// A decision belongs to the user that the job ran as at that time. If root changes
// the user of an entry, the new user must not read the earlier decisions. So
// handlers read decisions only through the functions in this file.

// seesDecision is seesRun for a decision, which has a run or, for a skip, its own user.
func (c *call) seesDecision(r job.Record) bool {
	if r.Run != nil {
		return c.seesRun(*r.Run)
	}
	return c.peer.sees(r.User)
}

// decisionAt returns the decision about one occurrence of a job.
func (s *Server) decisionAt(ctx context.Context, c *call, id job.ID, due time.Time) (r job.Record, ok bool, err error) {
	r, ok, err = s.store.DecisionAt(ctx, id, due)
	if !ok || err != nil || !c.seesDecision(r) {
		return job.Record{}, false, err
	}
	return r, true, nil
}

// decisions returns the decisions about occurrences of a job from one time to
// another, oldest first, of the newest limit.
func (s *Server) decisions(ctx context.Context, c *call, id job.ID, from, to time.Time, limit int) ([]job.Record, error) {
	all, err := s.store.Decisions(ctx, id, from, to, limit)
	seen := all[:0]
	for _, r := range all {
		if c.seesDecision(r) {
			seen = append(seen, r)
		}
	}
	return seen, err
}

// eachSkip calls f for the newest n decisions to skip of each job from one time to
// another, newest first; if jobs is nil, for the newest n of all jobs.
func (s *Server) eachSkip(ctx context.Context, c *call, jobs []job.ID, from, to time.Time, n int, f func(job.Record)) error {
	seen := func(r job.Record) {
		if c.seesDecision(r) {
			f(r)
		}
	}
	if jobs == nil {
		return s.store.SkipsBetween(ctx, from, to, n, seen)
	}
	return s.store.Skips(ctx, jobs, from, to, n, seen)
}

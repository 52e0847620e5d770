package lookup

import (
	"context"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
)

// A decision belongs to the user that the job ran as at that time. If root changes
// the user of an entry, the new user must not read the earlier decisions. So
// handlers read decisions only through the functions in this file.

// DecisionAt returns the decision about one occurrence of a job.
func (s *Searcher) DecisionAt(ctx context.Context, c *call.Call, id job.ID, due time.Time) (r job.Record, ok bool, err error) {
	r, ok, err = s.store.DecisionAt(ctx, id, due)
	if !ok || err != nil || !c.SeesDecision(r) {
		return job.Record{}, false, err
	}
	return r, true, nil
}

// Decisions returns the decisions about occurrences of a job from one time to
// another, oldest first, of the newest limit.
func (s *Searcher) Decisions(ctx context.Context, c *call.Call, id job.ID, from, to time.Time, limit int) ([]job.Record, error) {
	all, err := s.store.Decisions(ctx, id, from, to, limit)
	seen := all[:0]
	for _, r := range all {
		if c.SeesDecision(r) {
			seen = append(seen, r)
		}
	}
	return seen, err
}

// EachSkip calls f for the newest n decisions to skip of each job from one time to
// another, newest first; if jobs is nil, for the newest n of all jobs.
func (s *Searcher) EachSkip(ctx context.Context, c *call.Call, jobs []job.ID, from, to time.Time, n int, f func(job.Record)) error {
	seen := func(r job.Record) {
		if c.SeesDecision(r) {
			f(r)
		}
	}
	if jobs == nil {
		return s.store.SkipsBetween(ctx, from, to, n, seen)
	}
	return s.store.Skips(ctx, jobs, from, to, n, seen)
}

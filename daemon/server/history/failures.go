package history

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/store/statistics"
)

// Limits of an answer.
const (
	mostFailures = 30_000 // that are counted: 0.24 s with 10 million runs (BenchmarkLongHistory)
	mostGroups   = 1000
)

// Failures answers with the failed runs of a period, counted by job, user and how they ended. Without a
// start time it counts those of the last 24 hours.
func (s *Reader) Failures(ctx context.Context, c *call.Call) error {
	since, err := c.Instant("since")
	if err != nil {
		return err
	}
	if since.IsZero() {
		since = c.Now.Add(-24 * time.Hour)
	}
	answer := api.Failures{V: api.Version, Since: since, Until: c.Now}
	if !since.Before(c.Now) || !c.Peer.Admin && c.Peer.Name == "" {
		return c.Answer(answer)
	}
	type alike struct {
		job          job.ID
		user, ending string
	}
	groups := map[alike]*api.FailureGroup{}
	of := statistics.FailuresOf{
		User: c.OnlyUser(), From: since, To: c.Now, Parts: api.FailureParts, Runs: mostFailures, Groups: mostGroups,
		Sees: func(id job.ID, user string) bool { return c.SeesRun(&job.Run{Job: id, User: user}) },
	}
	answer.Count, answer.Older, err = s.store.Failures(ctx, of, func(f *statistics.Failures) {
		r := &f.Newest
		key := alike{r.Job, r.User, r.Result()}
		g := groups[key]
		if g == nil {
			g = &api.FailureGroup{Job: key.job, User: key.user, Ending: key.ending, First: f.First}
			groups[key] = g
		}
		if f.First.Before(g.First) {
			g.First = f.First
		}
		if !f.Last.Before(g.Last) {
			g.Last, g.Run = f.Last, r.ID
		}
		g.Count += f.Count
		g.Parts[min(max(f.Part, 0), api.FailureParts-1)] += f.Count
	})
	if err != nil {
		return fmt.Errorf("read history: %w", err)
	}
	for _, g := range groups {
		answer.Groups = append(answer.Groups, *g)
	}
	slices.SortFunc(answer.Groups, func(a, b api.FailureGroup) int { return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(b.Run, a.Run)) })
	return c.Answer(answer)
}

package history

import (
	"context"
	"slices"
	"sync"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/members"
)

// MembersAsked is the maximum number of members that are asked at a time.
const MembersAsked = 16

// addNodes adds the history of other members: of the named one, or of all that are up. Members that
// cannot be queried are listed in Missing.
func (s *Reader) addNodes(ctx context.Context, c *call.Call, limit int, answer *api.Runs) error {
	which := c.Query.Get("member")
	if which == "" {
		return nil
	}
	status := s.ring.Status()
	if status.Name == "" {
		return members.NoRing("see the history of other members")
	}
	var ask []api.Member
	if which == api.AllNodes {
		for _, m := range status.Members {
			if m.ID != status.Self && m.State.Up() {
				ask = append(ask, m)
			}
		}
	} else {
		answer.Runs, answer.Skipped = []job.Run{}, nil
		m, err := members.Find(status, which)
		if err != nil {
			return err
		}
		ask = append(ask, m)
	}
	query := c.Request.URL.Query()
	query.Del("member")
	for some := range slices.Chunk(ask, MembersAsked) {
		answers := make([]api.Runs, len(some))
		failed := make([]error, len(some))
		var asked sync.WaitGroup
		for i, m := range some {
			asked.Go(func() { answers[i], failed[i] = members.Ask[api.Runs](ctx, c, s.ring, m, "/v1/runs", query) })
		}
		asked.Wait()
		for i, m := range some {
			if err := failed[i]; err != nil {
				if which != api.AllNodes {
					return err
				}
				answer.Missing = append(answer.Missing, m.Name+": "+err.Error())
				continue
			}
			addNode(answer, m.Name, &answers[i], limit)
		}
	}
	return nil
}

// addNode adds what a member answered, and keeps no more than was asked for.
func addNode(all *api.Runs, name string, one *api.Runs, limit int) {
	for _, r := range one.Runs {
		r.Node = name
		all.Runs = append(all.Runs, r)
	}
	all.Skipped = append(all.Skipped, one.Skipped...)
	slices.SortStableFunc(all.Runs, func(a, b job.Run) int { return b.Decided.Compare(a.Decided) })
	slices.SortStableFunc(all.Skipped, func(a, b job.Record) int { return b.Due.Compare(a.Due) })
	all.Runs = slices.Clone(all.Runs[:min(limit, len(all.Runs))])
	all.Skipped = slices.Clone(all.Skipped[:min(limit, len(all.Skipped))])
}

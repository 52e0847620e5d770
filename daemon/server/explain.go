package server

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// explainedClashes is the maximum number of shared minutes in an explanation.
const explainedClashes = 3

// explain describes a job: when and how often it runs, how changes of its zone affect it, what its
// options mean, and which jobs start at the same time.
func (s *Server) explain(ctx context.Context, c *call) error {
	i, err := s.only(ctx, c, "explain", c.query.Get("job"))
	if err != nil {
		return err
	}
	from, err := c.instant("from")
	if err != nil {
		return err
	}
	if from.IsZero() {
		from = c.now
	}
	e, j := c.view.Entry(i), c.view.Job(i)
	x := api.NewExplanation(e.Spec(), e.Schedule, e.Zone(), s.remarksOn(c, i), from.In(e.Zone().Location()))
	x.AddEntry(e, slices.DeleteFunc(e.Effective(), func(o crontab.Option) bool { return o.Origin == crontab.BuiltIn }))
	x.Job, x.User, x.Table, x.Line, x.Held, x.Hold = j.ID, j.User, j.Table, j.Line, j.Held, c.view.Hold(i)
	if err := c.addClashes(ctx, &x, i, from.Truncate(time.Minute)); err != nil {
		return err
	}
	return c.answer(x)
}

// addClashes finds the minutes of a week that a job shares with others.
func (c *call) addClashes(ctx context.Context, x *api.Explanation, i int, from time.Time) error {
	l, err := newLoad(ctx, c.view, c.visible(), from, from.Add(mostClash))
	if err != nil {
		return err
	}
	own, err := newLoad(ctx, c.view, []int{i}, from, from.Add(mostClash))
	if err != nil {
		return err
	}
	var shared []int
	for m, n := range own.counts {
		if n > 0 && l.counts[m] > n {
			shared = append(shared, m)
		}
	}
	slices.SortStableFunc(shared, func(a, b int) int { return cmp.Compare(l.counts[b], l.counts[a]) })
	x.Shared = len(shared)
	for _, m := range shared[:min(explainedClashes, len(shared))] {
		x.Clashes = append(x.Clashes, api.Clash{
			At: l.at(m), Starts: l.counts[m], Quiet: l.quietNear(m),
			Jobs: slices.DeleteFunc(l.starting(c.view, m, clashNames), func(id job.ID) bool { return id == x.Job }),
		})
	}
	return nil
}

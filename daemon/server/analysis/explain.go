package analysis

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/crontabs"
)

// explainedClashes is the maximum number of shared minutes in an explanation.
const explainedClashes = 3

// Explain describes a job: when and how often it runs, how changes of its zone affect it, what its
// options mean, and which jobs start at the same time.
func (s *Analyst) Explain(ctx context.Context, c *call.Call) error {
	i, err := s.find.Only(ctx, c, "explain", c.Query.Get("job"))
	if err != nil {
		return err
	}
	from, err := c.Instant("from")
	if err != nil {
		return err
	}
	if from.IsZero() {
		from = c.Now
	}
	e, j := c.View.Entry(i), c.View.Job(i)
	x := api.NewExplanation(e.Spec(), e.Schedule, e.Zone(), crontabs.On(e, s.daemon.Diagnostics()), from.In(e.Zone().Location()))
	if timetable.DelayOf(e.Schedule) > 0 || e.Options().Period != nil { // the schedule alone does not name the times
		x.Next = x.Next[:0]
		for at := c.View.Next(i, from.Add(-1)); !at.IsZero() && len(x.Next) < api.ExplainedRuns; at = c.View.Next(i, at) {
			x.Next = append(x.Next, at.In(e.Zone().Location()))
		}
	}
	x.AddEntry(e, slices.DeleteFunc(e.Effective(), func(o option.Option) bool { return o.Origin == option.BuiltIn }))
	x.Job, x.User, x.Crontab, x.Line, x.Held, x.Hold = j.ID, j.User, j.Crontab, j.Line, j.Held, c.View.Hold(i)
	x.Blackout, _ = c.View.Blackout(c.Now)
	if err := addClashes(c, ctx, &x, i, from.Truncate(time.Minute)); err != nil {
		return err
	}
	return c.Answer(x)
}

// addClashes finds the minutes of a week that a job shares with others.
func addClashes(c *call.Call, ctx context.Context, x *api.Explanation, i int, from time.Time) error {
	l, err := newLoad(ctx, c.View, c.Visible(), from, from.Add(mostClash))
	if err != nil {
		return err
	}
	own, err := newLoad(ctx, c.View, []int{i}, from, from.Add(mostClash))
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
			Jobs: slices.DeleteFunc(l.starting(c.View, m, clashNames), func(id job.ID) bool { return id == x.Job }),
		})
	}
	return nil
}

package jobinfo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/crontabs"
	"github.com/cronring/cronring/daemon/server/jobstate"
	"github.com/cronring/cronring/daemon/server/lookup"
)

// List answers with the jobs that the caller sees, the worst state first.
func (s *Informer) List(ctx context.Context, c *call.Call) error {
	jobs, err := s.find.Requested(ctx, c, "list")
	if err != nil {
		return err
	}
	jobs = slices.DeleteFunc(jobs, func(i int) bool { return !asksFor(c, i) })
	list, err := s.bySeverity(ctx, c, jobs)
	if err != nil {
		return err
	}
	return call.AnswerRows(ctx, c, "jobs", func(yield func(job.Status, error) bool) {
		for st, err := range s.states.Statuses(ctx, c, list) {
			if (err != nil || asksForState(c, st.State, st.Hold != nil)) && !yield(st.Status, err) {
				return
			}
		}
	})
}

// asksForState applies what narrows a list to some states.
func asksForState(c *call.Call, st job.State, paused bool) bool {
	states := c.Query["state"]
	return len(states) == 0 || slices.Contains(states, string(st)) || paused && slices.Contains(states, string(job.StatePaused))
}

// bySeverity sorts jobs by state, the worst first, and then by name. It omits jobs that the caller
// does not request.
func (s *Informer) bySeverity(ctx context.Context, c *call.Call, jobs []int) ([]int, error) {
	type ranked struct {
		severity, number int
		id               job.ID
	}
	order := make([]ranked, 0, len(jobs))
	for st, err := range s.states.States(ctx, c, jobs) {
		if err != nil {
			return nil, err
		}
		if state := st.State(); asksForState(c, state, c.View.Hold(st.Number) != nil) {
			order = append(order, ranked{state.Severity(), st.Number, st.ID})
		}
	}
	slices.SortFunc(order, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.severity, b.severity), cmp.Compare(a.id, b.id))
	})
	sorted := make([]int, len(order))
	for k := range order {
		sorted[k] = order[k].number
	}
	return sorted, nil
}

// asksFor applies what narrows a list without looking at history.
func asksFor(c *call.Call, i int) bool {
	e := c.View.Entry(i)
	user, file := c.Query.Get("user"), c.Query.Get("crontab")
	return (user == "" || user == e.User()) && (file == "" || lookup.IsCrontab(file, e.File().Name)) && hasLabels(e, c.Query["label"])
}

// hasLabels reports whether an entry has all of some labels.
func hasLabels(e *crontab.Entry, wanted []string) bool {
	if len(wanted) == 0 {
		return true
	}
	labels := e.Options().Text("labels")
	return !slices.ContainsFunc(wanted, func(label string) bool { return !option.HasLabel(labels, label) })
}

// Show answers with one job.
func (s *Informer) Show(ctx context.Context, c *call.Call) error {
	i, err := s.find.Only(ctx, c, "show", c.Query.Get("job"))
	if err != nil {
		return err
	}
	found, err := jobstate.Collect(s.states.Statuses(ctx, c, []int{i}))
	if err != nil {
		return err
	}
	status := found[0].Status
	if status.Recent, err = s.recent(ctx, c, status.Job.ID); err != nil {
		return fmt.Errorf("read history: %w", err)
	}
	if last := status.Last; last != nil && (len(status.Recent) == 0 || status.Recent[0].ID < last.ID) { // the history does not have it yet
		status.Recent = slices.Insert(status.Recent, 0, *last)
	}
	return c.Answer(api.Job{
		V:           api.Version,
		Status:      status,
		Meaning:     c.View.Entry(i).Meaning(),
		Upcoming:    upcoming(c, i),
		Diagnostics: api.NewDiagnostics(crontabs.On(c.View.Entry(i), s.daemon.Diagnostics())),
	})
}

// upcoming returns the next few occurrences that will run.
func upcoming(c *call.Call, i int) []time.Time {
	const few = 5
	var list []time.Time
	for t := c.View.Next(i, c.Now); !t.IsZero() && len(list) < few; t = c.View.Next(i, t) {
		list = append(list, t)
	}
	return list
}

// aStrip is the number of recent runs in a job's strip.
const aStrip = 12

// recent returns the newest ended runs of a job that the caller sees.
func (s *Informer) recent(ctx context.Context, c *call.Call, id job.ID) ([]job.Run, error) {
	ended, err := s.store.Ended(ctx, []job.ID{id}, aStrip)
	if err != nil {
		return nil, err
	}
	seen := slices.DeleteFunc(ended[id], func(r job.Run) bool { return !c.SeesRun(&r) })
	if len(seen) == 0 { // another user had a job of that name meanwhile
		i, _ := c.View.Find(id)
		return s.ownLast(ctx, id, c.View.Entry(i).User())
	}
	return seen, nil
}

// ownLast returns the newest ended run of a job as a user, if any.
func (s *Informer) ownLast(ctx context.Context, id job.ID, user string) (runs []job.Run, err error) {
	var newest job.RunID
	if err := s.store.LastBy(ctx, id, user, func(r job.Run) { newest = r.ID }); err != nil || newest == 0 {
		return nil, err
	}
	r, ok, err := s.store.Run(ctx, newest)
	if ok {
		runs = append(runs, r)
	}
	return runs, err
}

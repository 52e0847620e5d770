package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

func (s *Server) listJobs(ctx context.Context, c *call) error {
	jobs := c.visible()
	if refs := c.query["job"]; len(refs) > 0 {
		var err error
		if jobs, err = s.resolve(ctx, c, "list", refs); err != nil {
			return err
		}
	}
	jobs = slices.DeleteFunc(jobs, func(i int) bool { return !c.asksFor(i) })
	list, err := s.bySeverity(ctx, c, jobs)
	if err != nil {
		return err
	}
	return answerRows(ctx, c, "jobs", func(yield func(job.Status, error) bool) {
		for st, err := range s.census(ctx, c, list) {
			if (err != nil || c.asksForState(st.State)) && !yield(st.Status, err) {
				return
			}
		}
	})
}

// asksForState applies what narrows a list to some states.
func (c *call) asksForState(st job.State) bool {
	states := c.query["state"]
	return len(states) == 0 || slices.Contains(states, string(st))
}

// bySeverity sorts jobs by state, the worst first, and then by name. It omits jobs that the caller
// does not request.
func (s *Server) bySeverity(ctx context.Context, c *call, jobs []int) ([]int, error) {
	type ranked struct {
		severity, number int
		id               job.ID
	}
	order := make([]ranked, 0, len(jobs))
	for st, err := range s.states(ctx, c, jobs) {
		if err != nil {
			return nil, err
		}
		if state := st.state(); c.asksForState(state) {
			order = append(order, ranked{severity(state), st.number, st.id})
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
func (c *call) asksFor(i int) bool {
	e := c.view.Entry(i)
	user, table := c.query.Get("user"), c.query.Get("table")
	return (user == "" || user == e.User()) && (table == "" || isTable(table, e.Table().Name)) && hasLabels(e, c.query["label"])
}

// hasLabels reports whether an entry has all of some labels.
func hasLabels(e *crontab.Entry, wanted []string) bool {
	if len(wanted) == 0 {
		return true
	}
	labels := ""
	for _, item := range e.Options().Items {
		if item.Key == "labels" {
			labels = item.Value
		}
	}
	return !slices.ContainsFunc(wanted, func(label string) bool { return !crontab.HasLabel(labels, label) })
}

func (s *Server) showJob(ctx context.Context, c *call) error {
	i, err := s.only(ctx, c, "show", c.query.Get("job"))
	if err != nil {
		return err
	}
	found, err := collect(s.census(ctx, c, []int{i}))
	if err != nil {
		return err
	}
	status := found[0].Status
	if status.Recent, err = s.recent(ctx, c, status.Job.ID); err != nil {
		return fmt.Errorf("read history: %w", err)
	}
	return c.answer(api.Job{
		V:           api.Version,
		Status:      status,
		Meaning:     crontab.Describe(c.view.Entry(i).Schedule),
		Upcoming:    c.upcoming(i),
		Diagnostics: api.NewDiagnostics(s.remarksOn(c, i)),
	})
}

// upcoming returns the next few occurrences that will run.
func (c *call) upcoming(i int) []time.Time {
	const few = 5
	var list []time.Time
	for t := c.view.Next(i, c.now); !t.IsZero() && len(list) < few; t = c.view.Next(i, t) {
		list = append(list, t)
	}
	return list
}

func (s *Server) remarksOn(c *call, i int) []crontab.Diagnostic {
	e := c.view.Entry(i)
	var remarks []crontab.Diagnostic
	for _, d := range s.backend.Diagnostics() {
		if d.File == e.Table().Name && d.Line == e.Line() {
			remarks = append(remarks, d)
		}
	}
	return remarks
}

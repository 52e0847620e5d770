package actions

import (
	"context"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/lookup"
	"github.com/cronring/cronring/daemon/store"
)

// Retry runs occurrences again. A dead letter is removed by that.
func (s *Actor) Retry(ctx context.Context, c *call.Call) error {
	r, err := call.Body[api.RetryRequest](c)
	if err != nil {
		return err
	}
	again, err := s.toRetry(ctx, c, r)
	if err != nil {
		return err
	}
	runs, err := s.begin(ctx, c, r.Wait, func() ([]job.Run, error) { return s.runAgain(ctx, c, "retry", again) })
	if err != nil {
		return err
	}
	return c.Answer(api.Runs{V: api.Version, Runs: runs})
}

// toRetry returns the runs that a request names, each once: at least one.
func (s *Actor) toRetry(ctx context.Context, c *call.Call, r api.RetryRequest) (again []api.DeadLetter, err error) {
	seen := map[job.RunID]bool{}
	for _, text := range r.Refs {
		runs, err := s.failedBy(ctx, c, text, r.Since)
		if err != nil {
			return nil, err
		}
		for _, run := range runs {
			if run.State.Live() {
				return nil, &api.Error{
					Kind: api.Conflict, What: "cannot retry run " + run.ID.String() + ": it is still active",
					Why: "it is " + run.ResultOrState(), Fix: "cronring stop " + run.ID.String(),
				}
			}
			if run.Trimmed {
				return nil, &api.Error{
					Kind: api.Conflict, What: "cannot retry run " + run.ID.String() + ": the history no longer has its variables",
					Why: "the output and variables of newer runs of " + run.User + " have reached the limit of the history", Fix: "cronring run " + display.Quote(string(run.Job)),
				}
			}
			if !seen[run.ID] {
				seen[run.ID] = true
				again = append(again, api.DeadLetter{Run: run})
			}
		}
	}
	if len(again) == 0 {
		since := ""
		if !r.Since.IsZero() {
			since = " since " + r.Since.Format(time.RFC3339)
		}
		return nil, &api.Error{
			Kind: api.NotFound, What: "cannot retry " + job.CutText(strings.Join(r.Refs, " ")),
			Why: "the history has no matching failed run" + since, Fix: "cronring history --failed",
		}
	}
	return again, nil
}

// failedBy returns the run that a reference names; if it names jobs, the newest failed run of each.
func (s *Actor) failedBy(ctx context.Context, c *call.Call, text string, since time.Time) ([]job.Run, error) {
	ref, err := lookup.ParseRunRef(text)
	if err != nil {
		return nil, err
	}
	if ref.ID > 0 || ref.Job != text {
		r, err := s.find.OneRun(ctx, c, "retry", text)
		return []job.Run{r}, err
	}
	jobs, err := s.find.ResolveOne(ctx, c, "retry", text)
	if err != nil {
		return nil, err
	}
	var all []job.Run
	for _, i := range jobs {
		runs, err := s.find.Runs(ctx, c, store.Filter{Jobs: []job.ID{c.View.ID(i)}, FailedOnly: true, Since: since, Limit: 1})
		if err != nil {
			return nil, err
		}
		all = append(all, runs...)
	}
	return all, nil
}

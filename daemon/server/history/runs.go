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
	"github.com/cronring/cronring/daemon/server/lookup"
	"github.com/cronring/cronring/daemon/store"
)

// List answers with runs, or with skipped occurrences, newest first.
func (s *Reader) List(ctx context.Context, c *call.Call) error {
	f, err := readFilter(c)
	if err != nil {
		return err
	}
	if f.Jobs, err = s.find.HistoryOf(ctx, c); err != nil {
		return err
	}
	skipped, err := c.Flag("skipped")
	if err != nil {
		return err
	}
	live, err := c.Flag("live")
	if err != nil {
		return err
	}
	if !skipped && !live && c.Query.Get("member") == "" {
		return call.AnswerRows(ctx, c, "runs", s.find.EachRun(ctx, c, f))
	}
	answer := api.Runs{V: api.Version, Runs: []job.Run{}}
	if skipped {
		answer.Skipped, err = s.skips(ctx, c, f)
	} else if live {
		answer.Runs = liveOf(c, f)
	} else {
		answer.Runs, err = s.find.Runs(ctx, c, f)
	}
	if err != nil {
		return err
	}
	if err := s.addNodes(ctx, c, f.Limit, &answer); err != nil {
		return err
	}
	return c.Answer(answer)
}

// readFilter reads all of the query but the jobs.
func readFilter(c *call.Call) (f store.Filter, err error) {
	f.Trigger = job.Trigger(c.Query.Get("trigger"))
	if f.FailedOnly, err = c.Flag("failed"); err != nil {
		return f, err
	}
	if f.Since, f.Until, err = c.Period("since", "until"); err != nil {
		return f, err
	}
	before, err := c.Number("before")
	if err != nil {
		return f, err
	}
	f.Before = job.RunID(before)
	f.Limit, err = c.Limit(100, lookup.MaxRows)
	return f, err
}

// liveOf returns the runs of some jobs that have not ended, newest first.
func liveOf(c *call.Call, f store.Filter) []job.Run {
	live := []job.Run{}
	for _, r := range c.View.Runs() {
		if c.SeesRun(&r) && (f.Jobs == nil || slices.Contains(f.Jobs, r.Job)) {
			live = append(live, r)
		}
	}
	slices.SortFunc(live, func(a, b job.Run) int { return cmp.Compare(b.ID, a.ID) })
	return live[:min(f.Limit, len(live))]
}

// skips returns occurrences that were not run, newest first: skipped ones, and runs that ended
// without running anything. Without a start time it returns those of the last day.
func (s *Reader) skips(ctx context.Context, c *call.Call, f store.Filter) ([]job.Record, error) {
	if f.Until.IsZero() {
		f.Until = c.Now.Add(time.Minute)
	}
	if f.Since.IsZero() {
		f.Since = f.Until.Add(-24 * time.Hour)
	}
	newest := func(a, b job.Record) int { return b.Due.Compare(a.Due) }
	skips := []job.Record{}
	err := s.find.EachSkip(ctx, c, f.Jobs, f.Since, f.Until, f.Limit, func(r job.Record) {
		if skips = append(skips, r); len(skips) > f.Limit+lookup.MaxRows {
			slices.SortStableFunc(skips, newest)
			skips = slices.Delete(skips, f.Limit, len(skips))
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	f.Skipped = true
	for r, err := range s.find.EachRun(ctx, c, f) {
		if err != nil {
			return nil, err
		}
		r.Env, r.Parents = nil, nil // those of all need much memory
		skips = append(skips, skipOf(r))
	}
	slices.SortStableFunc(skips, newest)
	return skips[:min(f.Limit, len(skips))], nil
}

// skipOf is the record of a run that ended without running anything, or whose exit
// status counts as skipped.
func skipOf(r job.Run) job.Record {
	skip := job.Record{Kind: job.Dropped, At: r.Decided, Job: r.Job, Due: r.Due, Era: r.Era, Reason: r.Reason, User: r.User, Run: &r}
	if r.State == job.RunEnded {
		skip.Kind, skip.At, skip.Reason, skip.Detail = job.Ended, r.Ended, "", job.Text(r.Ending())
	}
	return skip
}

// Show answers with one run.
func (s *Reader) Show(ctx context.Context, c *call.Call) error {
	r, err := s.find.OneRun(ctx, c, "show", c.Query.Get("run"))
	if err != nil {
		return err
	}
	return c.Answer(api.Run{V: api.Version, Run: r})
}

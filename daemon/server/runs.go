package server

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store"
)

// maxRows is the maximum number of runs in one answer.
const maxRows = 10_000

func (s *Server) listRuns(ctx context.Context, c *call) error {
	f, err := c.filter()
	if err != nil {
		return err
	}
	if f.Jobs, err = s.historyOf(ctx, c); err != nil {
		return err
	}
	skipped, err := c.flag("skipped")
	if err != nil {
		return err
	}
	live, err := c.flag("live")
	if err != nil {
		return err
	}
	if !skipped && !live && c.query.Get("node") == "" {
		return answerRows(ctx, c, "runs", s.eachRun(ctx, c, f))
	}
	answer := api.Runs{V: api.Version, Runs: []job.Run{}}
	if skipped {
		answer.Skipped, err = s.skips(ctx, c, f)
	} else if live {
		answer.Runs = c.liveOf(f)
	} else {
		answer.Runs, err = s.runs(ctx, c, f)
	}
	if err != nil {
		return err
	}
	if err := s.addNodes(ctx, c, f.Limit, &answer); err != nil {
		return err
	}
	return c.answer(answer)
}

// filter reads all of the query but the jobs.
func (c *call) filter() (f store.Filter, err error) {
	f.Trigger = job.Trigger(c.query.Get("trigger"))
	if f.FailedOnly, err = c.flag("failed"); err != nil {
		return f, err
	}
	if f.Since, f.Until, err = c.period("since", "until"); err != nil {
		return f, err
	}
	before, err := c.number("before")
	if err != nil {
		return f, err
	}
	limit, err := c.number("limit")
	if err != nil {
		return f, err
	}
	f.Before = job.RunID(before)
	f.Limit = int(min(cmp.Or(limit, 100), maxRows))
	return f, nil
}

// historyOf returns the jobs whose history is requested; nil means all. A name may be that of a job
// that is no longer loaded: its history still exists.
func (s *Server) historyOf(ctx context.Context, c *call) ([]job.ID, error) {
	refs := c.query["job"]
	if len(refs) == 0 && c.peer.keeper {
		return nil, nil
	}
	ids := []job.ID{}
	if len(refs) == 0 {
		for _, i := range c.visible() {
			ids = append(ids, c.view.ID(i))
		}
	}
	for _, text := range refs {
		found, err := s.resolveOne(ctx, c, "history", text)
		if err != nil {
			if gone, ok := s.removed(ctx, c, text); ok {
				ids = append(ids, gone)
				continue
			}
			return nil, err
		}
		for _, i := range found {
			ids = append(ids, c.view.ID(i))
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// removed reports whether text is the name of a job of which only history is left.
func (s *Server) removed(ctx context.Context, c *call, text string) (job.ID, bool) {
	candidates := []job.ID{job.NewID(c.peer.name, text), job.ID(text)}
	if id, full := job.ParseID(text); full {
		candidates = []job.ID{id}
	}
	for _, id := range candidates {
		if runs, err := s.runs(ctx, c, store.Filter{Jobs: []job.ID{id}, Limit: 1}); err == nil && len(runs) > 0 {
			return id, true
		}
	}
	return "", false
}

// runs is eachRun as a slice.
func (s *Server) runs(ctx context.Context, c *call, f store.Filter) ([]job.Run, error) {
	seen := []job.Run{}
	for r, err := range s.eachRun(ctx, c, f) {
		if err != nil {
			return nil, err
		}
		seen = append(seen, r)
	}
	return seen, nil
}

// runsPage is the number of runs that are read from the history at a time.
const runsPage = 1000

// eachRun yields the runs that f chooses and that the caller may see, newest
// first. f must have a limit. An error is the last item.
func (s *Server) eachRun(ctx context.Context, c *call, f store.Filter) iter.Seq2[job.Run, error] {
	return func(yield func(job.Run, error) bool) {
		if f.Jobs != nil && len(f.Jobs) == 0 {
			return
		}
		for left := f.Limit; left > 0; left -= runsPage {
			f.Limit = min(left, runsPage)
			runs, err := s.store.Runs(ctx, f)
			if err == nil {
				err = s.addDoubles(ctx, runs)
			}
			if err != nil {
				yield(job.Run{}, fmt.Errorf("read history: %w", err))
				return
			}
			for _, r := range runs {
				if c.seesRun(r) && !yield(r, nil) {
					return
				}
			}
			if len(runs) < f.Limit {
				return
			}
			f.Before = runs[len(runs)-1].ID
		}
	}
}

// addDoubles notes of runs where in the ring their occurrences ran too.
func (s *Server) addDoubles(ctx context.Context, runs []job.Run) error {
	if len(runs) == 0 {
		return nil
	}
	oldest := slices.MinFunc(runs, func(a, b job.Run) int { return a.Decided.Compare(b.Decided) })
	type occurrence struct {
		job job.ID
		of  string
	}
	places := map[occurrence]string{}
	err := s.store.Doubles(ctx, oldest.Decided, func(id job.ID, detail string) {
		if of, where, ok := job.CutDoubled(detail); ok {
			places[occurrence{id, of}] = where
		}
	})
	if len(places) == 0 {
		return err
	}
	for i := range runs {
		if r := &runs[i]; !r.Started.IsZero() {
			r.Doubled = places[occurrence{r.Job, job.DoubledOf(r.Due)}]
		}
	}
	return err
}

// liveOf returns the runs of some jobs that have not ended, newest first.
func (c *call) liveOf(f store.Filter) []job.Run {
	live := []job.Run{}
	for _, r := range c.view.Runs() {
		if c.seesRun(r) && (f.Jobs == nil || slices.Contains(f.Jobs, r.Job)) {
			live = append(live, r)
		}
	}
	slices.SortFunc(live, func(a, b job.Run) int { return cmp.Compare(b.ID, a.ID) })
	return live[:min(f.Limit, len(live))]
}

// skips returns occurrences that were not run, newest first: skipped ones, and runs that ended
// without running anything. Without a start time it returns those of the last day.
func (s *Server) skips(ctx context.Context, c *call, f store.Filter) ([]job.Record, error) {
	if f.Until.IsZero() {
		f.Until = c.now.Add(time.Minute)
	}
	if f.Since.IsZero() {
		f.Since = f.Until.Add(-24 * time.Hour)
	}
	newest := func(a, b job.Record) int { return b.Due.Compare(a.Due) }
	skips := []job.Record{}
	err := s.eachSkip(ctx, c, f.Jobs, f.Since, f.Until, f.Limit, func(r job.Record) {
		if skips = append(skips, r); len(skips) > f.Limit+maxRows {
			slices.SortStableFunc(skips, newest)
			skips = slices.Delete(skips, f.Limit, len(skips))
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	f.Skipped = true
	for r, err := range s.eachRun(ctx, c, f) {
		if err != nil {
			return nil, err
		}
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
		skip.Kind, skip.At, skip.Reason, skip.Detail = job.Ended, r.Ended, "", r.Ending()
	}
	return skip
}

func (s *Server) showRun(ctx context.Context, c *call) error {
	r, err := s.oneRun(ctx, c, "show", c.query.Get("run"))
	if err != nil {
		return err
	}
	return c.answer(api.Run{V: api.Version, Run: r})
}

// oneRun returns the run that a reference names.
func (s *Server) oneRun(ctx context.Context, c *call, verb, text string) (job.Run, error) {
	ref, err := parseRunRef(text)
	if err != nil {
		return job.Run{}, err
	}
	if ref.id > 0 {
		return s.numbered(ctx, c, verb, ref.id)
	}
	i, err := s.only(ctx, c, verb, ref.job)
	if err != nil {
		return job.Run{}, err
	}
	id := c.view.ID(i)
	runs, err := s.runs(ctx, c, store.Filter{Jobs: []job.ID{id}, FailedOnly: ref.failed, Limit: max(ref.back, 1)})
	if err != nil {
		return job.Run{}, err
	}
	if !ref.failed {
		runs = newest(runs, c.liveByJob()[id])
	}
	if back := max(ref.back, 1); len(runs) >= back {
		return runs[back-1], nil
	}
	return job.Run{}, c.noSuchRun(verb, text, id, len(runs))
}

// newest replaces stored runs by live ones, newest first. The store can lag behind while its disk
// is full.
func newest(stored, live []job.Run) []job.Run {
	isLive := map[job.RunID]bool{}
	for _, r := range live {
		isLive[r.ID] = true
	}
	all := slices.Clone(live)
	for _, r := range stored {
		if !isLive[r.ID] {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b job.Run) int { return cmp.Compare(b.ID, a.ID) })
	return all
}

func (c *call) noSuchRun(verb, text string, id job.ID, have int) *api.Error {
	return &api.Error{
		Kind: api.NotFound,
		What: fmt.Sprintf("cannot %s %q: no such run", doing(verb), text),
		Why:  fmt.Sprintf("the history of %s has %s of that kind", id, count(have, "run")),
		Fix:  "cronring history " + quote(string(id)),
	}
}

// numbered returns the run of that number, as it is now.
func (s *Server) numbered(ctx context.Context, c *call, verb string, id job.RunID) (job.Run, error) {
	r, ok := liveRun(s.backend.View(), id)
	if !ok {
		var err error
		if r, ok, err = s.store.Run(ctx, id); err != nil {
			return r, fmt.Errorf("read history: %w", err)
		}
	}
	if !ok || !c.seesRun(r) {
		return job.Run{}, &api.Error{
			Kind: api.NotFound,
			What: fmt.Sprintf("cannot %s run %s: no such run", doing(verb), id),
			Why:  "it never was, is older than the history that is kept, or belongs to another account",
			Fix:  "cronring history",
		}
	}
	return r, nil
}

func liveRun(v *engine.View, id job.RunID) (job.Run, bool) {
	runs := v.Runs()
	i := slices.IndexFunc(runs, func(r job.Run) bool { return r.ID == id })
	if i < 0 {
		return job.Run{}, false
	}
	return runs[i], true
}

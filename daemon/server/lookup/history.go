package lookup

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/store"
)

// MaxRows is the maximum number of runs in one answer.
const MaxRows = 10_000

// HistoryOf returns the jobs whose history is requested; nil means all. A name may be that of a job
// that is no longer loaded: its history still exists.
func (s *Searcher) HistoryOf(ctx context.Context, c *call.Call) ([]job.ID, error) {
	refs := c.Query["job"]
	if len(refs) == 0 && c.Peer.Admin {
		return nil, nil
	}
	ids := []job.ID{}
	if len(refs) == 0 {
		ids = c.IDs(c.Visible())
	}
	for _, text := range refs {
		found, err := s.ResolveOne(ctx, c, "history", text)
		if err != nil {
			if gone, ok := s.Removed(ctx, c, text); ok {
				ids = append(ids, gone)
				continue
			}
			return nil, err
		}
		ids = append(ids, c.IDs(found)...)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// Removed reports whether text is the name of a job of which only history is left.
func (s *Searcher) Removed(ctx context.Context, c *call.Call, text string) (job.ID, bool) {
	candidates := []job.ID{job.NewID(c.Peer.Name, text), job.ID(text)}
	if id, full := job.ParseID(text); full {
		candidates = []job.ID{id}
	}
	for _, id := range candidates {
		if runs, err := s.Runs(ctx, c, store.Filter{Jobs: []job.ID{id}, Limit: 1}); err == nil && len(runs) > 0 {
			return id, true
		}
	}
	return "", false
}

// Bulk bounds the variables and parents of the runs that are in memory for one answer, in bytes.
const Bulk = 16 << 20

// Runs is EachRun as a slice. Runs beyond Bulk come without variables and parents.
func (s *Searcher) Runs(ctx context.Context, c *call.Call, f store.Filter) ([]job.Run, error) {
	seen, bulk := []job.Run{}, 0
	for r, err := range s.EachRun(ctx, c, f) {
		if err != nil {
			return nil, err
		}
		if bulk += r.Bulk(); bulk > Bulk {
			r.Env, r.Parents = nil, nil
		}
		seen = append(seen, r)
	}
	return seen, nil
}

// RunsPage is the maximum number of runs that are read from the history at a time.
const RunsPage = 1000

// EachRun yields the runs that f chooses and that the caller may see, newest
// first. f must have a limit. An error is the last item.
func (s *Searcher) EachRun(ctx context.Context, c *call.Call, f store.Filter) iter.Seq2[job.Run, error] {
	return func(yield func(job.Run, error) bool) {
		if f.Jobs != nil && len(f.Jobs) == 0 {
			return
		}
		f.Bulk = Bulk
		for left := f.Limit; left > 0; {
			f.Limit = min(left, RunsPage)
			runs, err := s.store.Runs(ctx, f)
			if err == nil {
				err = s.addDoubles(ctx, runs)
			}
			if err != nil {
				yield(job.Run{}, fmt.Errorf("read history: %w", err))
				return
			}
			bulk := 0
			for _, r := range runs {
				if bulk += r.Bulk(); c.SeesRun(&r) && !yield(r, nil) {
					return
				}
			}
			if len(runs) < f.Limit && bulk < Bulk {
				return
			}
			f.Before, left = runs[len(runs)-1].ID, left-len(runs)
		}
	}
}

// addDoubles notes of runs where in the ring their occurrences ran too.
func (s *Searcher) addDoubles(ctx context.Context, runs []job.Run) error {
	if len(runs) == 0 {
		return nil
	}
	oldest := slices.MinFunc(runs, func(a, b job.Run) int { return a.Decided.Compare(b.Decided) })
	type occurrence struct {
		job job.ID
		due int64
	}
	places := map[occurrence]string{}
	err := s.store.Doubles(ctx, oldest.Decided, func(id job.ID, due time.Time, where job.Detail) {
		places[occurrence{id, due.UnixNano()}] = where.Words()
	})
	if len(places) == 0 {
		return err
	}
	for i := range runs {
		if r := &runs[i]; !r.Started.IsZero() {
			r.Doubled = places[occurrence{r.Job, r.Due.UnixNano()}]
		}
	}
	return err
}

// OneRun returns the run that a reference names.
func (s *Searcher) OneRun(ctx context.Context, c *call.Call, verb, text string) (job.Run, error) {
	ref, err := ParseRunRef(text)
	if err != nil {
		return job.Run{}, err
	}
	if ref.ID > 0 {
		return s.Numbered(ctx, c, verb, ref.ID)
	}
	i, err := s.Only(ctx, c, verb, ref.Job)
	if err != nil {
		return job.Run{}, err
	}
	id := c.View.ID(i)
	runs, err := s.Runs(ctx, c, store.Filter{Jobs: []job.ID{id}, FailedOnly: ref.failed, Limit: max(ref.back, 1)})
	if err != nil {
		return job.Run{}, err
	}
	if !ref.failed {
		var live []job.Run
		c.View.EachRun(func(r *job.Run) {
			if r.Job == id && c.SeesRun(r) {
				live = append(live, *r)
			}
		})
		runs = newest(runs, live)
	}
	if back := max(ref.back, 1); len(runs) >= back {
		return s.Numbered(ctx, c, verb, runs[back-1].ID) // with its variables
	}
	return job.Run{}, noSuchRun(verb, text, id, len(runs))
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

func noSuchRun(verb, text string, id job.ID, have int) *api.Error {
	return &api.Error{
		Kind: api.NotFound,
		What: fmt.Sprintf("cannot %s %q: no such run", Doing(verb), text),
		Why:  fmt.Sprintf("the history of %s has %s of that kind", id, display.Count(have, "run")),
		Fix:  "cronring history " + display.Quote(string(id)),
	}
}

// Numbered returns the run of that number, as it is now.
func (s *Searcher) Numbered(ctx context.Context, c *call.Call, verb string, id job.RunID) (job.Run, error) {
	r, ok := s.view().Run(id)
	if !ok {
		var err error
		if r, ok, err = s.store.Run(ctx, id); err != nil {
			return r, fmt.Errorf("read history: %w", err)
		}
	}
	if ok && !c.SeesRun(&r) {
		if err := c.MissingRole(Doing(verb)+" run "+id.String(), r.Job, r.User); err != nil {
			return r, err
		}
	}
	if !ok || !c.SeesRun(&r) {
		return job.Run{}, &api.Error{
			Kind: api.NotFound,
			What: fmt.Sprintf("cannot %s run %s: no such run", Doing(verb), id),
			Why:  "it never existed, is older than the kept history, or belongs to another user",
			Fix:  "cronring history",
		}
	}
	return r, nil
}

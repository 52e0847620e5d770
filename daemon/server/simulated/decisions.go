package simulated

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// skips returns the decisions to skip, the one that was due last first.
func (w *World) skips() (skips []job.Record) {
	for _, r := range w.Facts() {
		if r.DecidesOccurrence() && r.Run == nil {
			skips = append(skips, job.Record{
				At: r.At, Kind: r.Kind, Job: r.Job, Due: r.Due, First: r.First, Count: r.Count, Decision: job.DecideSkip, Reason: r.Reason, Detail: r.Detail, User: r.User,
			})
		}
	}
	slices.SortStableFunc(skips, func(a, b job.Record) int { return b.Due.Compare(a.Due) })
	return skips
}

// Skips does what store.Store.Skips does.
func (w *World) Skips(_ context.Context, jobs []job.ID, from, to time.Time, n int, f func(job.Record)) error {
	seen := map[job.ID]int{}
	for _, r := range w.skips() {
		if !slices.Contains(jobs, r.Job) || !within(r.Due, from, to) {
			continue
		}
		if seen[r.Job]++; seen[r.Job] <= n {
			f(r)
		}
	}
	return w.Broken
}

// SkipsFrom does what store.Store.SkipsFrom does.
func (w *World) SkipsFrom(ctx context.Context, from, to time.Time, n int) (time.Time, error) {
	seen := 0
	begin := from
	err := w.SkipsBetween(ctx, from, to, n+1, func(r job.Record) {
		if seen++; seen > n {
			begin = r.At.Add(1)
		}
	})
	return begin, err
}

// SkipsBetween does what store.Store.SkipsBetween does.
func (w *World) SkipsBetween(_ context.Context, from, to time.Time, n int, f func(job.Record)) error {
	skips := slices.DeleteFunc(w.skips(), func(r job.Record) bool { return !within(r.At, from, to) })
	slices.SortStableFunc(skips, func(a, b job.Record) int { return b.At.Compare(a.At) })
	for _, r := range skips[:min(len(skips), n)] {
		f(r)
	}
	return w.Broken
}

// Decisions does what store.Store.Decisions does.
func (w *World) Decisions(_ context.Context, id job.ID, from, to time.Time, limit int) ([]job.Record, error) {
	var found []job.Record
	for _, r := range w.Facts() {
		first := r.Due
		if r.Run == nil && !r.First.IsZero() {
			first = r.First
		}
		if r.DecidesOccurrence() && r.Job == id && !r.Due.Before(from) && first.Before(to) {
			found = append(found, w.updated(r))
		}
	}
	slices.SortStableFunc(found, func(a, b job.Record) int { return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.Era, b.Era)) })
	return found[max(0, len(found)-limit):], w.Broken
}

// updated returns a record with its run as it is now.
func (w *World) updated(r job.Record) job.Record {
	if r.Run != nil {
		run, _, _ := w.Run(context.Background(), r.Run.ID)
		r.Run = &run
	}
	return r
}

// DecisionAt does what store.Store.DecisionAt does.
func (w *World) DecisionAt(_ context.Context, id job.ID, due time.Time) (found job.Record, ok bool, err error) {
	for _, r := range w.Facts() {
		if r.DecidesOccurrence() && r.Job == id && !due.After(r.Due) && (r.Due.Equal(due) || r.Count > 1 && !due.Before(r.First)) {
			found, ok = w.updated(r), true
		}
	}
	return found, ok, w.Broken
}

// Records does what store.Store.Records does.
func (w *World) Records(_ context.Context, from, to time.Time, limit int) ([]job.Record, error) {
	var found []job.Record
	begun := map[int64]bool{} // backfills
	for _, r := range w.Facts() {
		switch {
		case r.Kind == job.Filled:
			if begun[r.Backfill.ID] && r.Backfill.State == job.BackfillGoing {
				continue
			}
			begun[r.Backfill.ID] = true
		case r.Kind == job.Redrove, r.Kind == job.Buried:
			r = w.updated(r)
			r.Due = r.Run.Due
		case r.Run != nil, r.Kind == job.Decided, r.Kind == job.Emitted:
			continue
		}
		r.User, r.Was = "", time.Time{}
		if within(r.At, from, to) {
			found = append(found, r)
		}
	}
	slices.SortStableFunc(found, func(a, b job.Record) int { return a.At.Compare(b.At) })
	return found[:min(len(found), limit)], w.Broken
}

// Doubles does what store.Store.Doubles does.
func (w *World) Doubles(_ context.Context, since time.Time, f func(id job.ID, due time.Time, where job.Detail)) error {
	for _, r := range w.Facts() {
		if r.Kind == job.Doubled && !r.At.Before(since) && !r.Due.IsZero() {
			f(r.Job, r.Due, r.Detail)
		}
	}
	return w.Broken
}

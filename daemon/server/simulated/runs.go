package simulated

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store"
)

// AllRuns returns each run in its newest record, newest first. The caller must not change them.
func (w *World) AllRuns() []job.Run {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runsOf != len(w.records) {
		latest := map[job.RunID]job.Run{}
		for _, r := range w.records {
			if r.Run != nil {
				latest[r.Run.ID] = *r.Run
			}
		}
		w.runs = slices.SortedFunc(maps.Values(latest), func(a, b job.Run) int { return cmp.Compare(b.ID, a.ID) })
		w.runsOf = len(w.records)
	}
	return w.runs
}

// Run does what store.Store.Run does.
func (w *World) Run(_ context.Context, id job.RunID) (job.Run, bool, error) {
	runs := w.AllRuns()
	i, ok := slices.BinarySearchFunc(runs, id, func(r job.Run, id job.RunID) int { return cmp.Compare(id, r.ID) })
	if !ok {
		return job.Run{}, false, w.Broken
	}
	return runs[i], true, w.Broken
}

// Runs does what store.Store.Runs does.
func (w *World) Runs(_ context.Context, f store.Filter) ([]job.Run, error) {
	var runs []job.Run
	for _, r := range w.AllRuns() {
		switch {
		case f.Jobs != nil && !slices.Contains(f.Jobs, r.Job), f.FailedOnly && !r.Failed(),
			f.Skipped && (r.State != job.RunDropped || r.Attempt > 1) && r.Verdict != job.VerdictSkip,
			f.Trigger != "" && f.Trigger != r.Trigger, f.Before > 0 && r.ID >= f.Before,
			!f.Since.IsZero() && r.Decided.Before(f.Since), !f.Until.IsZero() && !r.Decided.Before(f.Until):
			continue
		}
		runs = append(runs, r)
	}
	runs = runs[:min(len(runs), cmp.Or(f.Limit, 100))]
	bulk := 0
	for i := range runs {
		if bulk += runs[i].Bulk(); f.Bulk > 0 && bulk >= f.Bulk {
			return runs[:i+1], w.Broken
		}
	}
	return runs, w.Broken
}

// Numbered does what store.Store.Numbered does.
func (w *World) Numbered(_ context.Context, ids []job.RunID, f func(job.Run)) error {
	for _, r := range w.AllRuns() {
		if slices.Contains(ids, r.ID) {
			f(r)
		}
	}
	return w.Broken
}

// newest returns up to n of the newest runs of each job that keep chooses, newest first.
func (w *World) newest(jobs []job.ID, n int, keep func(*job.Run) bool) (runs []job.Run) {
	left := map[job.ID]int{}
	for _, id := range jobs {
		left[id] = n
	}
	for _, r := range w.AllRuns() {
		if left[r.Job] > 0 && keep(&r) {
			left[r.Job]--
			runs = append(runs, r)
		}
	}
	return runs
}

func anyRun(*job.Run) bool { return true }

func ended(r *job.Run) bool { return r.State == job.RunEnded }

// byJob returns runs without variables.
func byJob(runs []job.Run) map[job.ID][]job.Run {
	of := map[job.ID][]job.Run{}
	for _, r := range runs {
		r.Env = nil
		of[r.Job] = append(of[r.Job], r)
	}
	return of
}

// Recent does what store.Store.Recent does.
func (w *World) Recent(_ context.Context, jobs []job.ID, n int) (map[job.ID][]job.Run, error) {
	return byJob(w.newest(jobs, n, anyRun)), w.Broken
}

// Ended does what store.Store.Ended does.
func (w *World) Ended(_ context.Context, jobs []job.ID, n int) (map[job.ID][]job.Run, error) {
	return byJob(w.newest(jobs, n, ended)), w.Broken
}

// Last does what store.Store.Last does.
func (w *World) Last(ctx context.Context, f func(job.Run)) error {
	jobs, _ := w.JobNumbers(ctx)
	return w.LastOf(ctx, jobs, f)
}

// LastOf does what store.Store.LastOf does.
func (w *World) LastOf(_ context.Context, jobs []job.ID, f func(job.Run)) error {
	return w.last(jobs, ended, f)
}

// LastBy does what store.Store.LastBy does.
func (w *World) LastBy(_ context.Context, id job.ID, user string, f func(job.Run)) error {
	return w.last([]job.ID{id}, func(r *job.Run) bool { return ended(r) && r.User == user }, f)
}

func (w *World) last(jobs []job.ID, keep func(*job.Run) bool, f func(job.Run)) error {
	for _, r := range w.newest(jobs, 1, keep) {
		f(job.Run{ID: r.ID, Job: r.Job, User: r.User, State: r.State, Started: r.Started, Ended: r.Ended, Outcome: r.Outcome, Verdict: r.Verdict})
	}
	return w.Broken
}

// Streaks does what store.Store.Streaks does.
func (w *World) Streaks(_ context.Context, f func(l job.Summary)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.summaries {
		if l.Bad > 0 || l.Verdict != job.VerdictOK {
			f(job.Summary{Job: l.Job, User: l.User, Bad: l.Bad, Success: l.Success})
		}
	}
	return w.Broken
}

// eachBrief calls f for runs with only their times and results.
func (w *World) eachBrief(runs []job.Run, f func(*job.Run)) error {
	for _, r := range runs {
		f(&job.Run{
			ID: r.ID, Job: r.Job, User: r.User, Due: r.Due, Trigger: r.Trigger, State: r.State, Reason: r.Reason, Decided: r.Decided,
			Started: r.Started, Ended: r.Ended, Outcome: r.Outcome, Verdict: r.Verdict, Usage: job.Usage{CPU: r.Usage.CPU, Memory: r.Usage.Memory},
		})
	}
	return w.Broken
}

// Newest does what store.Store.Newest does.
func (w *World) Newest(_ context.Context, jobs []job.ID, n int, f func(*job.Run)) error {
	return w.eachBrief(w.newest(jobs, n, anyRun), f)
}

// Between does what store.Store.Between does.
func (w *World) Between(_ context.Context, jobs []job.ID, from, to time.Time, n int, f func(*job.Run)) error {
	runs := w.newest(jobs, math.MaxInt, func(r *job.Run) bool { return within(r.Decided, from, to) })
	return w.eachBrief(runs[:min(len(runs), n)], f)
}

// within reports whether from <= t < to.
func within(t, from, to time.Time) bool { return !t.Before(from) && t.Before(to) }

// LastBefore does what store.Store.LastBefore does.
func (w *World) LastBefore(_ context.Context, jobs []job.ID, t time.Time, f func(*job.Run)) error {
	return w.eachBrief(w.newest(jobs, 1, func(r *job.Run) bool { return r.Decided.Before(t) }), f)
}

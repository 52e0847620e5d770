package simulated

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/statistics"
)

// longWait is that of package statistics.
const longWait = time.Hour

// Starts does what store.Store.Starts does.
func (w *World) Starts(_ context.Context, user string, from, to time.Time, parts int) ([]int, error) {
	starts := make([]int, parts)
	for _, r := range w.AllRuns() {
		if within(r.Started, from, to) && within(r.Decided, from.Add(-longWait), to) && (user == "" || r.User == user) {
			starts[int(r.Started.Sub(from)*time.Duration(parts)/to.Sub(from))]++
		}
	}
	return starts, w.Broken
}

// JobNumbers does what store.Store.JobNumbers does.
func (w *World) JobNumbers(context.Context) ([]job.ID, error) {
	jobs, seen := []job.ID{""}, map[job.ID]bool{"": true} // numbers begin with 1
	for _, r := range w.Facts() {
		if !seen[r.Job] {
			seen[r.Job] = true
			jobs = append(jobs, r.Job)
		}
	}
	return jobs, w.Broken
}

// numbers returns the inverse of JobNumbers.
func (w *World) numbers(ctx context.Context) map[job.ID]int {
	names, _ := w.JobNumbers(ctx)
	numbers := map[job.ID]int{}
	for n, id := range names {
		numbers[id] = n
	}
	return numbers
}

// Samples does what store.Store.Samples does.
func (w *World) Samples(ctx context.Context, jobs []job.ID, from, to time.Time, n int, f func(*statistics.Sample)) error {
	numbers := w.numbers(ctx)
	if jobs == nil {
		jobs = slices.Collect(maps.Keys(numbers))
	}
	nanos := func(t time.Time) int64 {
		if t.IsZero() {
			return statistics.NoTime
		}
		return t.UnixNano()
	}
	return w.Between(ctx, jobs, from, to, n, func(r *job.Run) {
		f(&statistics.Sample{
			ID: r.ID, Number: numbers[r.Job], Due: nanos(r.Due), Decided: nanos(r.Decided), Started: nanos(r.Started), Ended: nanos(r.Ended),
			Kind: &statistics.SampleKind{User: r.User, Trigger: r.Trigger, State: r.State, Outcome: r.Outcome.Kind, Verdict: r.Verdict},
			Code: r.Outcome.Code, CPU: r.Usage.CPU, Memory: r.Usage.Memory,
		})
	})
}

// SkipSamples does what store.Store.SkipSamples does.
func (w *World) SkipSamples(ctx context.Context, from, to time.Time, f func(*statistics.SkipSample)) error {
	numbers := w.numbers(ctx)
	return w.SkipsBetween(ctx, from, to, math.MaxInt, func(r job.Record) {
		f(&statistics.SkipSample{Number: numbers[r.Job], Due: r.Due.UnixNano(), At: r.At.UnixNano(), Count: max(1, r.Count)})
	})
}

// Failures does what store.Store.Failures does.
func (w *World) Failures(_ context.Context, of statistics.FailuresOf, f func(*statistics.Failures)) (runs int, older bool, err error) {
	type group struct { // what its runs have in common
		job     job.ID
		user    string
		reason  job.Reason
		outcome job.Outcome
		verdict job.Verdict
	}
	type part struct {
		newest job.RunID // of the group
		n      int
	}
	groups, parts := map[group]job.RunID{}, map[part]*statistics.Failures{}
	long := of.To.Sub(of.From)/time.Duration(of.Parts) + 1
	seen := 0
	for _, r := range w.AllRuns() {
		if seen == of.Runs || !r.Failed() || of.User != "" && r.User != of.User || !within(r.Decided, of.From, of.To) {
			continue
		}
		seen++
		sees := of.Sees == nil || of.Sees(r.Job, r.User)
		if sees {
			runs++
		}
		in := group{r.Job, r.User, r.Reason, r.Outcome, r.Verdict}
		if _, known := groups[in]; !known && len(groups) < of.Groups {
			groups[in] = r.ID
		}
		newest, ok := groups[in]
		if !ok || !sees {
			continue
		}
		if r.Ended.IsZero() {
			r.Ended = r.Decided
		}
		p := part{newest, int(r.Ended.Sub(of.From) / long)}
		if parts[p] == nil {
			parts[p] = &statistics.Failures{
				Newest: job.Run{ID: newest, Job: r.Job, User: r.User, Reason: r.Reason, Outcome: r.Outcome, Verdict: r.Verdict, Ended: r.Ended},
				Part:   p.n, First: r.Ended, Last: r.Ended,
			}
		}
		g := parts[p]
		g.Count++
		if r.Ended.Before(g.First) {
			g.First = r.Ended
		}
		if r.Ended.After(g.Last) {
			g.Last, g.Newest.Ended = r.Ended, r.Ended
		}
	}
	for _, g := range parts {
		f(g)
	}
	return runs, seen >= of.Runs, w.Broken
}

// Totals does what store.Store.Totals does.
func (w *World) Totals(_ context.Context, since time.Time) (statistics.Totals, error) {
	var t statistics.Totals
	var lags []time.Duration
	for _, r := range w.AllRuns() {
		if r.Decided.Before(since) {
			continue
		}
		switch t.Runs++; {
		case r.OK():
			t.OK++
		case r.Failed() && r.Verdict != job.VerdictRetry:
			t.Failed++
		}
		if r.Trigger == job.TriggerClock && !r.Started.IsZero() {
			lags = append(lags, r.Started.Sub(r.Due))
		}
	}
	if slices.Sort(lags); len(lags) > 0 {
		t.LagP99 = lags[(len(lags)-1)*99/100]
	}
	for _, r := range w.skips() {
		if !r.At.Before(since) {
			t.Skipped += max(1, r.Count)
		}
	}
	return t, w.Broken
}

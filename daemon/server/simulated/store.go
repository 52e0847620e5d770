package simulated

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store"
	"github.com/cronring/cronring/daemon/store/database"
	"github.com/cronring/cronring/daemon/store/state"
	"github.com/cronring/cronring/daemon/store/statistics"
)

// The methods of the server's Store search the facts themselves, from end to end. They do what those
// of package store do. All fail with Broken.

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

// Sizes does what store.Store.Sizes does.
func (w *World) Sizes(context.Context) (database.Sizes, error) {
	return database.Sizes{Path: "db"}, nil
}

// Bytes does what store.Store.Bytes does.
func (w *World) Bytes() int64                            { return 4096 }
func (w *World) Check(context.Context) ([]string, error) { return nil, nil }

// Backup does what store.Store.Backup does.
func (w *World) Backup(context.Context, time.Time) (string, int64, error) {
	return "/state/backup/copy", 1, w.Broken
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
		failed := r.State == job.RunEnded && !r.Outcome.OK()
		switch {
		case f.Jobs != nil && !slices.Contains(f.Jobs, r.Job), f.FailedOnly && !failed,
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

// Recent does what store.Store.Recent does.
func (w *World) Recent(_ context.Context, jobs []job.ID, n int) (map[job.ID][]job.Run, error) {
	recent := map[job.ID][]job.Run{}
	for _, r := range w.AllRuns() {
		if slices.Contains(jobs, r.Job) && len(recent[r.Job]) < n {
			r.Env = nil
			recent[r.Job] = append(recent[r.Job], r)
		}
	}
	return recent, w.Broken
}

// Ended does what store.Store.Ended does.
func (w *World) Ended(_ context.Context, jobs []job.ID, n int) (map[job.ID][]job.Run, error) {
	ended := map[job.ID][]job.Run{}
	for _, r := range w.AllRuns() {
		if r.State == job.RunEnded && slices.Contains(jobs, r.Job) && len(ended[r.Job]) < n {
			ended[r.Job] = append(ended[r.Job], r)
		}
	}
	return ended, w.Broken
}

// Last does what store.Store.Last does.
func (w *World) Last(_ context.Context, f func(job.Run)) error {
	seen := map[job.ID]bool{}
	for _, r := range w.AllRuns() {
		if r.State == job.RunEnded && !seen[r.Job] {
			seen[r.Job] = true
			f(r)
		}
	}
	return w.Broken
}

// LastOf does what store.Store.LastOf does.
func (w *World) LastOf(ctx context.Context, jobs []job.ID, f func(job.Run)) error {
	return w.Last(ctx, func(r job.Run) {
		if slices.Contains(jobs, r.Job) {
			f(r)
		}
	})
}

// LastBy does what store.Store.LastBy does.
func (w *World) LastBy(_ context.Context, id job.ID, user string, f func(job.Run)) error {
	for _, r := range w.AllRuns() {
		if r.State == job.RunEnded && r.Job == id && r.User == user {
			f(r)
			break
		}
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

// Newest does what store.Store.Newest does.
func (w *World) Newest(_ context.Context, jobs []job.ID, n int, f func(*job.Run)) error {
	seen := map[job.ID]int{}
	for _, r := range w.AllRuns() {
		if seen[r.Job]++; slices.Contains(jobs, r.Job) && seen[r.Job] <= n {
			f(&r)
		}
	}
	return w.Broken
}

// Between does what store.Store.Between does.
func (w *World) Between(_ context.Context, jobs []job.ID, from, to time.Time, n int, f func(*job.Run)) error {
	for _, r := range w.AllRuns() {
		if slices.Contains(jobs, r.Job) && !r.Decided.Before(from) && r.Decided.Before(to) && n > 0 {
			n--
			f(&r)
		}
	}
	return w.Broken
}

// Starts does what store.Store.Starts does.
func (w *World) Starts(_ context.Context, user string, from, to time.Time, parts int) ([]int, error) {
	starts := make([]int, parts)
	for _, r := range w.AllRuns() {
		if !r.Started.IsZero() && !r.Started.Before(from) && r.Started.Before(to) && (user == "" || r.User == user) {
			starts[int(r.Started.Sub(from)*time.Duration(parts)/to.Sub(from))]++
		}
	}
	return starts, w.Broken
}

// LastBefore does what store.Store.LastBefore does.
func (w *World) LastBefore(_ context.Context, jobs []job.ID, t time.Time, f func(*job.Run)) error {
	seen := map[job.ID]bool{}
	for _, r := range w.AllRuns() {
		if slices.Contains(jobs, r.Job) && r.Decided.Before(t) && !seen[r.Job] {
			seen[r.Job] = true
			f(&r)
		}
	}
	return w.Broken
}

// Skips does what store.Store.Skips does.
func (w *World) Skips(_ context.Context, jobs []job.ID, from, to time.Time, n int, f func(job.Record)) error {
	seen := map[job.ID]int{}
	for _, r := range slices.Backward(w.Facts()) {
		if r.Kind != job.Decided || r.Run != nil || !slices.Contains(jobs, r.Job) || r.Due.Before(from) || !r.Due.Before(to) {
			continue
		}
		if seen[r.Job]++; seen[r.Job] <= n {
			f(r)
		}
	}
	return w.Broken
}

// JobNumbers does what store.Store.JobNumbers does.
func (w *World) JobNumbers(context.Context) (jobs []job.ID, err error) {
	for _, r := range w.Facts() {
		if !slices.Contains(jobs, r.Job) {
			jobs = append(jobs, r.Job)
		}
	}
	return jobs, w.Broken
}

// Samples does what store.Store.Samples does.
func (w *World) Samples(ctx context.Context, jobs []job.ID, from, to time.Time, n int, f func(*statistics.Sample)) error {
	names, _ := w.JobNumbers(ctx)
	if jobs == nil {
		jobs = names
	}
	nanos := func(t time.Time) int64 {
		if t.IsZero() {
			return statistics.NoTime
		}
		return t.UnixNano()
	}
	return w.Between(ctx, jobs, from, to, n, func(r *job.Run) {
		f(&statistics.Sample{
			ID: r.ID, Number: slices.Index(names, r.Job), Due: nanos(r.Due), Decided: nanos(r.Decided), Started: nanos(r.Started), Ended: nanos(r.Ended),
			Kind: &statistics.SampleKind{User: r.User, Trigger: r.Trigger, State: r.State, Outcome: r.Outcome.Kind, Verdict: r.Verdict},
			Code: r.Outcome.Code, CPU: r.Usage.CPU, Memory: r.Usage.Memory,
		})
	})
}

// SkipSamples does what store.Store.SkipSamples does.
func (w *World) SkipSamples(ctx context.Context, from, to time.Time, f func(*statistics.SkipSample)) error {
	names, _ := w.JobNumbers(ctx)
	return w.SkipsBetween(ctx, from, to, math.MaxInt, func(r job.Record) {
		f(&statistics.SkipSample{Number: slices.Index(names, r.Job), Due: r.Due.UnixNano(), At: r.At.UnixNano(), Count: max(1, r.Count)})
	})
}

// SkipsFrom does what store.Store.SkipsFrom does.
func (w *World) SkipsFrom(ctx context.Context, from, to time.Time, n int) (time.Time, error) {
	var times []time.Time
	if err := w.SkipsBetween(ctx, from, to, math.MaxInt, func(r job.Record) { times = append(times, r.At) }); err != nil || len(times) <= n {
		return from, err
	}
	slices.SortFunc(times, func(a, b time.Time) int { return b.Compare(a) })
	return times[n].Add(1), nil
}

// SkipsBetween does what store.Store.SkipsBetween does.
func (w *World) SkipsBetween(_ context.Context, from, to time.Time, n int, f func(job.Record)) error {
	for _, r := range w.Facts() {
		if r.Kind == job.Decided && r.Run == nil && !r.At.Before(from) && r.At.Before(to) && n > 0 {
			n--
			f(r)
		}
	}
	return w.Broken
}

// Decisions does what store.Store.Decisions does.
func (w *World) Decisions(_ context.Context, id job.ID, from, to time.Time, limit int) ([]job.Record, error) {
	var found []job.Record
	for _, r := range w.Facts() {
		if r.DecidesOccurrence() && r.Job == id && !r.Due.Before(from) && r.Due.Before(to) {
			found = append(found, w.updated(r))
		}
	}
	return found[max(0, len(found)-limit):], w.Broken
}

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
	for _, r := range w.Facts() {
		if r.Run == nil && r.Kind != job.Decided && !r.At.Before(from) && r.At.Before(to) {
			found = append(found, r)
		}
	}
	return found[:min(len(found), limit)], w.Broken
}

// Doubles does what store.Store.Doubles does.
func (w *World) Doubles(_ context.Context, since time.Time, f func(id job.ID, due time.Time, where string)) error {
	for _, r := range w.Facts() {
		if r.Kind == job.Doubled && !r.At.Before(since) {
			f(r.Job, r.Due, r.Detail)
		}
	}
	return w.Broken
}

// Output does what store.Store.Output does.
func (w *World) Output(_ context.Context, id job.RunID) ([]job.Chunk, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clip(w.Chunks[id]), w.Broken
}

// Lives does what store.Store.Lives does.
func (w *World) Lives(_ context.Context, from, to time.Time) ([]store.Life, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.lives), w.Broken
}

func stateKey(id job.ID, user, key string) string { return string(id) + "/" + user + "/" + key }

// State does what store.Store.State does.
func (w *World) State(_ context.Context, id job.ID, user, key string) ([]byte, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	value, ok := w.states[stateKey(id, user, key)]
	return []byte(value), ok, w.Broken
}

// States does what store.Store.States does.
func (w *World) States(_ context.Context, id job.ID, user string) (all []state.Entry, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, path := range slices.Sorted(maps.Keys(w.states)) {
		if key, ok := strings.CutPrefix(path, stateKey(id, user, "")); ok {
			all = append(all, state.Entry{Key: key, Size: len(w.states[path]), At: w.now})
		}
	}
	return all, w.Broken
}

// SetState does what store.Store.SetState does.
func (w *World) SetState(_ context.Context, id job.ID, user, key string, value []byte, _ time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.states == nil {
		w.states = map[string]string{}
	}
	w.states[stateKey(id, user, key)] = string(value)
	return w.Broken
}

// DeleteState does what store.Store.DeleteState does.
func (w *World) DeleteState(_ context.Context, id job.ID, user, key string) (bool, error) {
	path := stateKey(id, user, key)
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.states[path]
	delete(w.states, path)
	return ok, w.Broken
}

// Emissions returns the events that a user has emitted.
func (w *World) Emissions(_ context.Context, user string) ([]job.Emission, error) {
	all := []job.Emission{}
	for _, r := range w.Facts() {
		if r.Kind != job.Emitted || user != "" && user != r.User {
			continue
		}
		e := job.Emission{User: r.User, Name: r.Detail, Times: 1, Last: r.At}
		if i := slices.IndexFunc(all, func(x job.Emission) bool { return x.User == e.User && x.Name == e.Name }); i >= 0 {
			e.Times += all[i].Times
			all = slices.Delete(all, i, i+1)
		}
		all = slices.Insert(all, 0, e)
	}
	return all, nil
}

// DeadLetters does what store.Store.DeadLetters does.
func (w *World) DeadLetters(_ context.Context, of store.Of) ([]store.DeadLetter, error) {
	found := w.letters(of)
	for i := range found {
		found[i].Run.Env = nil
	}
	return found[:min(len(found), of.Limit)], w.Broken
}

// letters returns the dead letters, which it derives from the facts as the store does.
func (w *World) letters(of store.Of) []store.DeadLetter {
	var found []store.DeadLetter
	for _, r := range w.Facts() {
		switch {
		case r.Run == nil:
		case (r.Kind == job.Ended || r.Kind == job.Dropped) && r.Run.Verdict == job.VerdictDead:
			if (of.Jobs == nil || slices.Contains(of.Jobs, r.Job)) && (of.User == "" || of.User == r.Run.User) {
				found = slices.Insert(found, 0, store.DeadLetter{Run: *r.Run, At: r.At, Why: r.Detail})
			}
		case r.Kind == job.Redrove || r.Kind == job.Buried:
			found = slices.DeleteFunc(found, func(l store.DeadLetter) bool { return l.Run.ID == r.Run.ID })
		}
	}
	return found
}

// DeadLetter does what store.Store.DeadLetter does.
func (w *World) DeadLetter(_ context.Context, id job.RunID) (store.DeadLetter, bool, error) {
	all := w.letters(store.Of{})
	i := slices.IndexFunc(all, func(l store.DeadLetter) bool { return l.Run.ID == id })
	if i < 0 {
		return store.DeadLetter{}, false, w.Broken
	}
	return all[i], true, w.Broken
}

// Failures does what store.Store.Failures does.
func (w *World) Failures(_ context.Context, of statistics.FailuresOf, f func(*statistics.Failures)) (runs int, older bool, err error) {
	for _, r := range w.AllRuns() {
		if r.Failed() && (of.User == "" || r.User == of.User) && of.Sees(r.Job, r.User) && !r.Decided.Before(of.From) && r.Decided.Before(of.To) {
			part := int(r.Ended.Sub(of.From) * time.Duration(of.Parts) / of.To.Sub(of.From))
			f(&statistics.Failures{Newest: r, Part: part, Count: 1, First: r.Ended, Last: r.Ended})
			runs++
		}
	}
	return runs, false, w.Broken
}

// Totals does what store.Store.Totals does.
func (w *World) Totals(context.Context, time.Time) (statistics.Totals, error) {
	var t statistics.Totals
	for _, r := range w.AllRuns() {
		switch {
		case r.Outcome.OK():
			t.OK++
		case !r.Outcome.IsZero():
			t.Failed++
		}
	}
	return t, w.Broken
}

// Backfills does what store.Store.Backfills does.
func (w *World) Backfills(_ context.Context, of store.Of) (found []job.Backfill, err error) {
	seen := map[int64]bool{}
	for _, r := range slices.Backward(w.Facts()) {
		if b := r.Backfill; r.Kind == job.Filled && !seen[b.ID] && (of.Jobs == nil || slices.Contains(of.Jobs, b.Job)) && (of.User == "" || of.User == b.User) {
			seen[b.ID] = true
			found = append(found, *b)
		}
	}
	return found, w.Broken
}

// Ran does what store.Store.Ran does.
func (w *World) Ran(_ context.Context, id job.ID, user string, from, to time.Time) (map[int64]job.Verdict, error) {
	ran := map[int64]job.Verdict{}
	for _, r := range slices.Backward(w.AllRuns()) {
		if r.Job == id && r.User == user && !r.Due.Before(from) && !r.Due.After(to) {
			ran[r.Due.UnixNano()] = r.Verdict
		}
	}
	return ran, w.Broken
}

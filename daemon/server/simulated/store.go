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

// The methods of the server's Store search the facts themselves, from end to end. They return what
// those of package store return for the same facts, unless the clock was set back:
// TestQueriesAnswerAsThoseOfTheHistory compares them. They do not enforce limits on values, events and
// texts, and the size, the check and the backup of the history are invented. All fail with Broken.
//
// A real history would need a directory, and the demo would need almost three times as long to start:
// 0.5 s instead of 0.2 s.

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

// Output does what store.Store.Output does.
func (w *World) Output(ctx context.Context, id job.RunID) ([]job.Chunk, error) {
	run, ok, _ := w.Run(ctx, id)
	if !ok {
		return nil, w.Broken
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	chunks := slices.Clone(w.Chunks[id])
	for i := range chunks {
		chunks[i].Job, chunks[i].User = run.Job, ""
	}
	return chunks, w.Broken
}

// Lives does what store.Store.Lives does, as if everything had been committed now.
func (w *World) Lives(_ context.Context, from, to time.Time) ([]store.Life, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	lives := slices.Clone(w.lives)
	lives[len(lives)-1].LastSeen = w.now
	return slices.DeleteFunc(lives, func(l store.Life) bool { return l.LastSeen.Before(from) || l.Up.After(to) }), w.Broken
}

// kept is a value that a job keeps.
type kept struct {
	value []byte
	at    time.Time
}

func stateKey(id job.ID, user, key string) string { return string(id) + "/" + user + "/" + key }

// State does what store.Store.State does.
func (w *World) State(_ context.Context, id job.ID, user, key string) ([]byte, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k, ok := w.states[stateKey(id, user, key)]
	return k.value, ok, w.Broken
}

// States does what store.Store.States does.
func (w *World) States(_ context.Context, id job.ID, user string) (all []state.Entry, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, path := range slices.Sorted(maps.Keys(w.states)) {
		if key, ok := strings.CutPrefix(path, stateKey(id, user, "")); ok {
			all = append(all, state.Entry{Key: key, Size: len(w.states[path].value), At: w.states[path].at})
		}
	}
	return all, w.Broken
}

// SetState does what store.Store.SetState does.
func (w *World) SetState(_ context.Context, id job.ID, user, key string, value []byte, now time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.states[stateKey(id, user, key)] = kept{slices.Clone(value), now}
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

// Emissions does what store.Store.Emissions does.
func (w *World) Emissions(_ context.Context, user string) ([]job.Emission, error) {
	type event struct{ user, name string }
	emitted := map[event]job.Emission{}
	for _, r := range w.Facts() {
		if r.Kind == job.Emitted && (user == "" || user == r.User) {
			e := event{r.User, r.Detail.Words()}
			emitted[e] = job.Emission{User: r.User, Name: e.name, Times: emitted[e].Times + 1, Last: r.At}
		}
	}
	all := slices.AppendSeq([]job.Emission{}, maps.Values(emitted))
	slices.SortFunc(all, func(a, b job.Emission) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.User, b.User), cmp.Compare(a.Name, b.Name))
	})
	return all, w.Broken
}

// DeadLetters does what store.Store.DeadLetters does.
func (w *World) DeadLetters(_ context.Context, of store.Of) ([]store.DeadLetter, error) {
	found := w.letters()
	found = slices.DeleteFunc(found, func(l store.DeadLetter) bool { return !chooses(of, l.Run.Job, l.Run.User) })
	for i := range found {
		found[i].Run.Env = nil
	}
	return found[:min(len(found), cmp.Or(of.Limit, 100))], w.Broken
}

// chooses reports whether of chooses what belongs to a user's job.
func chooses(of store.Of, id job.ID, user string) bool {
	return (of.Jobs == nil || slices.Contains(of.Jobs, id)) && (of.User == "" || of.User == user)
}

// letters returns the dead letters, newest run first.
func (w *World) letters() []store.DeadLetter {
	letters := map[job.RunID]store.DeadLetter{}
	for _, r := range w.Facts() {
		switch {
		case r.Run == nil:
		case (r.Kind == job.Ended || r.Kind == job.Dropped) && r.Run.Verdict == job.VerdictDead:
			letters[r.Run.ID] = store.DeadLetter{Run: *w.updated(r).Run, At: r.At, Why: r.Detail}
		case r.Kind == job.Redrove || r.Kind == job.Buried:
			delete(letters, r.Run.ID)
		}
	}
	return slices.SortedFunc(maps.Values(letters), func(a, b store.DeadLetter) int { return cmp.Compare(b.Run.ID, a.Run.ID) })
}

// DeadLetter does what store.Store.DeadLetter does.
func (w *World) DeadLetter(_ context.Context, id job.RunID) (store.DeadLetter, bool, error) {
	all := w.letters()
	i := slices.IndexFunc(all, func(l store.DeadLetter) bool { return l.Run.ID == id })
	if i < 0 {
		return store.DeadLetter{}, false, w.Broken
	}
	return all[i], true, w.Broken
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

// Backfills does what store.Store.Backfills does.
func (w *World) Backfills(_ context.Context, of store.Of) ([]job.Backfill, error) {
	newest := map[int64]job.Backfill{}
	for _, r := range w.Facts() {
		if b := r.Backfill; r.Kind == job.Filled && chooses(of, b.Job, b.User) {
			newest[b.ID] = *b
		}
	}
	found := slices.SortedFunc(maps.Values(newest), func(a, b job.Backfill) int { return cmp.Compare(b.ID, a.ID) })
	return found[:min(len(found), cmp.Or(of.Limit, 100))], w.Broken
}

// Ran does what store.Store.Ran does.
func (w *World) Ran(_ context.Context, id job.ID, user string, from, to time.Time) (map[int64]job.Verdict, error) {
	ran := map[int64]job.Verdict{}
	for _, r := range slices.Backward(w.AllRuns()) {
		due := r.Due.UnixNano()
		switch {
		case r.Job != id || r.User != user || !within(r.Due, from, to.Add(1)):
		case r.State != job.RunDropped || r.Verdict != "":
			ran[due] = r.Verdict
		case ran[due] == job.VerdictRetry:
			ran[due] = job.VerdictFail
		}
	}
	return ran, w.Broken
}

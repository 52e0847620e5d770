package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/servertest"
	"github.com/cronring/cronring/daemon/store"
	"github.com/cronring/cronring/daemon/store/database"
	"github.com/cronring/cronring/daemon/store/state"
	"github.com/cronring/cronring/daemon/store/statistics"
)

// world is a servertest.World with a store that searches its facts.
type world struct {
	*servertest.World
	t testing.TB

	// A test sets these before its first request, or while no request is active.
	broken   error     // of the store
	crontabs *Crontabs // nil: a daemon that was given its files by name
	ring     *fakeRing // nil: the host is in none

	mu     sync.Mutex
	states map[string]string // by job, account and key
}

const firstUp = "2026-11-20T00:00:00Z"

// newWorld has the entries of a system crontab loaded and begins at firstUp.
func newWorld(t *testing.T, file string) *world {
	t.Helper()
	w := emptyWorld(t)
	w.Load(file)
	return w
}

func emptyWorld(t testing.TB) *world {
	t.Helper()
	return &world{World: servertest.New(t, firstUp), t: t}
}

func instant(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func (w *world) Ring() Ring {
	if w.ring == nil {
		return nil
	}
	return w.ring
}

// ---- Store: the facts themselves, searched from end to end

// allRuns returns each run in its newest record, newest first.
func (w *world) allRuns() []job.Run {
	latest := map[job.RunID]job.Run{}
	for _, r := range w.Facts() {
		if r.Run != nil {
			latest[r.Run.ID] = *r.Run
		}
	}
	var runs []job.Run
	for _, r := range latest {
		runs = append(runs, r)
	}
	slices.SortFunc(runs, func(a, b job.Run) int { return cmp.Compare(b.ID, a.ID) })
	return runs
}

func (w *world) Sizes(context.Context) (database.Sizes, error) {
	return database.Sizes{Path: "db"}, nil
}
func (w *world) Bytes() int64                                             { return 4096 }
func (w *world) Check(context.Context) ([]string, error)                  { return nil, nil }
func (w *world) Backup(context.Context, time.Time) (string, int64, error) { return "copy", 1, nil }

func (w *world) Run(_ context.Context, id job.RunID) (job.Run, bool, error) {
	for _, r := range w.allRuns() {
		if r.ID == id {
			return r, true, w.broken
		}
	}
	return job.Run{}, false, w.broken
}

func (w *world) Runs(_ context.Context, f store.Filter) ([]job.Run, error) {
	var runs []job.Run
	for _, r := range w.allRuns() {
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
	return runs[:min(len(runs), cmp.Or(f.Limit, 100))], w.broken
}

func (w *world) Numbered(_ context.Context, ids []job.RunID, f func(job.Run)) error {
	for _, r := range w.allRuns() {
		if slices.Contains(ids, r.ID) {
			f(r)
		}
	}
	return w.broken
}

func (w *world) Recent(_ context.Context, jobs []job.ID, n int) (map[job.ID][]job.Run, error) {
	recent := map[job.ID][]job.Run{}
	for _, r := range w.allRuns() {
		if slices.Contains(jobs, r.Job) && len(recent[r.Job]) < n {
			recent[r.Job] = append(recent[r.Job], r)
		}
	}
	return recent, w.broken
}

func (w *world) Ended(_ context.Context, jobs []job.ID, n int) (map[job.ID][]job.Run, error) {
	ended := map[job.ID][]job.Run{}
	for _, r := range w.allRuns() {
		if r.State == job.RunEnded && slices.Contains(jobs, r.Job) && len(ended[r.Job]) < n {
			ended[r.Job] = append(ended[r.Job], r)
		}
	}
	return ended, w.broken
}

func (w *world) Last(_ context.Context, f func(job.Run)) error {
	seen := map[job.ID]bool{}
	for _, r := range w.allRuns() {
		if r.State == job.RunEnded && !seen[r.Job] {
			seen[r.Job] = true
			f(r)
		}
	}
	return w.broken
}

func (w *world) LastOf(ctx context.Context, jobs []job.ID, f func(job.Run)) error {
	return w.Last(ctx, func(r job.Run) {
		if slices.Contains(jobs, r.Job) {
			f(r)
		}
	})
}

func (w *world) LastBy(_ context.Context, id job.ID, user string, f func(job.Run)) error {
	for _, r := range w.allRuns() {
		if r.State == job.RunEnded && r.Job == id && r.User == user {
			f(r)
			break
		}
	}
	return w.broken
}

func (w *world) Streaks(_ context.Context, f func(l job.Ledger)) error {
	for _, l := range w.Ledgers() {
		if l.Bad > 0 || l.Verdict != job.VerdictOK {
			f(job.Ledger{Job: l.Job, User: l.User, Bad: l.Bad, Success: l.Success})
		}
	}
	return w.broken
}

func (w *world) Newest(_ context.Context, jobs []job.ID, n int, f func(*job.Run)) error {
	seen := map[job.ID]int{}
	for _, r := range w.allRuns() {
		if seen[r.Job]++; slices.Contains(jobs, r.Job) && seen[r.Job] <= n {
			f(&r)
		}
	}
	return w.broken
}

func (w *world) Between(_ context.Context, jobs []job.ID, from, to time.Time, n int, f func(*job.Run)) error {
	for _, r := range w.allRuns() {
		if slices.Contains(jobs, r.Job) && !r.Decided.Before(from) && r.Decided.Before(to) && n > 0 {
			n--
			f(&r)
		}
	}
	return w.broken
}

func (w *world) Starts(_ context.Context, user string, from, to time.Time, parts int) ([]int, error) {
	starts := make([]int, parts)
	for _, r := range w.allRuns() {
		if !r.Started.IsZero() && !r.Started.Before(from) && r.Started.Before(to) && (user == "" || r.User == user) {
			starts[int(r.Started.Sub(from)*time.Duration(parts)/to.Sub(from))]++
		}
	}
	return starts, w.broken
}

func (w *world) LastBefore(_ context.Context, jobs []job.ID, t time.Time, f func(*job.Run)) error {
	seen := map[job.ID]bool{}
	for _, r := range w.allRuns() {
		if slices.Contains(jobs, r.Job) && r.Decided.Before(t) && !seen[r.Job] {
			seen[r.Job] = true
			f(&r)
		}
	}
	return w.broken
}

func (w *world) Skips(_ context.Context, jobs []job.ID, from, to time.Time, n int, f func(job.Record)) error {
	seen := map[job.ID]int{}
	for _, r := range slices.Backward(w.Facts()) {
		if r.Kind != job.Decided || r.Run != nil || !slices.Contains(jobs, r.Job) || r.Due.Before(from) || !r.Due.Before(to) {
			continue
		}
		if seen[r.Job]++; seen[r.Job] <= n {
			f(r)
		}
	}
	return w.broken
}

func (w *world) JobNumbers(context.Context) (jobs []job.ID, err error) {
	for _, r := range w.Facts() {
		if !slices.Contains(jobs, r.Job) {
			jobs = append(jobs, r.Job)
		}
	}
	return jobs, w.broken
}

func (w *world) Samples(ctx context.Context, jobs []job.ID, from, to time.Time, n int, f func(*statistics.Sample)) error {
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

func (w *world) SkipSamples(ctx context.Context, from, to time.Time, f func(*statistics.SkipSample)) error {
	names, _ := w.JobNumbers(ctx)
	return w.SkipsBetween(ctx, from, to, math.MaxInt, func(r job.Record) {
		f(&statistics.SkipSample{Number: slices.Index(names, r.Job), Due: r.Due.UnixNano(), At: r.At.UnixNano(), Count: max(1, r.Count)})
	})
}

func (w *world) SkipsFrom(ctx context.Context, from, to time.Time, n int) (time.Time, error) {
	var times []time.Time
	if err := w.SkipsBetween(ctx, from, to, math.MaxInt, func(r job.Record) { times = append(times, r.At) }); err != nil || len(times) <= n {
		return from, err
	}
	slices.SortFunc(times, func(a, b time.Time) int { return b.Compare(a) })
	return times[n].Add(1), nil
}

func (w *world) SkipsBetween(_ context.Context, from, to time.Time, n int, f func(job.Record)) error {
	for _, r := range w.Facts() {
		if r.Kind == job.Decided && r.Run == nil && !r.At.Before(from) && r.At.Before(to) && n > 0 {
			n--
			f(r)
		}
	}
	return w.broken
}

func (w *world) Decisions(_ context.Context, id job.ID, from, to time.Time, limit int) ([]job.Record, error) {
	var found []job.Record
	for _, r := range w.Facts() {
		if r.DecidesOccurrence() && r.Job == id && !r.Due.Before(from) && r.Due.Before(to) {
			found = append(found, w.updated(r))
		}
	}
	return found[max(0, len(found)-limit):], w.broken
}

func (w *world) updated(r job.Record) job.Record {
	if r.Run != nil {
		run, _, _ := w.Run(context.Background(), r.Run.ID)
		r.Run = &run
	}
	return r
}

func (w *world) DecisionAt(_ context.Context, id job.ID, due time.Time) (found job.Record, ok bool, err error) {
	for _, r := range w.Facts() {
		if r.DecidesOccurrence() && r.Job == id && !due.After(r.Due) && (r.Due.Equal(due) || r.Count > 1 && !due.Before(r.First)) {
			found, ok = w.updated(r), true
		}
	}
	return found, ok, w.broken
}

func (w *world) Records(_ context.Context, from, to time.Time, limit int) ([]job.Record, error) {
	var found []job.Record
	for _, r := range w.Facts() {
		if r.Run == nil && r.Kind != job.Decided && !r.At.Before(from) && r.At.Before(to) {
			found = append(found, r)
		}
	}
	return found[:min(len(found), limit)], w.broken
}

func (w *world) Doubles(_ context.Context, since time.Time, f func(id job.ID, detail string)) error {
	for _, r := range w.Facts() {
		if r.Kind == job.Doubled && !r.At.Before(since) {
			f(r.Job, r.Detail)
		}
	}
	return w.broken
}

func (w *world) Output(_ context.Context, id job.RunID) ([]job.Chunk, error) {
	return w.Chunks[id], w.broken
}

func (w *world) Lives(_ context.Context, from, to time.Time) ([]store.Life, error) {
	return w.DaemonLives(), w.broken
}

func stateKey(id job.ID, user, key string) string { return string(id) + "/" + user + "/" + key }

func (w *world) State(_ context.Context, id job.ID, user, key string) ([]byte, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	value, ok := w.states[stateKey(id, user, key)]
	return []byte(value), ok, w.broken
}

func (w *world) States(_ context.Context, id job.ID, user string) (all []state.Entry, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, path := range slices.Sorted(maps.Keys(w.states)) {
		if key, ok := strings.CutPrefix(path, stateKey(id, user, "")); ok {
			all = append(all, state.Entry{Key: key, Size: len(w.states[path]), At: w.Now()})
		}
	}
	return all, w.broken
}

func (w *world) SetState(_ context.Context, id job.ID, user, key string, value []byte, _ time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.states == nil {
		w.states = map[string]string{}
	}
	w.states[stateKey(id, user, key)] = string(value)
	return w.broken
}

func (w *world) DeleteState(_ context.Context, id job.ID, user, key string) (bool, error) {
	path := stateKey(id, user, key)
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.states[path]
	delete(w.states, path)
	return ok, w.broken
}

// Letters and Letter know the dead letters from the facts, as the store does.
func (w *world) Letters(_ context.Context, of store.Of) ([]store.Letter, error) {
	var found []store.Letter
	for _, r := range w.Facts() {
		switch {
		case r.Run == nil:
		case (r.Kind == job.Ended || r.Kind == job.Dropped) && r.Run.Verdict == job.VerdictDead:
			if (of.Jobs == nil || slices.Contains(of.Jobs, r.Job)) && (of.User == "" || of.User == r.Run.User) {
				found = slices.Insert(found, 0, store.Letter{Run: *r.Run, At: r.At, Why: r.Detail})
			}
		case r.Kind == job.Redrove || r.Kind == job.Buried:
			found = slices.DeleteFunc(found, func(l store.Letter) bool { return l.Run.ID == r.Run.ID })
		}
	}
	return found[:min(len(found), of.Limit)], w.broken
}

func (w *world) Letter(ctx context.Context, id job.RunID) (store.Letter, bool, error) {
	all, err := w.Letters(ctx, store.Of{Limit: 1000})
	i := slices.IndexFunc(all, func(l store.Letter) bool { return l.Run.ID == id })
	if i < 0 {
		return store.Letter{}, false, err
	}
	return all[i], true, err
}

func (w *world) Totals(context.Context, time.Time) (statistics.Totals, error) {
	var t statistics.Totals
	for _, r := range w.allRuns() {
		switch {
		case r.Outcome.OK():
			t.OK++
		case !r.Outcome.IsZero():
			t.Failed++
		}
	}
	return t, w.broken
}

func (w *world) Backfills(_ context.Context, of store.Of) (found []job.Backfill, err error) {
	seen := map[int64]bool{}
	for _, r := range slices.Backward(w.Facts()) {
		if b := r.Backfill; r.Kind == job.Filled && !seen[b.ID] && (of.Jobs == nil || slices.Contains(of.Jobs, b.Job)) && (of.User == "" || of.User == b.User) {
			seen[b.ID] = true
			found = append(found, *b)
		}
	}
	return found, w.broken
}

func (w *world) Ran(_ context.Context, id job.ID, user string, from, to time.Time) (map[int64]job.Verdict, error) {
	ran := map[int64]job.Verdict{}
	for _, r := range slices.Backward(w.allRuns()) {
		if r.Job == id && r.User == user && !r.Due.Before(from) && !r.Due.After(to) {
			ran[r.Due.UnixNano()] = r.Verdict
		}
	}
	return ran, w.broken
}

// ---- serving

const ( // uids of the accounts in the tests
	annUID  = 20001
	bobUID  = 20002
	noneUID = 20004 // no account
)

// selfUID is the user of the tests' daemon. caller is the user who runs the tests and calls over
// real sockets: root, or else the daemon's own user.
var selfUID, caller = func() (uint32, string) {
	if uid := os.Geteuid(); uid != 0 {
		return uint32(uid), "cronring"
	}
	return 20003, "root"
}()

func accountName(uid uint32) (string, error) {
	if name, ok := map[uint32]string{0: "root", annUID: "ann", bobUID: "bob", selfUID: "cronring"}[uid]; ok {
		return name, nil
	}
	return "", errors.New("no such uid")
}

// patience is how long a test waits for an event before it fails. No passing test waits that long.
const patience = time.Minute

// await returns the next value of a channel, and fails the test after patience.
func await[T any](t testing.TB, what string, from <-chan T) T {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(patience):
		t.Fatalf("waited %s for %s, which did not come", patience, what)
	}
	var none T
	return none
}

// awaitSubscriber returns when what a test asked for is subscribed to. It ends the
// test when that is over before.
func awaitSubscriber[T any](t testing.TB, w *world, over <-chan T) {
	t.Helper()
	select {
	case <-w.Subscribed:
	case got := <-over:
		t.Fatalf("it was over before it subscribed to what happens: %+v", got)
	case <-time.After(patience):
		t.Fatalf("waited %s for a subscriber, who did not come", patience)
	}
}

// patient is a context for work that continues until a test has seen enough.
func patient(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, errors.New("the test has waited for "+patience.String()))
	t.Cleanup(cancel)
	return ctx
}

func (w *world) server() *Server { return w.serverOf(w) }

func (w *world) serverOf(s Store) *Server {
	return New(Options{
		Backend: w, Store: s, Now: w.Now,
		SelfUID: selfUID, Account: accountName, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Crontabs: w.crontabs,
	})
}

// serve answers on a real socket until the test ends, and returns its path.
func (w *world) serve() string { return w.serveStore(w) }

func (w *world) serveStore(s Store) string { return w.serveServer(w.serverOf(s)) }

// serveServer does so with a server of the test's.
func (w *world) serveServer(s *Server) string {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), "s")
	l, err := Listen(path)
	if err != nil {
		w.t.Fatal(err)
	}
	w.serveOn(l, s)
	return path
}

// serveOn takes a server that is made, as a daemon makes its own before the loop
// runs: one made in the goroutine would have missed what the test does next.
func (w *world) serveOn(l net.Listener, s *Server) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	stop = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(patience):
			return fmt.Errorf("it still serves %s after its end", patience)
		}
	})
	w.t.Cleanup(func() {
		if err := stop(); err != nil {
			w.t.Errorf("Serve: %v", err)
		}
	})
	return stop
}

func (w *world) client() *api.Client {
	c := api.Dial(w.serve())
	w.t.Cleanup(c.Close)
	return c
}

func pauseOf(id job.ID) event.Event {
	return event.Pause{Job: id, Hold: job.Hold{By: "root"}}
}

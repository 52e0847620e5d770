package simulated

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store"
	"github.com/cronring/cronring/daemon/store/state"
)

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

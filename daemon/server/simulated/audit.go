package simulated

import (
	"cmp"
	"context"
	"slices"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/audit"
)

// Audit keeps actions.
func (w *World) Audit(_ context.Context, actions []job.Action) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range actions {
		a.ID = int64(len(w.actions) + 1)
		w.actions = append(w.actions, a)
	}
}

// Audited returns all actions, oldest first.
func (w *World) Audited() []job.Action {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clip(w.actions)
}

// Actions does what audit.Log.Actions does.
func (w *World) Actions(_ context.Context, f audit.Filter) ([]job.Action, error) {
	found := []job.Action{}
	for _, a := range slices.Backward(w.Audited()) {
		own := a.Owner == f.User || a.Share == audit.Share(f.UID) && a.Who == f.User
		switch {
		case f.User != "" && !own, f.Jobs != nil && !slices.Contains(f.Jobs, job.ID(a.Subject)), f.What != "" && f.What != a.What,
			f.Before != 0 && a.ID >= f.Before, !f.Since.IsZero() && a.At.Before(f.Since), !f.Until.IsZero() && !a.At.Before(f.Until):
			continue
		}
		a.Share = ""
		found = append(found, a)
	}
	return found[:min(len(found), cmp.Or(f.Limit, 100))], w.Broken
}

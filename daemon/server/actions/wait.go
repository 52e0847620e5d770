package actions

import (
	"context"
	"fmt"
	"slices"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/lookup"
	"github.com/cronring/cronring/daemon/store"
)

// begin starts runs and, with wait, returns them as they are after their last attempt. It
// subscribes before they start, so that no end is missed.
func (s *Actor) begin(ctx context.Context, c *call.Call, wait bool, start func() ([]job.Run, error)) ([]job.Run, error) {
	if !wait {
		return start()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := s.daemon.Subscribe(ctx)
	runs, err := start()
	if err != nil {
		return nil, err
	}
	c.End()
	return s.await(ctx, c, events, runs)
}

// await returns runs as they are after their last attempt. events must have been subscribed to
// before the request.
func (s *Actor) await(ctx context.Context, c *call.Call, events <-chan api.Event, runs []job.Run) ([]job.Run, error) {
	left := len(runs)
	settled := make([]bool, len(runs))
	for left > 0 {
		e, ok := <-events
		if !ok {
			return nil, stoppedWaiting(ctx)
		}
		for i := range runs {
			if settled[i] || !concerns(e, runs[i]) || s.goesOn(runs[i]) {
				continue
			}
			runs[i], settled[i] = s.lastAttempt(ctx, c, e, runs[i]), true
			left--
		}
	}
	return runs, nil
}

func stoppedWaiting(ctx context.Context) error {
	if ctx.Err() != nil {
		return fmt.Errorf("wait for runs: %w", context.Cause(ctx))
	}
	return &api.Error{
		Kind: api.Conflict, What: "cannot wait for runs any longer: the daemon is stopping",
		Why: "what becomes of them is in the history when it is up again", Fix: "cronring history",
	}
}

// concerns reports whether an event can be the end of a run: its record, or a gap that may hide
// one.
func concerns(e api.Event, r job.Run) bool {
	if e.Gap != nil {
		return true
	}
	return e.Record != nil && e.Record.Run != nil && !e.Record.Run.State.Live() && e.Record.Run.Invocation == r.Invocation
}

// goesOn reports whether an attempt at a run is live.
func (s *Actor) goesOn(r job.Run) bool {
	return slices.ContainsFunc(s.daemon.View().Runs(), func(other job.Run) bool { return other.Invocation == r.Invocation })
}

// lastAttempt returns the newest attempt at a run without live attempts. The event can be older:
// attempts may have followed. The store has the newest one, unless its disk is full; then the event
// is used.
func (s *Actor) lastAttempt(ctx context.Context, c *call.Call, e api.Event, r job.Run) job.Run {
	if e.Gap == nil {
		r = *e.Record.Run
	}
	f := store.Filter{Jobs: []job.ID{r.Job}, Since: r.Decided, Limit: lookup.MaxRows}
	for newest, err := range s.find.EachRun(ctx, c, f) {
		if err != nil || newest.Invocation == r.Invocation {
			if err == nil && (newest.ID > r.ID || e.Gap != nil) {
				return newest
			}
			break
		}
	}
	return r
}

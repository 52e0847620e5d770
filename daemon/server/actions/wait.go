package actions

import (
	"context"
	"fmt"

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
	pending := map[string][]int{} // numbers in runs, by invocation
	for i := range runs {
		pending[runs[i].Invocation] = append(pending[runs[i].Invocation], i)
	}
	for len(pending) > 0 {
		e, ok := <-events
		if !ok {
			return nil, stoppedWaiting(ctx)
		}
		for invocation := range s.over(e, pending) {
			for _, i := range pending[invocation] {
				runs[i] = s.lastAttempt(ctx, c, e, runs[i])
			}
			delete(pending, invocation)
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

// over returns the pending invocations without a live attempt that an event can be the end of: that of
// its record, or all after a gap, which may hide their records.
func (s *Actor) over(e api.Event, pending map[string][]int) map[string]bool {
	over := map[string]bool{}
	switch {
	case e.Gap != nil:
		for invocation := range pending {
			over[invocation] = true
		}
	case e.Record != nil && e.Record.Run != nil && !e.Record.Run.State.Live() && pending[e.Record.Run.Invocation] != nil:
		over[e.Record.Run.Invocation] = true
	}
	if len(over) > 0 {
		s.daemon.View().EachRun(func(r *job.Run) { delete(over, r.Invocation) })
	}
	return over
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

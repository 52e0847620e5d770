package daemon

import (
	"context"
	"sync/atomic"

	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/watchfiles"
)

// loopClient sends events to the loop, and has its latest view, for other goroutines.
type loopClient struct {
	requests chan request
	rereads  chan chan<- error
	arrivals chan event.Files // files that arrived, for jobs with on=file:
	view     atomic.Pointer[view.View]
}

// request is an event and the channel for its answer.
type request struct {
	event event.Event
	reply chan<- effect.Answer
}

// View returns the view of the latest step. It is nil until newLoop, and has no jobs before the first
// step.
func (c *loopClient) View() *view.View { return c.view.Load() }

// Ask sends an event to the loop and waits for its answer.
func (c *loopClient) Ask(ctx context.Context, e event.Event) (effect.Answer, error) {
	reply := make(chan effect.Answer, 1)
	select {
	case c.requests <- request{e, reply}:
	case <-ctx.Done():
		return effect.Answer{}, ctx.Err()
	}
	select {
	case a := <-reply:
		return a, nil
	case <-ctx.Done():
		return effect.Answer{}, ctx.Err()
	}
}

// reread makes the loop read all files again, and waits for that. The loop continues even if the caller
// gives up: otherwise changes that were read but not applied would not count as changes at the next
// reload.
func (c *loopClient) reread(ctx context.Context) error {
	done := make(chan error, 1)
	select {
	case c.rereads <- done:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// filesArrived sends a burst of files to the loop, and reports whether it could.
func (c *loopClient) filesArrived(ctx context.Context, b watchfiles.Burst) bool {
	select {
	case c.arrivals <- event.Files{Job: b.Job, Paths: b.Paths, More: b.More, Newest: b.Newest}:
		return true
	case <-ctx.Done():
		return false
	}
}

package actions

import (
	"context"
	"errors"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/jobstate"
	"github.com/cronring/cronring/daemon/server/lookup"
	"github.com/cronring/cronring/daemon/store"
)

// Daemon is the loop, as far as actions need it.
type Daemon interface {
	// View is the newest view. It never blocks.
	View() *view.View
	// Ask hands an event to the loop, which fills in the Token, and waits for the Answer until ctx
	// ends. A refusal is in the Answer, not the error.
	Ask(ctx context.Context, e event.Event) (effect.Answer, error)
	// Subscribe returns events as history.Daemon describes it.
	Subscribe(ctx context.Context) <-chan api.Event
}

// Store is the history, as far as actions read it directly.
type Store interface {
	DeadLetters(ctx context.Context, of store.Of) ([]store.DeadLetter, error)
	DeadLetter(ctx context.Context, id job.RunID) (store.DeadLetter, bool, error)
	Backfills(ctx context.Context, of store.Of) ([]job.Backfill, error)
	Emissions(ctx context.Context, user string) ([]job.Emission, error)
	Ran(ctx context.Context, id job.ID, user string, from, to time.Time) (map[int64]job.Verdict, error)
}

// Actor acts on jobs and runs for users.
type Actor struct {
	daemon Daemon
	store  Store
	states *jobstate.Jobs
	find   *lookup.Searcher
	emits  emitLimit
}

// New returns an actor.
func New(d Daemon, s Store, states *jobstate.Jobs, find *lookup.Searcher) *Actor {
	return &Actor{daemon: d, store: s, states: states, find: find}
}

// askTimeout limits the time that an action waits for the loop's answer.
const askTimeout = 10 * time.Second

// ask hands an event to the loop and waits for the answer, but not for long:
// the loop does nothing slow, so that something is wrong. What it did goes to the audit log.
func (s *Actor) ask(ctx context.Context, c *call.Call, e event.Event) (a effect.Answer, err error) {
	err = c.Await(ctx, func() (err error) {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		a, err = s.daemon.Ask(ctx, e)
		if errors.Is(err, context.DeadlineExceeded) {
			return &api.Error{
				Kind: api.Internal, What: "the daemon did not take the request",
				Why: "it answered nothing for " + askTimeout.String() + "; whether it will still act on it is not known",
				Fix: "cronring status",
			}
		}
		if err == nil && a.Err == nil {
			note(c, e, a)
		}
		return err
	})
	return a, err
}

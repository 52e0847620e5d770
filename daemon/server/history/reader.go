package history

import (
	"context"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/lookup"
	"github.com/cronring/cronring/daemon/server/members"
	"github.com/cronring/cronring/daemon/store/audit"
	"github.com/cronring/cronring/daemon/store/statistics"
)

// Daemon is where events come from.
type Daemon interface {
	// View is the newest view. It never blocks.
	View() *view.View
	// Subscribe returns a channel of events from now on, until ctx ends or the daemon stops, which
	// closes the channel. The channel is bounded: a Gap replaces events for which a slow reader has
	// no room, even if no event follows. An event comes after the View that contains it and after
	// it was passed to the store, and a run's output before the record of its end.
	Subscribe(ctx context.Context) <-chan api.Event
	// Follow also returns the newest output that a live run wrote before; later output is in the
	// channel. For a run that is not live it returns nothing: the store has its output.
	Follow(ctx context.Context, id job.RunID) (before []job.Chunk, after <-chan api.Event)
}

// Store is the history, as far as this package reads it directly.
type Store interface {
	Output(ctx context.Context, id job.RunID) ([]job.Chunk, error)
	Actions(ctx context.Context, f audit.Filter) ([]job.Action, error)
	Failures(ctx context.Context, of statistics.FailuresOf, f func(*statistics.Failures)) (runs int, older bool, err error)
}

// Reader reads runs and events for users.
type Reader struct {
	daemon  Daemon
	store   Store
	ring    members.Ring
	find    *lookup.Searcher
	streams *budget.Budget
}

// New returns a reader.
func New(d Daemon, s Store, ring members.Ring, find *lookup.Searcher) *Reader {
	return &Reader{d, s, ring, find, budget.New(mostStreams, 0)}
}

package analysis

import (
	"context"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/jobstate"
	"github.com/cronring/cronring/daemon/server/lookup"
)

// Daemon reports the state of the daemon and of its crontabs.
type Daemon interface {
	// Health returns the state of the daemon.
	Health() api.Health
	// Diagnostics are the diagnostics on the loaded crontabs.
	Diagnostics() []crontab.Diagnostic
}

// Store is the history, as far as analyses need it.
type Store interface {
	Samples
	Newest(ctx context.Context, jobs []job.ID, n int, f func(*job.Run)) error
	Between(ctx context.Context, jobs []job.ID, from, to time.Time, n int, f func(*job.Run)) error
	LastBefore(ctx context.Context, jobs []job.ID, t time.Time, f func(*job.Run)) error
	Starts(ctx context.Context, user string, from, to time.Time, parts int) ([]int, error)
}

// Analyst sums up and forecasts the runs of jobs.
type Analyst struct {
	daemon Daemon
	store  Store
	states *jobstate.Jobs
	find   *lookup.Searcher
	loads  *loads
}

// New returns an analyst.
func New(d Daemon, s Store, states *jobstate.Jobs, find *lookup.Searcher) *Analyst {
	return &Analyst{d, s, states, find, newLoads()}
}

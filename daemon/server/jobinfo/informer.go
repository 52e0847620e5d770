package jobinfo

import (
	"context"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/jobstate"
	"github.com/cronring/cronring/daemon/server/lookup"
)

// Daemon reports about jobs what the engine does not know.
type Daemon interface {
	// Diagnostics are the diagnostics on the loaded crontabs.
	Diagnostics() []crontab.Diagnostic
	// Plan returns what a run would be if it started now, except what PAM adds. It may wait for a
	// directory service.
	Plan(ctx context.Context, start effect.Start) (api.Environment, error)
}

// Store is the history, as far as information on jobs needs it.
type Store interface {
	Values
	Run(ctx context.Context, id job.RunID) (job.Run, bool, error)
	Recent(ctx context.Context, jobs []job.ID, n int) (map[job.ID][]job.Run, error)
	Ended(ctx context.Context, jobs []job.ID, n int) (map[job.ID][]job.Run, error)
	LastBy(ctx context.Context, id job.ID, user string, f func(job.Run)) error
}

// Informer describes jobs.
type Informer struct {
	daemon Daemon
	store  Store
	states *jobstate.Jobs
	find   *lookup.Searcher
}

// New returns an informer.
func New(d Daemon, s Store, states *jobstate.Jobs, find *lookup.Searcher) *Informer {
	return &Informer{d, s, states, find}
}

package monitoring

import (
	"context"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/jobstate"
	"github.com/cronring/cronring/daemon/server/lookup"
	"github.com/cronring/cronring/daemon/server/members"
	"github.com/cronring/cronring/daemon/spool"
)

// Daemon reports the figures of the daemon itself.
type Daemon interface {
	// View is the newest view. It never blocks.
	View() *view.View
	// Health returns the state of the daemon.
	Health() api.Health
	// Diagnostics are the diagnostics on the loaded crontabs.
	Diagnostics() []crontab.Diagnostic
	// Refused are the crontab files that are not read now.
	Refused() []spool.Refusal
	// Waiting returns the numbers of letters of mail and of notices to channels that wait to be
	// sent. It never blocks.
	Waiting() (letters, notices int)
}

// Store is the history, as far as metrics need it.
type Store interface {
	Bytes() int64
	Records(ctx context.Context, from, to time.Time, limit int) ([]job.Record, error)
}

// Monitor counts events and makes metrics.
type Monitor struct {
	*counts
	daemon Daemon
	ring   members.Ring
	states *jobstate.Jobs
	find   *lookup.Searcher
}

// New returns a monitor that counts from now on what Tap receives.
func New(d Daemon, s Store, ring members.Ring, states *jobstate.Jobs, find *lookup.Searcher, now time.Time) *Monitor {
	return &Monitor{newCounts(s, d.View, now), d, ring, states, find}
}

package daemon

import (
	"context"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store"
)

// How much history is kept, and after how many records the rest is looked
// for. There is no timer: a host where nothing happens is left alone.
const (
	keepRuns   = 1000
	keepAge    = 90 * 24 * time.Hour
	pruneEvery = 5000
)

// prune removes old history now and then, until ctx ends.
func (l *loop) prune(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.pruneNow:
		}
		_, err := l.history.Prune(ctx, l.clock.Now().Wall, store.Policy{PerJob: keepRuns, Age: keepAge})
		if err != nil && ctx.Err() == nil {
			l.log.Warn("cannot remove old history", "error", err)
		}
	}
}

// wantPrune counts decisions and asks for a prune when there are enough. It
// never waits.
func (l *loop) wantPrune(records []job.Record) {
	l.sincePrune += len(records)
	if l.sincePrune < pruneEvery {
		return
	}
	select {
	case l.pruneNow <- struct{}{}:
		l.sincePrune = 0
	default:
	}
}

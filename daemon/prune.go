package daemon

import (
	"context"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store"
)

// How many dead letters of one account are kept, and after how many records
// what is beyond keep= is looked for. There is no timer: a host where nothing
// happens is left alone.
const (
	keepLetters = 10_000
	pruneEvery  = 5000
)

// prune removes old history now and then, until ctx ends.
func (l *loop) prune(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.pruneNow:
		}
		done, err := l.history.Prune(ctx, l.clock.Now().Wall, policy(l.view.Load()))
		if err != nil && ctx.Err() == nil {
			l.log.Warn("cannot remove old history", "error", err)
		}
		if done.Letters > 0 {
			l.log.Warn("the oldest dead letters were discarded; an account may have so many", "discarded", done.Letters, "kept", keepLetters)
		}
	}
}

// policy is what keep= says: the built-in one for nearly all jobs, and for
// those that are gone.
func policy(v *engine.View) store.Policy {
	usual := crontab.DefaultOptions().Keep
	other := map[crontab.Keep][]job.ID{}
	for i := range v.Len() {
		if keep := v.Entry(i).Options().Keep; keep != usual {
			other[keep] = append(other[keep], v.ID(i))
		}
	}
	p := store.Policy{PerJob: usual.Runs, Age: usual.Age, Letters: keepLetters, Installed: func(id job.ID, user string) bool {
		i, ok := v.Find(id)
		return ok && v.Entry(i).User() == user
	}}
	for keep, jobs := range other {
		p.Other = append(p.Other, store.Keep{Jobs: jobs, PerJob: keep.Runs, Age: keep.Age})
	}
	return p
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

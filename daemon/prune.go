package daemon

import (
	"context"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/prune"
	"github.com/cronring/cronring/daemon/wake"
)

// What is kept of each user, whatever keep= and output-max= of the user's jobs add up to, in
// addition to history-rows-per-user of the configuration: dead letters, bytes of the output, variables
// and parents of runs, and for users other than root jobs that are no longer installed. After
// pruneEvery records the history is searched for excess data; there is no timer, so that an idle host
// stays idle. A search that took long is not repeated soon: a user who makes many records must not keep
// the processor busy with it.
const (
	keepDeadLetters = 10_000
	keepBytes       = 1 << 30
	keepGone        = 10_000
	pruneEvery      = 5000
	prunePause      = 10 // times as long as the last search
)

// prune removes old history now and then, until ctx ends.
func (d *shared) prune(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-d.pruneNow:
		}
		begun := time.Now()
		done, err := d.pruneOnce(ctx, false)
		if err != nil && ctx.Err() == nil {
			d.log.Warn("cannot remove old history", "error", err)
		}
		if done.Outputs > 0 {
			d.log.Warn("the oldest output and variables of runs were discarded, because a user's runs exceeded the limit in bytes", "runs", done.Outputs, "kept", keepBytes)
		}
		if done.DeadLetters > 0 {
			d.log.Warn("the oldest dead letters were discarded, because a user exceeded the limit", "discarded", done.DeadLetters, "kept", keepDeadLetters)
		}
		_ = wake.Sleep(ctx, prunePause*time.Since(begun))
	}
}

// pruneOnce looks for old history, of all jobs if all is set.
func (d *shared) pruneOnce(ctx context.Context, all bool) (prune.Pruned, error) {
	if err := d.history.Expire(ctx, d.clock.Now().Wall.Add(-d.config.current().AuditAge)); err != nil {
		return prune.Pruned{}, err
	}
	p := policy(d.view.Load(), d.config.current().HistoryRows)
	p.All = all
	return d.history.Prune(ctx, d.clock.Now().Wall, p)
}

// policy returns the limits of keep=: the built-in one for nearly all jobs, including jobs that are
// no longer installed.
func policy(v *view.View, rows int) prune.Policy {
	usual := option.DefaultOptions().Keep
	lives := map[job.ID]bool{}
	for _, r := range v.Runs() {
		lives[r.Job] = true
	}
	return prune.Policy{
		PerJob: usual.Runs, Age: usual.Age, DeadLetters: keepDeadLetters, Bytes: keepBytes, Rows: rows, Gone: keepGone,
		Own: func(id job.ID) (k prune.Keep, ok bool) {
			i, ok := v.Find(id)
			if !ok {
				return k, false
			}
			keep := v.Entry(i).Options().Keep
			return prune.Keep{User: v.Entry(i).User(), PerJob: keep.Runs, Age: keep.Age}, keep != usual
		},
		Installed: func(id job.ID, user string) bool {
			i, ok := v.Find(id)
			return ok && v.Entry(i).User() == user || lives[id]
		},
	}
}

// wantPrune counts decisions and requests a prune when enough have accumulated. It never waits.
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

package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store"
)

// Bounds on what waits for a store that takes nothing: a day of a busy host.
const (
	maxUnwritten       = 20_000
	maxUnwrittenOutput = 16 << 20
	retryAfter         = time.Second
)

// backlog is what the store could not take yet, as one batch.
type backlog struct {
	batch store.Batch
	lost  int
	timer <-chan time.Time
}

// trouble is the state of the store for others to see.
type trouble struct {
	err       error // nil: all is well
	since     time.Time
	unwritten int
	lost      int
}

// commit writes a step's facts, together with any that wait, and returns the
// runs whose occurrence the history says was decided before. If the store
// takes nothing the facts wait, and their acts go ahead: a full disk must not
// stop jobs.
func (l *loop) commit(b store.Batch) (refused map[job.RunID]bool) {
	batch := l.backlog.with(b)
	if len(batch.Records) == 0 && len(batch.Outputs) == 0 && batch.Roster == nil {
		return nil
	}
	err := l.history.Commit(context.Background(), batch)
	var decided *store.DecidedError
	if errors.As(err, &decided) {
		refused = map[job.RunID]bool{}
		for _, i := range decided.Records {
			r := batch.Records[i]
			l.log.Error("the history says that this was decided before; not starting it again", "job", r.Job, "due", r.Due)
			if r.Run != nil {
				refused[r.Run.ID] = true
			}
		}
		batch.Records = without(batch.Records, decided.Records)
		err = l.history.Commit(context.Background(), batch)
	}
	if err != nil {
		l.backlog.keep(batch)
	} else {
		l.backlog = backlog{lost: l.backlog.lost}
	}
	l.report(err, b.At)
	return refused
}

func without(records []job.Record, drop []int) []job.Record {
	var kept []job.Record
	for i, r := range records {
		if !slices.Contains(drop, i) {
			kept = append(kept, r)
		}
	}
	return kept
}

// report keeps the state of the store for the status, and logs its changes.
func (l *loop) report(err error, now time.Time) {
	before := l.trouble.Load()
	t := &trouble{err: err, since: now, unwritten: len(l.backlog.batch.Records), lost: l.backlog.lost}
	switch {
	case err != nil && (before == nil || before.err == nil):
		l.log.Error("cannot write history; jobs go on, records wait", "error", err)
	case err == nil && before != nil && before.err != nil:
		l.log.Info("history is written again", "after", now.Sub(before.since).String(), "lost", t.lost)
	}
	if err != nil && before != nil && before.err != nil {
		t.since = before.since
	}
	l.trouble.Store(t)
}

// with is what waits and b, in order, as one batch.
func (k *backlog) with(b store.Batch) store.Batch {
	b.Records = append(k.batch.Records, b.Records...)
	b.Outputs = append(k.batch.Outputs, b.Outputs...)
	if b.Roster == nil {
		b.Roster = k.batch.Roster
	}
	return b
}

// keep holds a batch for later. The oldest records beyond the bound are lost,
// and counted.
func (k *backlog) keep(b store.Batch) {
	if over := len(b.Records) - maxUnwritten; over > 0 {
		b.Records = slices.Clone(b.Records[over:])
		k.lost += over
	}
	size := 0
	for i := len(b.Outputs) - 1; i >= 0; i-- {
		for _, c := range b.Outputs[i].Chunks {
			size += len(c.Data)
		}
		if size > maxUnwrittenOutput {
			b.Outputs = slices.Clone(b.Outputs[i+1:])
			break
		}
	}
	k.batch = b
	k.timer = time.After(retryAfter)
}

// again tells when the store may be asked once more; never, if nothing waits.
func (k *backlog) again() <-chan time.Time { return k.timer }

// lastWords is the error of a daemon that stops with unwritten records.
func (k *backlog) lastWords() error {
	if n := len(k.batch.Records); n > 0 {
		return fmt.Errorf("write history: %d records are lost, the store took nothing until the end", n)
	}
	return nil
}

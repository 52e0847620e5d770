package overview

import (
	"context"
	"sync"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/wake"
)

// totals computes the sums of the last day for one board. For many runs that takes long, so the
// board continues without them, and they are not computed again before a multiple of that time.
type totals struct {
	changed chan struct{} // readable when there is a new one
	work    sync.WaitGroup

	ends  int // runs that had ended at the last computation
	again time.Time

	mu   sync.Mutex
	busy bool
	took time.Duration
	day  *api.Totals
}

// How often the totals are computed: after a run has ended, and otherwise because old runs leave the
// last day.
const (
	totalsTime  = 30 * time.Second
	totalsShare = 20 // of the time that it takes
	totalsIdle  = 10 * time.Minute
)

// look computes the totals in the background, if it is time.
func (t *totals) look(ctx context.Context, o *Overview, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ends := o.states.Ended()
	pause := max(totalsTime, totalsShare*t.took)
	if ends == t.ends {
		pause = max(pause, totalsIdle)
	}
	if t.busy || !t.again.IsZero() && now.Before(t.again.Add(pause)) && now.After(t.again) {
		return
	}
	t.busy, t.ends, t.again = true, ends, now
	t.work.Go(func() {
		begin := time.Now()
		day, err := o.day(ctx, now)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.busy, t.took = false, time.Since(begin)
		if err != nil {
			return // the status reports it
		}
		t.day = day
		wake.Up(t.changed)
	})
}

func (t *totals) newest() *api.Totals {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.day
}

package daemon

import (
	"context"
	"time"

	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/gossip"
)

// Bounds on evening the shares of ring jobs out.
const (
	quietTime = 30 * time.Second // without a change of members and tables, before it
	evenSteps = 20_000_000       // a second or two of a processor
)

// even evens the shares out whenever this member is the one that does, and nothing
// has changed for a while. It has a goroutine of its own: with many jobs it takes
// longer than anything that watches may wait.
func (r *ring) even(ctx context.Context, view func() *engine.View) {
	ticker := time.NewTicker(r.quiet / 30)
	defer ticker.Stop()
	c := calm{enough: r.quiet}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if v, now := view(), time.Now(); c.at(v, now) {
			r.evenOut(ctx, v, now.Add(gossip.EvenAhead))
		}
	}
}

func (r *ring) evenOut(ctx context.Context, v *engine.View, at time.Time) {
	factors, err := v.Even(at, evenSteps)
	if err == nil && factors != nil {
		err = r.members.Even(ctx, factors)
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		r.log.Warn("the ring's shares are left as they are", "error", err)
	case factors != nil:
		r.log.Info("the ring's shares are evened out", "members", len(factors), "from", at.UTC())
	}
}

// calm says when it is time to even out what came to rest.
type calm struct {
	enough time.Duration
	view   *engine.View // of what rests
	since  time.Time
	done   bool
}

// at tells whether this member is to look at the shares. It does so once for each
// state that they come to.
func (c *calm) at(v *engine.View, now time.Time) bool {
	if c.view == nil || !v.SameShares(c.view) {
		c.since, c.done = now, false
	}
	c.view = v
	if c.done || now.Sub(c.since) < c.enough || !v.Evens(now) {
		return false
	}
	c.done = true
	return true
}

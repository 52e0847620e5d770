// Package beats owns the signs of life of runs with watchdog=, which come over the control socket.
package beats

import (
	"context"
	"sync"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/lookup"
	"github.com/cronring/cronring/daemon/spawn/proc"
)

const (
	spacing   = 100 * time.Millisecond // a beat so soon after another of the same run changes nothing
	perSecond = 200                    // beats of one user that reach the loop
	patience  = 10 * time.Second       // for the loop's answer
)

// Daemon is the loop, as far as beats need it.
type Daemon interface {
	Ask(ctx context.Context, e event.Event) (effect.Answer, error)
}

// Receiver takes signs of life.
type Receiver struct {
	daemon Daemon

	mu     sync.Mutex
	second time.Time               // when the counts below began
	by     map[string]int          // beats by user
	newest map[job.RunID]time.Time // the newest beat that reached the loop, by run
}

// New returns a receiver.
func New(d Daemon) *Receiver {
	return &Receiver{daemon: d, by: map[string]int{}, newest: map[job.RunID]time.Time{}}
}

// Beat notes a sign of life of a run. The caller must be a process of that run: neither another
// user nor another job of the same user can keep the run alive.
func (b *Receiver) Beat(ctx context.Context, c *call.Call) error {
	r, err := call.Body[api.BeatRequest](c)
	if err != nil {
		return err
	}
	run, ok := lookup.LiveRun(c.View, r.Run)
	if !ok || !c.Peer.Sees(run.User) || run.State != job.RunRunning || !proc.IsOf(call.PIDOf(ctx), run.PID) {
		return refused(r.Run, "this process does not belong to it, or it is not running")
	}
	switch fresh, within := b.admit(run.User, run.ID, c.Now); {
	case !within:
		return refused(r.Run, "this user gives more than 200 signs of life in a second")
	case fresh:
		if err := b.send(ctx, run.ID); err != nil {
			return err
		}
	}
	return c.Answer(api.Beaten{V: api.Version, Run: run.ID})
}

// send passes a beat to the loop.
func (b *Receiver) send(ctx context.Context, id job.RunID) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	a, err := b.daemon.Ask(ctx, event.Beat{Run: id})
	if err == nil && a.Err != nil {
		return refused(id, a.Err.Reason)
	}
	return err
}

// admit counts a beat. fresh reports whether it changes something, within whether its user is
// within the limit.
func (b *Receiver) admit(user string, id job.RunID, now time.Time) (fresh, within bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.second).Abs() >= time.Second {
		b.second = now
		clear(b.by)
		clear(b.newest)
	}
	if last, ok := b.newest[id]; ok && now.Sub(last).Abs() < spacing {
		return false, true
	}
	if b.by[user] >= perSecond {
		return false, false
	}
	b.by[user]++
	b.newest[id] = now
	return true, true
}

// refused returns a conflict, which is not in the audit log: a job can cause any number of them.
func refused(id job.RunID, why string) *api.Error {
	return &api.Error{
		Kind: api.Conflict, What: "cannot take a sign of life of run " + id.String(), Why: why,
		Fix: "run cronring beat inside the job, as the user of the job",
	}
}

// Package beats owns the receipt of the signs of life that runs with watchdog= send. They come over
// the control socket, or over a socket of the run, with systemd's protocol.
package beats

import (
	"context"
	"sync"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/spawn/proc"
)

const patience = 10 * time.Second // for the loop's answer

// Daemon is the loop, as far as beats need it.
type Daemon interface {
	Ask(ctx context.Context, e event.Event) (effect.Answer, error)
	View() *view.View // nil until the engine is restored
}

// Receiver takes signs of life.
type Receiver struct {
	daemon    Daemon
	dir       string // of the sockets of runs; "": none can be opened
	admission admission
	readers   sync.WaitGroup

	mu      sync.Mutex
	sockets map[job.RunID]*socket
}

// New returns a receiver. dir is a directory for the sockets of runs, which only this program can
// change; it is made when it is needed.
func New(d Daemon, dir string) *Receiver {
	return &Receiver{daemon: d, dir: dir, admission: newAdmission(), sockets: map[job.RunID]*socket{}}
}

// Beat notes a sign of life of a run. The caller must be a process of that run: neither another
// user nor another job of the same user can keep the run alive.
func (b *Receiver) Beat(ctx context.Context, c *call.Call) error {
	r, err := call.Body[api.BeatRequest](c)
	if err != nil {
		return err
	}
	run, ok := c.View.Run(r.Run)
	if ok && c.Peer.Sees(run.User) && run.State == job.RunDecided { // its process is not known yet, and its period has not begun
		return c.Answer(api.Beaten{V: api.Version, Run: run.ID})
	}
	if !ok || !c.Peer.Sees(run.User) || run.State != job.RunRunning || !proc.IsOf(call.PIDOf(ctx), run.PID) {
		return refused(r.Run, "this process does not belong to it, or it is not running")
	}
	switch fresh, within := b.admission.try(run.User, run.ID, c.Now); {
	case !within:
		return refused(r.Run, "this user gives more than 200 signs of life in a second")
	case fresh:
		b.admission.pass(run.ID, c.Now)
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

// refused returns a conflict, which is not in the audit log: a job can cause any number of them.
func refused(id job.RunID, why string) *api.Error {
	return &api.Error{
		Kind: api.Conflict, What: "cannot take a sign of life of run " + id.String(), Why: why,
		Fix: "run cronring beat inside the job, as the user of the job",
	}
}

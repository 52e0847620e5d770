package daemon

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/store"
)

// backend is the loop as the server sees it.
type backend struct{ *loop }

func (b backend) View() *engine.View { return b.view.Load() }

// Ask hands an event to the loop and waits for its answer.
func (b backend) Ask(ctx context.Context, e engine.Event) (engine.Answer, error) {
	reply := make(chan engine.Answer, 1)
	select {
	case b.asks <- ask{e, reply}:
	case <-ctx.Done():
		return engine.Answer{}, ctx.Err()
	}
	select {
	case a := <-reply:
		return a, nil
	case <-ctx.Done():
		return engine.Answer{}, ctx.Err()
	}
}

func (b backend) Reload(ctx context.Context) ([]crontab.Diagnostic, error) {
	if err := b.reload(ctx); err != nil {
		return nil, err
	}
	problems, unread := b.tables.diagnostics()
	return problems, errors.Join(unread...)
}

func (b backend) Diagnostics() []crontab.Diagnostic {
	problems, _ := b.tables.diagnostics()
	return problems
}

func (b backend) Subscribe(ctx context.Context) <-chan api.Event { return b.hub.subscribe(ctx) }

func (b backend) Follow(ctx context.Context, id job.RunID) ([]job.Chunk, <-chan api.Event) {
	return b.hub.follow(ctx, id)
}

// Health says what is wrong with the daemon itself.
func (b backend) Health() api.Health {
	host, _ := os.Hostname()
	h := api.Health{
		V: api.Version, Version: b.options.Version, PID: os.Getpid(), Host: host,
		Zone: b.tables.host.Zone.String(), Started: b.begun,
	}
	if t := b.trouble.Load(); t != nil && t.err != nil {
		h.Unwritten, h.Lost = t.unwritten, t.lost
		h.Problems = append(h.Problems, storeProblem(t, b.options.State))
	}
	if b.history.Notice != "" {
		h.Problems = append(h.Problems, api.Problem{What: "the history was damaged and begun anew", Why: b.history.Notice})
	}
	_, unread := b.tables.diagnostics()
	for _, err := range unread {
		h.Problems = append(h.Problems, api.Problem{What: "a crontab cannot be read; what it said before stays", Why: err.Error()})
	}
	return h
}

func storeProblem(t *trouble, dir string) api.Problem {
	p := api.Problem{
		What: "history cannot be written since " + t.since.Format(time.RFC3339) + "; jobs go on",
		Why:  t.err.Error(),
	}
	if store.IsFull(t.err) {
		p.Fix = "make room on the disk of " + dir
	}
	return p
}

// server answers for the loop on the control socket.
func (l *loop) server() *server.Server {
	return server.New(server.Options{
		Backend: backend{l}, Store: l.history, Log: l.log,
		Now:     func() time.Time { return l.clock.Now().Wall },
		SelfUID: uint32(os.Geteuid()),
		Account: spool.AccountName,
	})
}

// upRecord is the first record of a daemon's life.
func upRecord(now time.Time, o Options) job.Record {
	return job.Record{At: now, Kind: job.Up, Detail: "version " + o.Version}
}

// Package cronview owns the data of the dashboard for a host that still runs cron, without a daemon,
// which are the crontabs that the calling user may read and the starts of their jobs that cron logged.
package cronview

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/ownsocket"
	"github.com/cronring/cronring/daemon/server"
	"github.com/cronring/cronring/daemon/server/members"
	"github.com/cronring/cronring/daemon/server/simulated"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/store"
	"github.com/cronring/cronring/daemon/store/prune"
)

// host is a simulated daemon whose engine decides nothing: cron runs the jobs.
type host struct {
	*simulated.World
	root     string // put before each path: "" except in tests
	spool    spool.Host
	paths    spool.Paths
	source   *spool.Source
	accounts spool.Accounts
	users    *userCrontabs
	matched  *matches // from the log of cron
	reload   chan chan<- struct{}
	daemon   func(context.Context) error // why no daemon of the host answers

	mu       sync.Mutex
	health   api.Health // without the time of its start
	refusals []spool.Refusal
}

// Serve answers requests of its own user on a socket until in ends, or a daemon runs. It writes the
// address of the socket to out.
func Serve(in io.Reader, out io.Writer) error {
	h := newHost("", config.ThisHost())
	h.daemon = api.Probe
	s := h.server()
	return ownsocket.Serve(in, out, func(ctx context.Context, l net.Listener) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		h.read(ctx)
		go func() {
			defer cancel()
			h.live(ctx)
		}()
		return s.Serve(ctx, l)
	})
}

func newHost(root string, on spool.Host) *host {
	h := &host{
		World: simulated.New(time.Now().UTC().Format(time.RFC3339)), root: root, spool: on, paths: on.Paths(root),
		accounts: account.New(account.Options{Exec: run, Root: root}), matched: newMatches(), reload: make(chan chan<- struct{}),
		daemon: func(context.Context) error { return errNoDaemon },
	}
	h.source = spool.OpenSource(spool.SourceOptions{Host: on, Paths: h.paths, Accounts: h.accounts})
	h.users = &userCrontabs{paths: h.paths, self: on.Account, root: on.Root}
	name, _ := os.Hostname()
	h.health = api.Health{V: api.Version, Version: api.Release(), PID: os.Getpid(), Host: name, Zone: on.Zone.String()}
	return h
}

func (h *host) server() *server.Server {
	self := uint32(os.Geteuid())
	return server.New(server.Options{
		Backend: h, Store: h, Now: time.Now, SelfUID: self, Log: slog.New(slog.DiscardHandler),
		Account: func(uid uint32) (string, error) {
			if uid != self {
				return "", errors.New("these crontabs are shown to another user")
			}
			return spool.AccountName(uid)
		},
		Crontabs: &server.Crontabs{
			Host: h.spool, Paths: h.paths, Accounts: h.accounts, Revisions: noRevisions{}, Version: api.Release(), Foreign: h.users,
		},
	})
}

// Ask refuses: only a daemon starts, stops and pauses jobs.
func (h *host) Ask(context.Context, event.Event) (effect.Answer, error) {
	return effect.Answer{}, errNoDaemon
}

var errNoDaemon = &api.Error{
	Kind: api.Conflict, What: "cannot do this: it needs cronringd, which does not run on this host",
	Why: "the crontabs are shown without it", Fix: "see what it would change: cronring import",
}

// Reload reads all crontabs again.
func (h *host) Reload(ctx context.Context) ([]crontab.Diagnostic, error) {
	done := make(chan struct{})
	select {
	case h.reload <- done:
		<-done
		return h.Diagnostics(), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Health returns the state of the view.
func (h *host) Health() api.Health {
	h.mu.Lock()
	defer h.mu.Unlock()
	health := h.health
	health.Started = h.World.Health().Started
	return health
}

// Refused returns the crontabs that cron does not read.
func (h *host) Refused() []spool.Refusal {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.refusals
}

// Configuration returns no settings.
func (h *host) Configuration() api.Config { return api.Config{Directory: config.Dir} }

// Lives returns none: nothing is known of the time before.
func (*host) Lives(context.Context, time.Time, time.Time) ([]store.Life, error) { return nil, nil }

// Waiting returns no email and no notifications.
func (*host) Waiting() (letters, notices int) { return 0, 0 }

// Prune removes nothing.
func (*host) Prune(context.Context) (prune.Pruned, error) { return prune.Pruned{}, errNoDaemon }

// TryChannel sends nothing.
func (*host) TryChannel(context.Context, string) error { return errNoDaemon }

// Ring returns none.
func (*host) Ring() server.Ring { return members.None{} }

// Package demo owns an invented host with a past of 30 days, for cronring demo.
package demo

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/ownsocket"
	"github.com/cronring/cronring/daemon/server"
	"github.com/cronring/cronring/daemon/server/simulated"
	"github.com/cronring/cronring/daemon/store/prune"
)

// step is the interval at which the host's clock advances.
const step = 200 * time.Millisecond

// host is a simulated daemon. The function play decides how its runs end.
type host struct{ *simulated.World }

// Ask gives an event to the engine and returns its answer.
func (h host) Ask(_ context.Context, e event.Event) (effect.Answer, error) { return h.Act(e, play) }

// Waiting returns no email and no notifications.
func (host) Waiting() (letters, notices int) { return 0, 0 }

// Prune removes nothing.
func (host) Prune(context.Context) (prune.Pruned, error) { return prune.Pruned{}, nil }

// Ring returns a ring of three.
func (h host) Ring() server.Ring { return ring{h.World} }

// Serve answers requests of its own user on a socket until in ends. It writes the address of the
// socket to out.
func Serve(in io.Reader, out io.Writer) error {
	h := host{newWorld()}
	return ownsocket.Serve(in, out, func(ctx context.Context, l net.Listener) error {
		go h.live(ctx)
		return h.server().Serve(ctx, l)
	})
}

func (h host) server() *server.Server {
	self := uint32(os.Geteuid())
	return server.New(server.Options{
		Backend: h, Store: h, Now: h.Now, SelfUID: self, Log: slog.New(slog.DiscardHandler),
		Account: func(uid uint32) (string, error) {
			if uid != self {
				return "", errors.New("the demo belongs to another user")
			}
			return "root", nil
		},
	})
}

// live lets time pass as fast as it does in the real world, until ctx ends.
func (h host) live(ctx context.Context) {
	begun, now := time.Now(), h.Now()
	tick := time.NewTicker(step)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.Subscribed:
		case <-tick.C:
			h.Play(now.Add(time.Since(begun)).UTC().Format(time.RFC3339Nano), play)
		}
	}
}

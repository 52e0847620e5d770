package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/account/accounttest"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/members"
	"github.com/cronring/cronring/daemon/server/simulated"
)

// world is a simulated.World with crontabs and a ring.
type world struct {
	*simulated.World
	t testing.TB

	// A test sets these before it makes a server.
	crontabs *Crontabs // nil: a daemon that was given its files by name
	ring     *fakeRing // nil: the host is in none
	grant    func(context.Context, string) call.Grant
}

const firstUp = "2026-11-20T00:00:00Z"

// newWorld has the entries of a system crontab loaded and begins at firstUp.
func newWorld(t *testing.T, file string) *world {
	t.Helper()
	w := emptyWorld(t)
	w.Load(file)
	return w
}

func emptyWorld(t testing.TB) *world {
	t.Helper()
	return &world{World: simulated.New(firstUp), t: t}
}

func instant(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func (w *world) Ring() Ring {
	if w.ring == nil {
		return members.None{}
	}
	return w.ring
}

// ---- serving

const ( // uids of the accounts in the tests
	annUID  = 20001
	bobUID  = 20002
	noneUID = 20004 // no account
)

// selfUID is the user of the tests' daemon. caller is the user who runs the tests and calls over
// real sockets: root, or else the daemon's own user.
var selfUID, caller = func() (uint32, string) {
	if uid := os.Geteuid(); uid != 0 {
		return uint32(uid), "cronring"
	}
	return 20003, "root"
}()

var users = accounttest.Users{"root": 0, "ann": annUID, "bob": bobUID, "cronring": int(selfUID)}

const patience = hosttest.Patience

// await returns the next value of a channel, and fails the test after patience.
func await[T any](t testing.TB, what string, from <-chan T) T {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(patience):
		t.Fatalf("waited %s for %s, which did not come", patience, what)
	}
	var none T
	return none
}

// awaitSubscriber returns when what a test asked for is subscribed to. It ends the
// test when that is over before.
func awaitSubscriber[T any](t testing.TB, w *world, over <-chan T) {
	t.Helper()
	select {
	case <-w.Subscribed:
	case got := <-over:
		t.Fatalf("it was over before it subscribed to what happens: %+v", got)
	case <-time.After(patience):
		t.Fatalf("waited %s for a subscriber, who did not come", patience)
	}
}

// patient is a context for work that continues until a test has seen enough.
func patient(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, errors.New("the test has waited for "+patience.String()))
	t.Cleanup(cancel)
	return ctx
}

func (w *world) server() *Server { return w.serverOf(w) }

func (w *world) serverOf(s Store) *Server { return w.serverWith(w, s) }

func (w *world) serverWith(b Backend, s Store) *Server {
	return New(Options{
		Backend: b, Store: s, Now: w.Now,
		SelfUID: selfUID, Account: users.Name, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		HasUser:  func(uid uint32) bool { _, err := users.Name(uid); return err == nil },
		Crontabs: w.crontabs, Grant: w.grant, Exists: func(_ context.Context, user string) bool { return user != "nosuch" },
	})
}

// serve answers on a real socket until the test ends, and returns its path.
func (w *world) serve() string { return w.serveStore(w) }

func (w *world) serveStore(s Store) string { return w.serveServer(w.serverOf(s)) }

// serveServer does so with a server of the test's.
func (w *world) serveServer(s *Server) string {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), "s")
	l, err := Listen(path)
	if err != nil {
		w.t.Fatal(err)
	}
	w.serveOn(l, s)
	return path
}

// serveOn takes a server that is made, as a daemon makes its own before the loop
// runs: one made in the goroutine would have missed what the test does next.
func (w *world) serveOn(l net.Listener, s *Server) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	stop = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(patience):
			return fmt.Errorf("it still serves %s after its end", patience)
		}
	})
	w.t.Cleanup(func() {
		if err := stop(); err != nil {
			w.t.Errorf("Serve: %v", err)
		}
	})
	return stop
}

func (w *world) client() *api.Client {
	c := api.Dial(w.serve())
	w.t.Cleanup(c.Close)
	return c
}

func pauseOf(id job.ID) event.Event {
	return event.Pause{Job: id, Hold: job.Hold{By: "root"}}
}

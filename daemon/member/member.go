// Package member owns this host's part in a ring of hosts, which connects the engine with the other
// members and the voters, and changes and describes the ring at the request of users.
package member

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/store"
	"github.com/cronring/cronring/gossip"
	"github.com/cronring/cronring/gossip/holders"
	"github.com/cronring/cronring/gossip/keys"
	"github.com/cronring/cronring/gossip/ledger"
	"github.com/cronring/cronring/gossip/link"
	"github.com/cronring/cronring/gossip/memory"
	"github.com/cronring/cronring/gossip/meta"
)

// Member is this host's part in the ring of hosts. Its methods may be called from any goroutine. On a
// host in no ring it is nil: then Mode returns event.NoRing, Events returns nil, and Reread does
// nothing. The other methods must not be called.
type Member struct {
	log            *slog.Logger
	config         config.Ring
	dir            string
	id             string
	started        uint32 // number of this start, see memory.NextStart
	link           *link.Link
	members        *gossip.Ring
	voters         atomic.Pointer[ledger.Ledger] // nil: there are none, or it is not known yet who they are
	loaded         <-chan struct{}               // see Options
	past           ringHistory
	answered       [holders.Postponed + 1]atomic.Uint64 // claims, by Grant
	transport      http.RoundTripper
	daemonListener net.Listener   // connections for questions to this host's daemon; nil: it answers none
	calls          sync.WaitGroup // goroutines that wait for others
	keys           sync.Mutex     // held by who changes them here
	rotating       atomic.Bool    // this member changes those of all
}

// Options describe the daemon that becomes a member.
type Options struct {
	Config  config.Ring
	State   string // directory of the daemon's data
	Version string
	Log     *slog.Logger
	Up      func() time.Duration // since the boot
	Loaded  <-chan struct{}      // closed when the engine has its jobs; must not be nil
}

// New makes this host's part in the ring. Run takes part in it.
func New(o Options) (*Member, error) {
	c := o.Config
	r := &Member{
		log: o.Log, config: c, dir: filepath.Join(o.State, "ring"), loaded: o.Loaded,
	}
	if err := os.Mkdir(r.dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	var err error
	if r.id, err = memory.Identity(r.dir); err != nil {
		return nil, err
	}
	if r.started, err = memory.NextStart(r.dir, time.Now()); err != nil {
		o.Log.Warn("cannot keep the number of this start: if the clock is set back, a job can run twice", "error", err)
	}
	var ringKeys [][]byte
	if c.KeyFile != "" {
		if ringKeys, err = keys.Read(c.KeyFile); err != nil {
			return nil, err
		}
	}
	port := &lateListener{address: c.Listen()}
	if r.link, err = link.New(link.Options{
		ID: r.id, Ring: c.Name, Keys: linkKeys(ringKeys), Listener: port, Log: o.Log,
	}); err != nil {
		return nil, err
	}
	if r.members, err = gossip.New(gossip.Options{
		Ring: c.Name, ID: r.id, Name: c.Node(), Version: o.Version, Started: r.started, Bind: c.Listen(), Advertise: c.Advertise,
		Streams: func() (net.Listener, error) {
			if _, err := port.bind(); err != nil {
				return nil, err
			}
			return r.link.Listen(link.Gossip)
		},
		Seeds: c.Seeds, Keys: ringKeys, Labels: c.Labels, Weight: cmp.Or(c.Weight, 1), Rules: rulesOf(&c),
		Dir: r.dir, Link: r.link, Log: o.Log, Up: o.Up,
	}); err != nil {
		return nil, err
	}
	r.link.Handle(verbKeys, r.takeKeys)
	if len(ringKeys) == 0 {
		r.transport = keyless{}
		return r, nil
	}
	r.transport = r.link.Transport(r.linkOf)
	r.daemonListener, err = r.link.Listen(link.HTTP)
	return r, err
}

// rulesOf are the settings that all members must have.
func rulesOf(c *config.Ring) meta.Rules {
	var voters []string
	for _, voter := range c.Voters {
		voters = append(voters, config.MemberAddress(voter)) // with a port or without, it is the same
	}
	return meta.Rules{Strict: c.Strict, HoldOff: cmp.Or(c.HoldOff, config.RingHoldOff), Voters: meta.VotersSum(voters)}
}

// keyless is the way to members of a ring without a key: none. Each account of
// the host can speak as a member there, and would read as root.
type keyless struct{}

func (keyless) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("this ring has no key, and shows no jobs and no history to members: any user of the host could ask")
}

// linkKeys are the keys of connections. A ring without one is bound to loopback,
// where its name is all that keeps rings apart.
func linkKeys(keys [][]byte) [][]byte {
	if len(keys) > 0 {
		return keys
	}
	return [][]byte{make([]byte, 32)}
}

// Events returns the ring's events for the engine.
func (r *Member) Events() <-chan holders.Event {
	if r == nil {
		return nil
	}
	return r.members.Events()
}

// Mode returns the ring's configuration for the engine.
func (r *Member) Mode() event.RingMode {
	switch {
	case r == nil:
		return event.NoRing
	case r.config.Strict:
		return event.Strict
	}
	return event.Available
}

// Run starts all of it, and serve answers other members' daemons.
func (r *Member) Run(ctx context.Context, start func(func() error), view func() *view.View, history *store.Store, serve func(context.Context, net.Listener) error) {
	// The link ends after the members and voters have sent their last messages: a voter that leads
	// hands that over.
	linked, unlink := context.WithCancel(context.WithoutCancel(ctx))
	var talking sync.WaitGroup
	talk := func(f func()) {
		talking.Add(1)
		start(func() error { defer talking.Done(); f(); return nil })
	}
	start(func() error { return r.link.Run(linked) })
	if r.daemonListener != nil {
		start(func() error { return serve(ctx, r.daemonListener) })
	}
	if r.config.Strict {
		talk(func() { r.vote(ctx) })
	}
	talk(func() { r.takePart(ctx, view, history) })
	start(func() error { talking.Wait(); unlink(); return nil })
	start(func() error { return r.stayDrained(ctx) })
	start(func() error { r.watch(ctx, view); return nil })
}

// takePart takes part in the ring as soon as the engine has the jobs.
func (r *Member) takePart(ctx context.Context, view func() *view.View, history *store.Store) {
	select {
	case <-r.loaded:
		r.recall(ctx, view(), history)
	case <-ctx.Done():
	}
	r.members.Run(ctx)
	r.calls.Wait()
}

// Depart notifies the other members that this member leaves. The channel is readable when they have
// taken over, or when that failed or took too long.
func (r *Member) Depart(ctx context.Context) <-chan struct{} {
	left := make(chan struct{}, 1)
	r.calls.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, leaveTime)
		defer cancel()
		if err := r.leave(ctx); err != nil {
			r.log.Warn("cannot leave the ring in time: other members treat this one as dead", "error", err)
		}
		left <- struct{}{}
	})
	return left
}

// leaveTime bounds how long a departure may take: longer than the sum of the times in package gossip.
const leaveTime = 15 * time.Second

// leave leaves the ring, and hands over the lead among the voters.
func (r *Member) leave(ctx context.Context) error {
	err := r.members.Leave(ctx)
	if voters := r.voters.Load(); voters != nil {
		voters.Leave()
	}
	return err
}

// lateListener listens as soon as its address is there: a host may boot before its
// network is up. Who accepts from it tries again after an error.
type lateListener struct {
	address string

	mu     sync.Mutex
	bound  net.Listener
	closed bool
}

// Accept binds the address first, if that could not be done before.
func (l *lateListener) Accept() (net.Conn, error) {
	bound, err := l.bind()
	if err != nil {
		return nil, err
	}
	return bound.Accept()
}

func (l *lateListener) bind() (net.Listener, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, net.ErrClosed
	}
	var err error
	if l.bound == nil {
		l.bound, err = net.Listen("tcp", l.address)
	}
	return l.bound, err
}

// Close ends it, also before it is bound.
func (l *lateListener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.bound == nil {
		return nil
	}
	return l.bound.Close()
}

// Addr returns the listening address, or nil before that.
func (l *lateListener) Addr() net.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bound == nil {
		return nil
	}
	return l.bound.Addr()
}

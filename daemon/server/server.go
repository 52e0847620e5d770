package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/jobstate"
	"github.com/cronring/cronring/daemon/server/lookup"
	"github.com/cronring/cronring/daemon/server/members"
	"github.com/cronring/cronring/daemon/server/why"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/store"
)

// Backend is the loop, as far as the server sees it. Its methods may be
// called from many goroutines.
type Backend interface {
	// View is the newest view. It never blocks.
	View() *engine.View
	// Ask hands an event to the loop, which fills in the Token, and waits for
	// the Answer until ctx ends. A refusal is in the Answer, not the error.
	Ask(ctx context.Context, e engine.Event) (engine.Answer, error)
	// Reload reads all crontab files again.
	Reload(ctx context.Context) ([]crontab.Diagnostic, error)
	// Diagnostics are the diagnostics on the loaded tables.
	Diagnostics() []crontab.Diagnostic
	// Refused are the crontab files that are not read now.
	Refused() []spool.Refusal
	// Config returns the daemon's configuration.
	Config() api.Config
	// Health returns the state of the daemon.
	Health() api.Health
	// Waiting returns the sizes of the send queues. It never blocks.
	Waiting() Waiting
	// Subscribe returns a channel of events from now on, until ctx ends or the daemon stops, which
	// closes the channel. The channel is bounded: a Gap replaces events for which a slow reader has
	// no room, even if no event follows. An event comes after the View that contains it and after
	// it was passed to the store, and a run's output before the record of its end.
	Subscribe(ctx context.Context) <-chan api.Event
	// Tap makes f receive the facts and ledgers of each step from now on, after the View that
	// contains them. The loop waits for f, so f must not wait for anything. There is one tap: the
	// last.
	Tap(f func(facts []job.Record, ledgers []job.Ledger))
	// Follow also returns the newest output that a live run wrote before; later output is in the
	// channel. For a run that is not live it returns nothing: the store has its output.
	Follow(ctx context.Context, id job.RunID) (before []job.Chunk, after <-chan api.Event)
	// Plan returns what a run would be if it started now, except what PAM adds. It may wait for a
	// directory service.
	Plan(ctx context.Context, start engine.Start) (api.Environment, error)
	// Prune removes history that the options of jobs do not keep, now.
	Prune(ctx context.Context) (store.Pruned, error)
	// TryChannel sends a test notice through a channel and waits for what comes
	// of it. The error is an api.Error of kind NotFound if there is none.
	TryChannel(ctx context.Context, name string) error
	// Ring is the ring that the daemon is a member of, or nil.
	Ring() Ring
}

// Waiting holds the sizes of the send queues.
type Waiting struct {
	Letters int // of mail
	Notices int // to channels
}

// Store is the history: as far as the packages below read it, and what this one reads.
type Store interface {
	jobstate.Store
	lookup.Store
	why.Store

	Ended(ctx context.Context, jobs []job.ID, n int) (map[job.ID][]job.Run, error)
	Bytes() int64
	Newest(ctx context.Context, jobs []job.ID, n int, f func(*job.Run)) error
	Between(ctx context.Context, jobs []job.ID, from, to time.Time, n int, f func(*job.Run)) error
	Starts(ctx context.Context, user string, from, to time.Time, parts int) ([]int, error)
	LastBefore(ctx context.Context, jobs []job.ID, t time.Time, f func(*job.Run)) error
	JobNumbers(ctx context.Context) ([]job.ID, error)
	Samples(ctx context.Context, jobs []job.ID, from, to time.Time, n int, f func(*store.Sample)) error
	SkipSamples(ctx context.Context, from, to time.Time, f func(*store.SkipSample)) error
	SkipsFrom(ctx context.Context, from, to time.Time, n int) (time.Time, error)
	Output(ctx context.Context, id job.RunID) ([]job.Chunk, error)
	State(ctx context.Context, id job.ID, user, key string) (value []byte, ok bool, err error)
	States(ctx context.Context, id job.ID, user string) ([]store.StateEntry, error)
	SetState(ctx context.Context, id job.ID, user, key string, value []byte, now time.Time) error
	DeleteState(ctx context.Context, id job.ID, user, key string) (ok bool, err error)
	Letters(ctx context.Context, of store.Of) ([]store.Letter, error)
	Letter(ctx context.Context, id job.RunID) (store.Letter, bool, error)
	Totals(ctx context.Context, since time.Time) (store.Totals, error)
	Backfills(ctx context.Context, of store.Of) ([]job.Backfill, error)
	Sizes(ctx context.Context) (store.Sizes, error)
	Check(ctx context.Context) (problems []string, err error)
	Backup(ctx context.Context, now time.Time) (path string, size int64, err error)
	Ran(ctx context.Context, id job.ID, user string, from, to time.Time) (map[int64]job.Verdict, error)
}

// Options configure a Server. All fields but Crontabs must be set.
type Options struct {
	Backend Backend
	Store   Store
	Now     func() time.Time
	SelfUID uint32                           // the daemon's own account
	Account func(uid uint32) (string, error) // the name of an account
	Log     *slog.Logger                     // for panics and broken connections

	Crontabs *Crontabs // the tables that can be changed; nil for none
}

// Server answers on the control socket.
type Server struct {
	backend Backend
	store   Store
	now     func() time.Time
	selfUID uint32
	account func(uid uint32) (string, error)
	log     *slog.Logger
	writer  *crontabWriter
	states  *jobstate.Jobs
	find    *lookup.Searcher
	whys    *why.Explainer
	counts  *counts
	loads   *loads
	queries *call.Queries
	mux     *http.ServeMux
	keeping sync.Mutex     // held by who looks after the history
	active  sync.WaitGroup // handlers
}

// New makes a server; Serve lets it answer.
func New(o Options) *Server {
	s := &Server{
		backend: o.Backend, store: o.Store, now: o.Now,
		selfUID: o.SelfUID, account: o.Account, log: o.Log, writer: newCrontabWriter(o.Crontabs),
		mux: http.NewServeMux(),
	}
	s.loads, s.queries = newLoads(), call.NewQueries()
	s.states = jobstate.New(o.Store, o.Backend.View, func() jobstate.Ring { return o.Backend.Ring() })
	s.find = lookup.New(o.Store, o.Backend.View, s.states)
	s.whys = why.New(o.Store, s.find, func() string { return o.Backend.Health().Host }, func() members.Ring { return o.Backend.Ring() })
	s.counts = newCounts(o.Backend.View, o.Now())
	o.Backend.Tap(func(facts []job.Record, ledgers []job.Ledger) {
		s.counts.tap(facts)
		s.states.Tap(facts, ledgers)
	})
	s.register()
	return s
}

// Limits on what a caller may take. A caller may follow a stream for ever,
// and may leave it unread: it costs one connection, which door counts.
const (
	headerTimeout = 5 * time.Second
	idleTimeout   = time.Minute      // between requests
	askTimeout    = 10 * time.Second // for the loop's answer
	closeTimeout  = time.Second      // from the end of Serve's ctx to closing connections by force
	maxHeader     = 64 << 10
)

// Serve answers on l, a unix socket, until ctx ends, and returns when all
// handlers have. Then the error is nil. It closes l.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	hs := &http.Server{
		Handler:           s,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext:       s.withCaller,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       call.ReadTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	door := newLimitedListener(l, s.keeps)
	served := make(chan error, 1)
	go func() { served <- hs.Serve(door) }()
	var err error
	select {
	case <-ctx.Done():
		door.Close()
		if err = <-served; errors.Is(err, net.ErrClosed) {
			err = nil
		}
	case err = <-served:
		cancel()
	}
	s.shut(hs, door)
	s.active.Wait()
	if err == nil {
		return nil
	}
	return fmt.Errorf("serve control socket: %w", err)
}

// shut completes the answers to accepted connections, but waits for no reader. It does not use
// http.Server.Shutdown, which drops connections without a request: when a daemon is replaced, no
// request must be lost.
func (s *Server) shut(hs *http.Server, door *limitedListener) {
	hs.SetKeepAlivesEnabled(false)
	door.drain(closeTimeout)
	hs.Close()
}

// ServeHTTP is for http.Server only.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.active.Add(1)
	defer s.active.Done()
	s.mux.ServeHTTP(w, r)
}

// ask hands an event to the loop and waits for the answer, but not for long:
// the loop does nothing slow, so that something is wrong.
func (s *Server) ask(ctx context.Context, e engine.Event) (engine.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	a, err := s.backend.Ask(ctx, e)
	if errors.Is(err, context.DeadlineExceeded) {
		return a, &api.Error{
			Kind: api.Internal, What: "the daemon did not take the request",
			Why: "it answered nothing for " + askTimeout.String() + "; whether it will still act on it is not known",
			Fix: "cronring status",
		}
	}
	return a, err
}

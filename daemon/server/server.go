package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/actions"
	"github.com/cronring/cronring/daemon/server/analysis"
	"github.com/cronring/cronring/daemon/server/beats"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/crontabs"
	"github.com/cronring/cronring/daemon/server/history"
	"github.com/cronring/cronring/daemon/server/jobinfo"
	"github.com/cronring/cronring/daemon/server/jobstate"
	"github.com/cronring/cronring/daemon/server/lookup"
	"github.com/cronring/cronring/daemon/server/monitoring"
	"github.com/cronring/cronring/daemon/server/overview"
	"github.com/cronring/cronring/daemon/server/upkeep"
	"github.com/cronring/cronring/daemon/server/why"
)

// Daemon is the daemon, as far as this package itself uses it.
type Daemon interface {
	// View is the newest view. It never blocks.
	View() *view.View
	// Ask is described by actions.Daemon.
	Ask(ctx context.Context, e event.Event) (effect.Answer, error)
	// Audit stores actions in the audit log. ctx may be over.
	Audit(ctx context.Context, actions []job.Action)
}

// Backend is the daemon, as far as this package and the packages below use it: New passes it to each. Its
// methods may be called from many goroutines.
type Backend interface {
	Daemon
	actions.Daemon
	analysis.Daemon
	crontabs.Loader
	history.Daemon
	jobinfo.Daemon
	monitoring.Daemon
	overview.Daemon
	upkeep.Daemon

	// Ring returns the ring that the daemon is a member of, or members.None. New calls it once.
	Ring() Ring
	// FileFault returns why the files of a job with on=file: are not watched, or "".
	FileFault(j job.Owned) string
	// Tap makes f receive the facts and summaries of each step from now on, after the View that
	// contains them. The loop waits for f, so f must not wait for anything. There is one tap: the
	// last.
	Tap(f func(facts []job.Record, summaries []job.Summary))
}

// Store is the history, which only the packages below use.
type Store interface {
	actions.Store
	analysis.Store
	history.Store
	jobinfo.Store
	jobstate.Store
	lookup.Store
	monitoring.Store
	overview.Store
	upkeep.Store
	why.Store
}

// Options configure a Server. All fields but HasUser, Grant, Exists, Crontabs, StateDir and Beats must be set.
type Options struct {
	Backend Backend
	Store   Store
	Now     func() time.Time
	SelfUID uint32                           // the daemon's own user
	Account func(uid uint32) (string, error) // the name of a user
	Log     *slog.Logger                     // for panics and broken connections

	// HasUser reports without waiting whether a uid is known to belong to a user. nil: each does.
	HasUser func(uid uint32) bool

	// Grant returns the role of a user other than root on the host. It may wait for a directory
	// service. nil: there are no roles.
	Grant func(ctx context.Context, user string) call.Grant

	// Exists reports whether a user exists, or cannot be looked up now. nil: all users exist.
	Exists func(ctx context.Context, user string) bool

	Crontabs *Crontabs // the crontabs that can be changed; nil for none

	StateDir string // has the history; for advice

	Beats *beats.Receiver // nil: runs have no sockets of their own
}

// Crontabs describe the crontabs that can be changed.
type Crontabs = crontabs.Options

// Server answers on the control socket.
type Server struct {
	daemon  Daemon
	ring    Ring
	now     func() time.Time
	selfUID uint32
	account func(uid uint32) (string, error)
	hasUser func(uid uint32) bool
	grant   func(ctx context.Context, user string) call.Grant
	exists  func(ctx context.Context, user string) bool
	log     *slog.Logger
	queries *call.Queries
	writes  *call.Queries // changes of saved state: a run must not wait until its user has read a long list
	texts   *call.Queries // requests for the text of a crontab: crontab -l must not wait for that either
	pace    call.Requests
	mux     *http.ServeMux
	active  sync.WaitGroup // handlers

	actions  *actions.Actor
	analyses *analysis.Analyst
	beats    *beats.Receiver
	crontabs *crontabs.Editor
	find     *lookup.Searcher
	history  *history.Reader
	jobs     *jobinfo.Informer
	monitor  *monitoring.Monitor
	overview *overview.Overview
	states   *jobstate.Jobs
	upkeep   *upkeep.Maintainer
	whys     *why.Explainer
}

// New makes a server; Serve lets it answer.
func New(o Options) *Server {
	computing := max(1, runtime.GOMAXPROCS(0)/2) // so that the loop always finds a processor
	s := &Server{
		daemon: o.Backend, ring: o.Backend.Ring(), now: o.Now,
		selfUID: o.SelfUID, account: o.Account, hasUser: o.HasUser, grant: o.Grant, exists: o.Exists, log: o.Log,
		queries: call.NewQueries(computing), writes: call.NewQueries(computing), texts: call.NewQueries(computing), mux: http.NewServeMux(),
	}
	s.states = jobstate.New(o.Store, o.Backend.View, s.ring)
	s.find = lookup.New(o.Store, o.Backend.View, s.states)
	s.actions = actions.New(o.Backend, o.Store, s.states, s.find)
	s.analyses = analysis.New(o.Backend, o.Store, s.states, s.find)
	s.beats = cmp.Or(o.Beats, beats.New(o.Backend, ""))
	s.crontabs = crontabs.New(o.Crontabs, o.Backend, o.Account)
	s.history = history.New(o.Backend, o.Store, s.ring, s.find)
	s.jobs = jobinfo.New(o.Backend, o.Store, s.states, s.find)
	s.monitor = monitoring.New(o.Backend, o.Store, s.ring, s.states, s.find, o.Now())
	s.overview = overview.New(o.Backend, o.Store, o.Backend.View, o.Now, s.states, s.crontabs, o.StateDir)
	s.upkeep = upkeep.New(o.Backend, o.Store)
	s.whys = why.New(o.Store, s.find, o.Backend.Health, s.ring, o.Backend.FileFault)
	o.Backend.Tap(func(facts []job.Record, summaries []job.Summary) {
		s.monitor.Tap(facts)
		s.states.Tap(facts, summaries)
	})
	s.register()
	return s
}

// Limits on callers. A caller may follow a stream forever, and need not read it: that costs one
// connection, and limitedListener limits these.
const (
	headerTimeout = 5 * time.Second
	idleTimeout   = time.Minute // between requests
	closeTimeout  = time.Second // from the end of Serve's ctx to closing connections by force
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
	limited := newLimitedListener(l, s.shareOf, func(uid uint32) { s.account(uid) })
	served := make(chan error, 1)
	go func() { served <- hs.Serve(limited) }()
	var err error
	select {
	case <-ctx.Done():
		limited.Close()
		if err = <-served; errors.Is(err, net.ErrClosed) {
			err = nil
		}
	case err = <-served:
		cancel()
	}
	s.shut(hs, limited)
	s.active.Wait()
	if err == nil {
		return nil
	}
	return fmt.Errorf("serve control socket: %w", err)
}

// shut completes the answers to accepted connections, but waits for no reader. It does not use
// http.Server.Shutdown, which drops connections without a request: when a daemon is replaced, no
// request must be lost.
func (s *Server) shut(hs *http.Server, l *limitedListener) {
	hs.SetKeepAlivesEnabled(false)
	l.drain(closeTimeout)
	hs.Close()
}

// ServeHTTP is for http.Server only.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.active.Add(1)
	defer s.active.Done()
	s.mux.ServeHTTP(w, r)
}

// Package listen owns the optional HTTP listener for webhooks and monitoring, its permissions and its
// limits. It shares no request with the control socket.
package listen

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/wake"
)

// Limits of a request.
const (
	maxBody     = 64 << 10
	maxHeader   = 16 << 10
	headerTime  = 5 * time.Second
	requestTime = 15 * time.Second
	idleTime    = 30 * time.Second
	askTime     = 10 * time.Second
)

// retryTime is the time between attempts to open the listener.
const retryTime = 10 * time.Second

// Options configure a Server. All fields must be set.
type Options struct {
	Tokens  func() map[string]config.Token // the current tokens, by name
	View    func() *view.View
	Ask     func(ctx context.Context, e event.Event) (effect.Answer, error)
	Metrics http.HandlerFunc // answers with all metrics
	Audit   func(ctx context.Context, actions []job.Action)
	Now     func() time.Time
	Log     *slog.Logger
}

// Server answers on the listener.
type Server struct {
	Options
	mux     *http.ServeMux
	retry   time.Duration
	problem atomic.Pointer[error]
	active  sync.WaitGroup // handlers
	guests  unauthenticated

	mu         sync.Mutex
	allowances map[string]*allowance // by name of a token; "": callers without
}

// New returns a server.
func New(o Options) *Server {
	s := &Server{Options: o, mux: http.NewServeMux(), retry: retryTime, allowances: map[string]*allowance{}}
	s.mux.HandleFunc("GET /healthz", s.health)
	s.mux.HandleFunc("GET /metrics", s.metrics)
	s.mux.HandleFunc("POST /v1/jobs/{job}/run", s.run)
	s.mux.HandleFunc("POST /v1/jobs/{user}/{job}/run", s.run)
	s.mux.HandleFunc("POST /v1/emit/{event}", s.emit)
	s.mux.HandleFunc("POST /v1/emit/{user}/{event}", s.emit)
	s.mux.HandleFunc("/", s.unknown)
	return s
}

// Run answers on an address until ctx ends. While it cannot listen there, it tries again.
func (s *Server) Run(ctx context.Context, address string) {
	for {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if err == nil {
			s.problem.Store(nil)
			s.Log.Info("listening", "address", l.Addr().String())
			err = s.serve(ctx, l)
		}
		if ctx.Err() != nil {
			return
		}
		if s.problem.Swap(&err) == nil {
			s.Log.Error("the listener is not open", "error", err)
		}
		if wake.Sleep(ctx, s.retry) != nil {
			return
		}
	}
}

// Problem returns why the listener is not open; nil if it is open.
func (s *Server) Problem() error {
	if err := s.problem.Load(); err != nil {
		return *err
	}
	return nil
}

// connKey is the key of the connection in the context of a request.
type connKey struct{}

// serve answers on l until ctx ends, and returns when all handlers have. It closes l.
func (s *Server) serve(ctx context.Context, l net.Listener) error {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	hs := &http.Server{
		Handler: s, ReadHeaderTimeout: headerTime, ReadTimeout: requestTime, WriteTimeout: requestTime + askTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return life },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		ConnState: func(c net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew, http.StateIdle:
				s.guests.add(c)
			case http.StateClosed, http.StateHijacked:
				s.guests.remove(c)
			}
		},
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		soon, cancel := context.WithTimeout(life, time.Second)
		defer cancel()
		_ = hs.Shutdown(soon) // Close ends the remaining requests
	})
	err := hs.Serve(l)
	if !stop() {
		<-done
	}
	cancel()
	hs.Close()
	s.active.Wait()
	return err
}

// ServeHTTP is for http.Server only.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.active.Add(1)
	defer s.active.Done()
	s.mux.ServeHTTP(w, r)
}

// health reports to every caller that the daemon answers, and nothing else.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintln(w, "ok")
}

func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	act := job.Action{What: "metrics"}
	name, _, leave := s.admit(w, r, config.AllowMetrics, act)
	if leave != nil {
		defer leave()
		s.note(r, name, act)
		s.Metrics(w, r)
	}
}

// unknown refuses all other requests.
func (s *Server) unknown(w http.ResponseWriter, r *http.Request) {
	s.admit(w, r, r.Method+" "+r.URL.Path, job.Action{What: "request", Subject: r.Method + " " + r.URL.Path})
}

// variables is the body of a request to run a job or to emit an event; it may be empty.
type variables struct {
	Env []string `json:"env,omitempty"`
}

func (s *Server) run(w http.ResponseWriter, r *http.Request) {
	id := job.ID(r.PathValue("job"))
	if user := r.PathValue("user"); user != "" {
		id = job.NewID(user, r.PathValue("job"))
	}
	v, act := s.View(), job.Action{What: "run", Subject: string(id)}
	i, found := v.Find(id)
	if found {
		act.Owner = v.Entry(i).User()
	}
	name, body, leave := s.admit(w, r, config.AllowRun+string(id), act)
	if leave == nil {
		return
	}
	defer leave()
	status, refusal := http.StatusNotFound, &api.Error{Kind: api.NotFound, Why: job.RefuseNoJob}
	var runs []job.Run
	if found {
		runs, status, refusal = s.start(r.Context(), id, name, body)
	}
	if refusal != nil {
		act.Refused = refusal.Why
		s.note(r, name, act)
		fail(w, status, refusal.Kind, "cannot run "+string(id), refusal.Why)
		return
	}
	if len(runs) > 0 {
		act.After = "run " + runs[0].ID.String()
	}
	s.note(r, name, act)
	answer(w, http.StatusAccepted, api.Runs{V: api.Version, Runs: runs})
}

// start requests a run of a job from the daemon.
func (s *Server) start(ctx context.Context, id job.ID, token string, body []byte) ([]job.Run, int, *api.Error) {
	env, err := envOf(body)
	if err = cmp.Or(err, job.CheckEnv(env)); err != nil {
		return nil, http.StatusBadRequest, invalid(err)
	}
	return s.ask(ctx, event.RunNow{Job: id, By: "token:" + token, Env: env})
}

// envOf returns the variables in the body of a request.
func envOf(body []byte) ([]string, error) {
	var q variables
	if len(body) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(&q)
	if _, more := d.Token(); err != nil || !errors.Is(more, io.EOF) {
		return nil, errors.New(`expected {"env": ["NAME=value"]} and nothing else`)
	}
	return q.Env, nil
}

func invalid(err error) *api.Error {
	return &api.Error{Kind: api.Usage, Why: "the body is not valid: " + err.Error()}
}

// ask passes an event to the daemon and returns the runs that it started.
func (s *Server) ask(ctx context.Context, ev event.Question) ([]job.Run, int, *api.Error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	a, err := s.Ask(ctx, ev)
	switch {
	case err != nil:
		return nil, http.StatusServiceUnavailable, &api.Error{Kind: api.Internal, Why: "the daemon did not answer in time"}
	case a.Err != nil && a.Err.Kind == effect.Draining:
		return nil, http.StatusServiceUnavailable, &api.Error{Kind: api.Unreachable, Why: a.Err.Reason}
	case a.Err != nil:
		return nil, http.StatusConflict, &api.Error{Kind: api.Conflict, Why: a.Err.Reason}
	}
	return a.Runs, 0, nil
}

// admit returns the token and the body of a request that its token allows, and the function that ends
// it. Otherwise it answers, stores act in the audit log, and returns no function.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, what string, act job.Action) (string, []byte, func()) {
	name, known := s.token(r)
	refuse := func(status int, kind api.Kind, why string) {
		act.Refused = why
		s.note(r, name, act)
		fail(w, status, kind, "cannot answer", why)
	}
	rate := unauthenticatedRate
	if known {
		rate = tokenRate
	}
	entered, note := s.enter(name, rate)
	if !entered {
		if act.Refused = "too many requests; for a minute, more such requests are not recorded"; note {
			s.note(r, name, act)
		}
		fail(w, http.StatusTooManyRequests, api.NotAllowed, "too many requests", fmt.Sprintf("the limit is %d a second", rate))
		return "", nil, nil
	}
	leave := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.allowances[name].active--
	}
	switch {
	case !known:
		defer leave()
		w.Header().Set("WWW-Authenticate", "Bearer")
		refuse(http.StatusUnauthorized, api.NotAllowed, "the request has no valid token")
		return "", nil, nil
	case !allows(s.Tokens()[name].Allow, what):
		defer leave()
		refuse(http.StatusForbidden, api.NotAllowed, "the token "+name+" does not allow "+what)
		return "", nil, nil
	}
	end := leave
	if c, ok := r.Context().Value(connKey{}).(net.Conn); ok {
		s.guests.remove(c)
		end = func() { s.guests.add(c); leave() } // the caller may read the answer slowly
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		defer end()
		status, why := http.StatusBadRequest, "the connection ended, or it took more than 15 seconds"
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			status, why = http.StatusRequestEntityTooLarge, "it has more than 64 KiB"
		}
		refuse(status, api.Usage, "the body cannot be read: "+why)
		return "", nil, nil
	}
	return name, body, end
}

func (s *Server) enter(name string, rate int) (ok, note bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.allowances[name]
	if a == nil {
		a = &allowance{}
		s.allowances[name] = a
	}
	return a.enter(s.Now(), float64(rate))
}

// token returns the name of the token of a request. The time that it takes does not depend on the
// secrets.
func (s *Server) token(r *http.Request) (name string, ok bool) {
	secret, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	sum := sha256.Sum256([]byte(secret))
	for n, t := range s.Tokens() {
		if subtle.ConstantTimeCompare(sum[:], t.Sum[:]) == 1 && t.Unread == "" && bearer {
			name, ok = n, true
		}
	}
	return name, ok
}

// allows reports whether a token allows something: "metrics", or "run:" or "emit:" with a name.
func allows(allowed []string, what string) bool {
	kind, name, named := strings.Cut(what, ":")
	return slices.ContainsFunc(allowed, func(a string) bool {
		k, pattern, patterned := strings.Cut(a, ":")
		matched, _ := path.Match(pattern, name)
		return k == kind && named == patterned && (!named || matched)
	})
}

// note stores a request in the audit log. Each token has a share of it, and all callers without a valid
// token have one together.
func (s *Server) note(r *http.Request, token string, a job.Action) {
	a.At, a.From, a.Share = s.Now(), "listener, "+r.RemoteAddr, "token:"+token
	if token != "" {
		a.Who = a.Share
	}
	if a.What == "metrics" { // metrics are read often
		a.Share += " metrics"
	}
	s.Audit(r.Context(), []job.Action{a})
}

func fail(w http.ResponseWriter, status int, kind api.Kind, what, why string) {
	answer(w, status, api.Error{V: api.Version, Kind: kind, What: job.CutText(what), Why: job.CutText(why)})
}

func answer(w http.ResponseWriter, status int, document any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(document) // an error means that the caller has disconnected
}

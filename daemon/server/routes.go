package server

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
)

// permission is the permission of a route. Answers contain only jobs that the user sees: see call.Peer.May.
type permission int

const (
	anyone   permission = iota // sees nothing of any job
	owner                      // each user, for its own jobs; for jobs of others the role view
	operator                   // like owner; for jobs of others the role operate
	admin                      // root, the daemon's own user, and the role admin
)

// handler answers one request, or returns why not.
type handler func(ctx context.Context, c *call.Call) error

// route is a request that the daemon answers.
type route struct {
	method, path string
	permission   permission
	cost         call.Cost
	limit        *call.Queries
	handle       handler
}

// keepState and giveBeat are the paths of the changes that runs themselves make.
const (
	keepState = "/v1/state"
	giveBeat  = "/v1/beat"
)

// routes returns all requests that users may send.
func (s *Server) routes() []route {
	return []route{
		{"GET", "/v1/health", anyone, call.Cheap, s.queries, s.overview.Health},
		{"GET", "/v1/status", owner, call.Expensive, s.queries, s.overview.Status},
		{"GET", "/v1/metrics", owner, call.Expensive, s.queries, s.monitor.Metrics},
		{"GET", "/v1/jobs", owner, call.Expensive, s.queries, s.jobs.List},
		{"GET", "/v1/job", owner, call.Expensive, s.queries, s.jobs.Show},
		{"GET", "/v1/next", owner, call.Expensive, s.queries, s.analyses.Coming},
		{"GET", "/v1/explain", owner, call.Expensive, s.queries, s.analyses.Explain},
		{"GET", "/v1/why", owner, call.Expensive, s.queries, s.whys.Answer},
		{"GET", "/v1/graph", owner, call.Expensive, s.queries, s.jobs.Graph},
		{"GET", "/v1/runs", owner, call.Expensive, s.queries, s.history.List},
		{"GET", "/v1/actions", owner, call.Expensive, s.queries, s.history.Actions},
		{"GET", "/v1/run", owner, call.Expensive, s.queries, s.history.Show},
		{"GET", "/v1/failures", owner, call.Expensive, s.queries, s.history.Failures},
		{"GET", "/v1/output", owner, call.Expensive, s.queries, s.history.Output},
		{"GET", "/v1/events", owner, call.Expensive, s.queries, s.history.Events},
		{"GET", "/v1/board", owner, call.Cheap, s.queries, s.overview.Board},
		{"GET", "/v1/past", owner, call.Expensive, s.queries, s.analyses.Past},
		{"GET", "/v1/timeline", owner, call.Expensive, s.queries, s.analyses.Timeline},
		{"GET", "/v1/clashes", owner, call.Expensive, s.queries, s.analyses.Clashes},
		{"GET", "/v1/stats", owner, call.Expensive, s.queries, s.analyses.Stats},
		{"GET", "/v1/diagnostics", admin, call.Cheap, s.queries, s.crontabs.Diagnostics},
		{"GET", "/v1/config", admin, call.Cheap, s.queries, s.upkeep.Config},
		{"GET", "/v1/access", owner, call.Expensive, s.queries, s.access},
		{"GET", "/v1/env", owner, call.Expensive, s.queries, s.jobs.Environment},
		{"GET", "/v1/config/job", owner, call.Expensive, s.queries, s.jobs.Config},
		{"POST", "/v1/run", operator, call.Expensive, s.queries, s.actions.Run},
		{"POST", "/v1/stop", operator, call.Expensive, s.queries, s.actions.Stop},
		{"POST", "/v1/pause", operator, call.Expensive, s.queries, s.actions.Pause},
		{"POST", "/v1/resume", operator, call.Expensive, s.queries, s.actions.Resume},
		{"POST", "/v1/ack", operator, call.Expensive, s.queries, s.actions.Ack},
		{"GET", "/v1/backfills", owner, call.Expensive, s.queries, s.actions.ListBackfills},
		{"POST", "/v1/backfill", operator, call.Expensive, s.queries, s.actions.Backfill},
		{"POST", "/v1/backfill/stop", operator, call.Cheap, s.queries, s.actions.StopBackfill},
		{"GET", "/v1/state", owner, call.Cheap, s.queries, s.jobs.ReadState},
		{"POST", keepState, operator, call.Expensive, s.writes, s.jobs.WriteState},
		{"GET", "/v1/emit", owner, call.Expensive, s.queries, s.actions.Emissions},
		{"POST", "/v1/emit", owner, call.Cheap, s.queries, s.actions.Emit},
		{"POST", giveBeat, owner, call.Cheap, s.queries, s.beats.Beat},
		{"GET", "/v1/dead", owner, call.Expensive, s.queries, s.actions.ListDead},
		{"POST", "/v1/retry", operator, call.Expensive, s.queries, s.actions.Retry},
		{"POST", "/v1/redrive", operator, call.Expensive, s.queries, s.actions.Redrive},
		{"POST", "/v1/drop", operator, call.Expensive, s.queries, s.actions.Drop},
		{"POST", "/v1/reload", admin, call.Cheap, s.queries, s.crontabs.Reload},
		{"GET", "/v1/db", admin, call.Cheap, s.queries, s.upkeep.Sizes},
		{"POST", "/v1/db", admin, call.Cheap, s.queries, s.upkeep.Maintain},
		{"POST", "/v1/notify", admin, call.Cheap, s.queries, s.upkeep.TryChannel},
		{"GET", "/v1/ring", owner, call.Expensive, s.queries, s.ringStatus},
		{"GET", "/v1/ring/diff", admin, call.Cheap, s.queries, s.ringDiff},
		{"POST", "/v1/ring", admin, call.Cheap, s.queries, s.changeRing},
		{"GET", "/v1/crontab", owner, call.Expensive, s.texts, s.crontabs.Show},
		{"POST", "/v1/crontab/install", owner, call.Cheap, s.queries, s.crontabs.Install},
		{"POST", "/v1/crontab/remove", owner, call.Cheap, s.queries, s.crontabs.Remove},
		{"POST", "/v1/crontab/edited", owner, call.Cheap, s.queries, s.crontabs.EndEdit},
		{"GET", "/v1/crontabs", owner, call.Expensive, s.queries, s.crontabs.List},
		{"GET", "/v1/revisions", owner, call.Expensive, s.queries, s.crontabs.ListRevisions},
		{"GET", "/v1/revision", owner, call.Expensive, s.texts, s.crontabs.ShowRevision},
		{"POST", "/v1/undo", owner, call.Cheap, s.queries, s.crontabs.Undo},
	}
}

func (s *Server) register() {
	for _, r := range s.routes() {
		s.mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, q *http.Request) {
			c, err := s.pacedCall(w, q)
			if err != nil {
				return // the caller has disconnected
			}
			c.Audited(func(acts []job.Action) { s.daemon.Audit(q.Context(), acts) })
			defer c.End()
			if err := s.answer(q.Context(), c, r); err != nil {
				if e, ok := errors.AsType[*api.Error](err); ok && e.Kind == api.NotAllowed && r.method == http.MethodPost {
					c.Did(job.Action{
						What:    strings.TrimPrefix(r.path, "/v1/"),
						Refused: strings.TrimPrefix(e.Error(), "cannot "+r.method+" "+r.path+": "),
					})
				}
				c.Fail(err)
			}
		})
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, q *http.Request) {
		c, err := s.pacedCall(w, q)
		if err != nil {
			return
		}
		c.Fail(&api.Error{
			Kind: api.Usage,
			What: "cannot " + q.Method + " " + q.URL.Path + ": there is no such request",
			Why:  "this daemon has version 1 of the interface; a newer program may use more",
			Fix:  "cronring --version",
		})
	})
}

// answer checks whether the caller may send a request, and answers it.
func (s *Server) answer(ctx context.Context, c *call.Call, r route) error {
	if r.permission == admin && !c.Peer.Admin {
		return c.NotAllowed()
	}
	if g, ok := ctx.Value(connKey{}).(*limitedConn); ok && r.method == http.MethodPost && r.path != keepState && r.path != giveBeat && confined(g.Conn, g.peer) {
		return errConfined
	}
	if r.permission == operator {
		c.Acts()
	}
	if err := call.CheckQuery(c.Query); err != nil {
		return err
	}
	if err := c.Bound(ctx, r.cost, r.limit); err != nil {
		return nil // the caller has disconnected
	}
	return r.handle(ctx, c)
}

// pacedCall returns the call of a request when it can be answered.
func (s *Server) pacedCall(w http.ResponseWriter, r *http.Request) (*call.Call, error) {
	c := s.newCall(w, r)
	waited, err := s.pace.Wait(c)
	if waited {
		c = s.newCall(w, r) // with the newest view
	}
	return c, err
}

// newCall returns the call of a request. The role of its user is that of this moment.
func (s *Server) newCall(w http.ResponseWriter, r *http.Request) *call.Call {
	c := call.New(s.daemon.View(), s.now(), w, r)
	if !c.Peer.Admin && c.Peer.Name != "" && s.grant != nil {
		c.Peer.Grant = s.grant(r.Context(), c.Peer.Name)
		c.Peer.Admin = c.Peer.Role == call.Admin
	}
	return c
}

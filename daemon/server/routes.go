package server

import (
	"context"
	"net/http"

	"github.com/cronring/cronring/daemon/api"
)

// may is the permission of a route. Answers contain only jobs that the user sees: see peer.sees.
type may int

const (
	anyone may = iota // sees nothing of any job
	owner             // every account, for its own jobs; root and the daemon's own for all
	keeper            // root and the daemon's own account
)

// cost is how a route is limited in its use of memory and processors.
type cost int

const (
	// cheap requests do little work once the job is found, or have a limit of
	// their own: watch counts the boards, and enter the large crontabs.
	cheap cost = iota
	// expensive requests look at many jobs or at much of the history, at least
	// for some arguments. See expensiveQueries.
	expensive
)

// handler answers one request, or returns why not.
type handler func(s *Server, ctx context.Context, c *call) error

// routes is everything that can be asked.
var routes = []struct {
	method, path string
	may          may
	cost         cost
	handle       handler
}{
	{"GET", "/v1/health", anyone, cheap, (*Server).health},
	{"GET", "/v1/status", owner, expensive, (*Server).status},
	{"GET", "/v1/metrics", owner, expensive, (*Server).metrics},
	{"GET", "/v1/jobs", owner, expensive, (*Server).listJobs},
	{"GET", "/v1/job", owner, expensive, (*Server).showJob},
	{"GET", "/v1/next", owner, expensive, (*Server).coming},
	{"GET", "/v1/explain", owner, expensive, (*Server).explain},
	{"GET", "/v1/why", owner, expensive, (*Server).why},
	{"GET", "/v1/graph", owner, expensive, (*Server).graph},
	{"GET", "/v1/runs", owner, expensive, (*Server).listRuns},
	{"GET", "/v1/run", owner, expensive, (*Server).showRun},
	{"GET", "/v1/output", owner, expensive, (*Server).output},
	{"GET", "/v1/events", owner, expensive, (*Server).events},
	{"GET", "/v1/board", owner, cheap, (*Server).board},
	{"GET", "/v1/past", owner, expensive, (*Server).past},
	{"GET", "/v1/timeline", owner, expensive, (*Server).timeline},
	{"GET", "/v1/clashes", owner, expensive, (*Server).clashes},
	{"GET", "/v1/stats", owner, expensive, (*Server).stats},
	{"GET", "/v1/diagnostics", keeper, cheap, (*Server).diagnostics},
	{"GET", "/v1/config", keeper, cheap, (*Server).config},
	{"GET", "/v1/env", owner, expensive, (*Server).jobEnvironment},
	{"GET", "/v1/config/job", owner, expensive, (*Server).jobConfig},
	{"POST", "/v1/run", owner, expensive, (*Server).runJobs},
	{"POST", "/v1/stop", owner, expensive, (*Server).stopRuns},
	{"POST", "/v1/pause", owner, expensive, (*Server).pauseJobs},
	{"POST", "/v1/resume", owner, expensive, (*Server).resumeJobs},
	{"POST", "/v1/ack", owner, expensive, (*Server).ack},
	{"GET", "/v1/backfills", owner, expensive, (*Server).listBackfills},
	{"POST", "/v1/backfill", owner, expensive, (*Server).backfill},
	{"POST", "/v1/backfill/stop", owner, cheap, (*Server).stopBackfill},
	{"GET", "/v1/state", owner, cheap, (*Server).readState},
	{"POST", "/v1/state", owner, cheap, (*Server).writeState},
	{"GET", "/v1/dead", owner, expensive, (*Server).listDead},
	{"POST", "/v1/retry", owner, expensive, (*Server).retry},
	{"POST", "/v1/redrive", owner, expensive, (*Server).redrive},
	{"POST", "/v1/drop", owner, expensive, (*Server).drop},
	{"POST", "/v1/reload", keeper, cheap, (*Server).reload},
	{"GET", "/v1/db", keeper, cheap, (*Server).dbStats},
	{"POST", "/v1/db", keeper, cheap, (*Server).dbKeep},
	{"POST", "/v1/notify", keeper, cheap, (*Server).tryChannel},
	{"GET", "/v1/ring", owner, cheap, (*Server).ring},
	{"GET", "/v1/ring/diff", keeper, cheap, (*Server).ringDiff},
	{"POST", "/v1/ring", keeper, cheap, (*Server).changeRing},
	{"GET", "/v1/crontab", owner, cheap, (*Server).showCrontab},
	{"POST", "/v1/crontab/install", owner, cheap, (*Server).installCrontab},
	{"POST", "/v1/crontab/remove", owner, cheap, (*Server).removeCrontab},
	{"POST", "/v1/crontab/edited", owner, cheap, (*Server).endEdit},
	{"GET", "/v1/tables", owner, cheap, (*Server).listTables},
	{"GET", "/v1/table", owner, cheap, (*Server).showTable},
	{"POST", "/v1/table/install", owner, cheap, (*Server).installTable},
	{"GET", "/v1/revisions", owner, expensive, (*Server).listRevisions},
	{"GET", "/v1/revision", owner, cheap, (*Server).showRevision},
	{"POST", "/v1/undo", owner, cheap, (*Server).undo},
}

func (s *Server) register() {
	for _, r := range routes {
		s.mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, q *http.Request) {
			c := newCall(s, w, q)
			if r.may == keeper && !c.peer.keeper {
				c.fail(notAllowed(q, c.peer))
				return
			}
			if err := checkQuery(c.query); err != nil {
				c.fail(err)
				return
			}
			c.cost, c.limit = r.cost, s.queries
			defer c.end()
			if q.Method == http.MethodGet && r.cost == expensive { // otherwise body does it
				if err := c.begin(q.Context()); err != nil {
					return // the caller has disconnected
				}
			}
			if err := r.handle(s, q.Context(), c); err != nil {
				c.fail(err)
			}
		})
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, q *http.Request) {
		newCall(s, w, q).fail(&api.Error{
			Kind: api.Usage,
			What: "cannot " + q.Method + " " + q.URL.Path + ": there is no such request",
			Why:  "this daemon has version 1 of the interface; a newer program may use more",
			Fix:  "cronring --version",
		})
	})
}

func notAllowed(q *http.Request, p peer) *api.Error {
	return &api.Error{
		Kind: api.NotAllowed,
		What: "cannot " + q.Method + " " + q.URL.Path + ": only root and the daemon's own account may",
		Why:  "you are " + p.String(),
		Fix:  "ask as root: sudo cronring ...",
	}
}

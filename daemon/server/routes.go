package server

import (
	"context"
	"net/http"

	"github.com/cronring/cronring/daemon/api"
)

// may says which accounts a route is for. What a route answers is further
// narrowed to the jobs that the account sees: see peer.sees.
type may int

const (
	anyone may = iota // sees nothing of any job
	owner             // every account, for its own jobs; root and the daemon's own for all
	keeper            // root and the daemon's own account
)

// handler answers one request, or returns why not.
type handler func(s *Server, ctx context.Context, c *call) error

// routes is everything that can be asked.
var routes = []struct {
	method, path string
	may          may
	handle       handler
}{
	{"GET", "/v1/health", anyone, (*Server).health},
	{"GET", "/v1/status", owner, (*Server).status},
	{"GET", "/v1/metrics", owner, (*Server).metrics},
	{"GET", "/v1/jobs", owner, (*Server).listJobs},
	{"GET", "/v1/job", owner, (*Server).showJob},
	{"GET", "/v1/next", owner, (*Server).coming},
	{"GET", "/v1/explain", owner, (*Server).explain},
	{"GET", "/v1/why", owner, (*Server).why},
	{"GET", "/v1/graph", owner, (*Server).graph},
	{"GET", "/v1/runs", owner, (*Server).listRuns},
	{"GET", "/v1/run", owner, (*Server).showRun},
	{"GET", "/v1/output", owner, (*Server).output},
	{"GET", "/v1/events", owner, (*Server).events},
	{"GET", "/v1/board", owner, (*Server).board},
	{"GET", "/v1/past", owner, (*Server).past},
	{"GET", "/v1/timeline", owner, (*Server).timeline},
	{"GET", "/v1/clashes", owner, (*Server).clashes},
	{"GET", "/v1/stats", owner, (*Server).stats},
	{"GET", "/v1/diagnostics", keeper, (*Server).diagnostics},
	{"GET", "/v1/config", keeper, (*Server).config},
	{"GET", "/v1/env", owner, (*Server).jobEnvironment},
	{"GET", "/v1/config/job", owner, (*Server).jobConfig},
	{"POST", "/v1/run", owner, (*Server).runJobs},
	{"POST", "/v1/stop", owner, (*Server).stopRuns},
	{"POST", "/v1/pause", owner, (*Server).pauseJobs},
	{"POST", "/v1/resume", owner, (*Server).resumeJobs},
	{"POST", "/v1/ack", owner, (*Server).ack},
	{"GET", "/v1/backfills", owner, (*Server).listBackfills},
	{"POST", "/v1/backfill", owner, (*Server).backfill},
	{"POST", "/v1/backfill/stop", owner, (*Server).stopBackfill},
	{"GET", "/v1/state", owner, (*Server).readState},
	{"POST", "/v1/state", owner, (*Server).writeState},
	{"GET", "/v1/dead", owner, (*Server).listDead},
	{"POST", "/v1/retry", owner, (*Server).retry},
	{"POST", "/v1/redrive", owner, (*Server).redrive},
	{"POST", "/v1/drop", owner, (*Server).drop},
	{"POST", "/v1/reload", keeper, (*Server).reload},
	{"GET", "/v1/db", keeper, (*Server).dbStats},
	{"POST", "/v1/db", keeper, (*Server).dbKeep},
	{"POST", "/v1/notify", keeper, (*Server).tryChannel},
	{"GET", "/v1/ring", owner, (*Server).ring},
	{"GET", "/v1/ring/diff", keeper, (*Server).ringDiff},
	{"POST", "/v1/ring", keeper, (*Server).changeRing},
	{"GET", "/v1/crontab", owner, (*Server).showCrontab},
	{"POST", "/v1/crontab/install", owner, (*Server).installCrontab},
	{"POST", "/v1/crontab/remove", owner, (*Server).removeCrontab},
	{"POST", "/v1/crontab/edited", owner, (*Server).endEdit},
	{"GET", "/v1/tables", owner, (*Server).listTables},
	{"GET", "/v1/table", owner, (*Server).showTable},
	{"POST", "/v1/table/install", owner, (*Server).installTable},
	{"GET", "/v1/revisions", owner, (*Server).listRevisions},
	{"GET", "/v1/revision", owner, (*Server).showRevision},
	{"POST", "/v1/undo", owner, (*Server).undo},
}

func (s *Server) register() {
	for _, r := range routes {
		s.mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, q *http.Request) {
			c := newCall(s, w, q)
			if r.may == keeper && !c.peer.keeper {
				c.fail(notAllowed(q, c.peer))
				return
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
			Why:  "this daemon speaks version 1 of the interface; a newer program may ask for more",
			Fix:  "cronring version",
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

package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/jobstate"
	"github.com/cronring/cronring/daemon/server/members"
)

// Ring is the ring that the daemon is a member of, as far as the server sees it.
type Ring interface {
	members.Ring
	// Change performs an action for root, and waits until the other members have been notified.
	Change(ctx context.Context, r api.RingRequest) (api.RingDone, error)
	jobstate.Ring
}

// ring answers with the state of the ring, also if the host is not in one.
func (s *Server) ring(ctx context.Context, c *call.Call) error {
	answer := api.Ring{Members: []api.Member{}}
	if r := s.backend.Ring(); r != nil {
		answer = r.Status()
		var err error
		if answer.Doubled, err = s.counts.doubledSince(ctx, s.store, c.Now.Add(-24*time.Hour)); err != nil {
			return err
		}
	}
	answer.V = api.Version
	return c.Answer(answer)
}

func noRing(do string) *api.Error {
	return &api.Error{
		Kind: api.Conflict, What: "cannot " + do + ": this host is in no ring",
		Why: "its configuration had no [ring] when the daemon started", Fix: "cronring ring init, or restart the daemon if it has one now; see cronring-ring-setup(7)",
	}
}

func (s *Server) changeRing(ctx context.Context, c *call.Call) error {
	r, err := call.Body[api.RingRequest](c)
	if err != nil {
		return err
	}
	switch r.Do {
	case api.RingJoin, api.RingLeave, api.RingDrain, api.RingUndrain, api.RingRotate, api.RingRecover:
	default:
		return call.BadRequest(fmt.Sprintf("do=%q is nothing that can be done with a ring", r.Do), "it is join, leave, drain, undrain, rotate-key or recover")
	}
	ring := s.backend.Ring()
	if ring == nil {
		return noRing(r.Do)
	}
	done, err := ring.Change(ctx, r)
	if err != nil {
		return err
	}
	done.V = api.Version
	return c.Answer(done)
}

// ringJobs is this host's ring jobs, for other members to compare with theirs.
func (s *Server) ringJobs(_ context.Context, c *call.Call) error {
	return c.Answer(api.RingJobs{V: api.Version, Jobs: ringJobs(c)})
}

// ringJobs lists the ring jobs that the caller may see, by name.
func ringJobs(c *call.Call) []api.RingJob {
	jobs := []api.RingJob{}
	for i, h := range c.View.Holdings() {
		j := c.View.Job(i)
		if !c.Peer.Sees(j.User) {
			continue
		}
		jobs = append(jobs, api.RingJob{
			Job: j.ID, Crontab: j.Crontab, Line: j.Line, User: j.User, Schedule: j.Schedule, Command: j.Command,
			Options: j.Options, Hash: h.Hash,
		})
	}
	slices.SortFunc(jobs, func(a, b api.RingJob) int { return cmp.Compare(a.Job, b.Job) })
	return jobs
}

func (s *Server) ringDiff(ctx context.Context, c *call.Call) error {
	ring := s.backend.Ring()
	if ring == nil {
		return noRing("compare ring jobs")
	}
	m, err := members.Find(ring.Status(), c.Query.Get("member"))
	if err != nil {
		return err
	}
	theirs, err := members.Ask[api.RingJobs](ctx, c, ring, m, "/v1/ring/jobs", nil)
	if err != nil {
		return err
	}
	answer := diffJobs(ringJobs(c), theirs.Jobs)
	answer.V, answer.Member = api.Version, m.Name
	return c.Answer(answer)
}

// diffJobs compares two lists of ring jobs.
func diffJobs(here, there []api.RingJob) (d api.RingDiff) {
	theirs := make(map[job.ID]api.RingJob, len(there))
	for _, j := range there {
		theirs[j.Job] = j
	}
	for _, j := range here {
		other, has := theirs[j.Job]
		switch delete(theirs, j.Job); {
		case !has:
			d.Missing = append(d.Missing, j)
		case other.Hash != j.Hash:
			d.Differ = append(d.Differ, api.RingPair{Here: j, There: other})
		default:
			d.Same++
		}
	}
	for _, j := range there {
		if _, left := theirs[j.Job]; left {
			d.Extra = append(d.Extra, j)
		}
	}
	return d
}

// membersAsked is the maximum number of members that are asked at a time.
const membersAsked = 16

// addNodes adds the history of other members: of the named one, or of all that are up. Members that
// cannot be queried are listed in Missing.
func (s *Server) addNodes(ctx context.Context, c *call.Call, limit int, answer *api.Runs) error {
	which := c.Query.Get("member")
	ring := s.backend.Ring()
	if which == "" {
		return nil
	}
	if ring == nil {
		return noRing("see the history of other nodes")
	}
	status := ring.Status()
	var ask []api.Member
	if which == api.AllNodes {
		for _, m := range status.Members {
			if m.ID != status.Self && m.State.Up() {
				ask = append(ask, m)
			}
		}
	} else {
		answer.Runs, answer.Skipped = []job.Run{}, nil
		m, err := members.Find(status, which)
		if err != nil {
			return err
		}
		ask = append(ask, m)
	}
	query := c.Request.URL.Query()
	query.Del("member")
	for some := range slices.Chunk(ask, membersAsked) {
		answers := make([]api.Runs, len(some))
		failed := make([]error, len(some))
		var asked sync.WaitGroup
		for i, m := range some {
			asked.Go(func() { answers[i], failed[i] = members.Ask[api.Runs](ctx, c, ring, m, "/v1/runs", query) })
		}
		asked.Wait()
		for i, m := range some {
			if err := failed[i]; err != nil {
				if which != api.AllNodes {
					return err
				}
				answer.Missing = append(answer.Missing, m.Name+": "+err.Error())
				continue
			}
			addNode(answer, m.Name, &answers[i], limit)
		}
	}
	return nil
}

// addNode adds what a member answered, and keeps no more than was asked for.
func addNode(all *api.Runs, name string, one *api.Runs, limit int) {
	for _, r := range one.Runs {
		r.Node = name
		all.Runs = append(all.Runs, r)
	}
	all.Skipped = append(all.Skipped, one.Skipped...)
	slices.SortStableFunc(all.Runs, func(a, b job.Run) int { return b.Decided.Compare(a.Decided) })
	slices.SortStableFunc(all.Skipped, func(a, b job.Record) int { return b.Due.Compare(a.Due) })
	all.Runs = slices.Clone(all.Runs[:min(limit, len(all.Runs))])
	all.Skipped = slices.Clone(all.Skipped[:min(limit, len(all.Skipped))])
}

// memberRoutes returns the requests that the daemons of other members may send.
func (s *Server) memberRoutes() map[string]handler {
	return map[string]handler{
		"/v1/runs":      s.listRuns,
		"/v1/run":       s.showRun,
		"/v1/output":    s.output,
		"/v1/why":       s.whys.Answer,
		"/v1/ring/jobs": s.ringJobs,
	}
}

// ServeMembers answers other members on l, the ring's own connections, until ctx ends, and returns
// when all handlers have. Members read, and change nothing: anyone with the ring's key is root on a
// host of the ring.
func (s *Server) ServeMembers(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var active sync.WaitGroup
	hs := &http.Server{
		Handler: http.MaxBytesHandler(s.memberMux(&active), 0), BaseContext: func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: headerTimeout, ReadTimeout: call.ReadTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	context.AfterFunc(ctx, func() { hs.Close() })
	err := hs.Serve(l)
	cancel()
	hs.Close()
	active.Wait()
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve members: %w", err)
	}
	return nil
}

// memberMux has the routes for members, which are answered as for root. The answers are about this
// host alone: a member queries each of the others itself.
func (s *Server) memberMux(active *sync.WaitGroup) *http.ServeMux {
	mux := http.NewServeMux()
	for path, handle := range s.memberRoutes() {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, q *http.Request) {
			active.Add(1)
			defer active.Done()
			root := func() call.Peer { return call.Peer{Name: "root", Admin: true} }
			c := s.newCall(w, q.WithContext(call.WithPeer(q.Context(), root, func() int { return 0 })))
			c.Query.Del("member")
			c.Query.Set("alone", "yes")
			if err := handle(c.Request.Context(), c); err != nil {
				c.Fail(err)
			}
		})
	}
	return mux
}

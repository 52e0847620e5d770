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

// ringStatus answers with the state of the ring, also if the host is not in one.
func (s *Server) ringStatus(ctx context.Context, c *call.Call) error {
	answer := s.ring.Status()
	answer.Problems = c.Peer.Problems(answer.Problems)
	if answer.Name != "" { // otherwise it may have been in a ring before
		var err error
		if answer.Doubled, err = s.monitor.DoubledSince(ctx, c.Now.Add(-24*time.Hour)); err != nil {
			return err
		}
	}
	answer.V = api.Version
	return c.Answer(answer)
}

func (s *Server) changeRing(ctx context.Context, c *call.Call) error {
	r, err := call.Body[api.RingRequest](c)
	if err != nil {
		return err
	}
	switch r.Do {
	case api.RingJoin, api.RingLeave, api.RingDrain, api.RingUndrain, api.RingRotate, api.RingRecover:
	default:
		return call.BadRequest(fmt.Sprintf("invalid do=%q: expected join, leave, drain, undrain, rotate-key or recover", r.Do), "")
	}
	done, err := s.ring.Change(ctx, r)
	if err != nil {
		return err
	}
	c.Did(job.Action{What: "ring", Subject: r.Do, After: done.Did})
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
	status := s.ring.Status()
	if status.Name == "" {
		return members.NoRing("compare ring jobs")
	}
	m, err := members.Find(status, c.Query.Get("member"))
	if err != nil {
		return err
	}
	theirs, err := members.Ask[api.RingJobs](ctx, c, s.ring, m, "/v1/ring/jobs", nil)
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

// memberRoutes returns the requests that the daemons of other members may send.
func (s *Server) memberRoutes() map[string]handler {
	return map[string]handler{
		"/v1/runs":      s.history.List,
		"/v1/run":       s.history.Show,
		"/v1/output":    s.history.Output,
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

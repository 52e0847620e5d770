package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// Ring is the ring that the daemon is a member of, as far as the server sees it.
type Ring interface {
	// Status is the ring as this member sees it. It never blocks.
	Status() api.Ring
	// Change performs an action for root, and waits until the other members have been notified.
	Change(ctx context.Context, r api.RingRequest) (api.RingDone, error)
	// Taken is the newest occurrence of a job, by its View.RingKey, that another
	// member took, and what names that one's host. It never blocks.
	Taken(key job.Key) (due time.Time, by string, ok bool)
	// Transport carries requests to the daemons of members: their hosts are IDs.
	Transport() http.RoundTripper
}

// ring answers with the state of the ring, also if the host is not in one.
func (s *Server) ring(ctx context.Context, c *call) error {
	answer := api.Ring{Members: []api.Member{}}
	if r := s.backend.Ring(); r != nil {
		answer = r.Status()
		var err error
		if answer.Doubled, err = s.counts.doubledSince(ctx, s.store, c.now.Add(-24*time.Hour)); err != nil {
			return err
		}
	}
	answer.V = api.Version
	return c.answer(answer)
}

func noRing(do string) *api.Error {
	return &api.Error{
		Kind: api.Conflict, What: "cannot " + do + ": this host is in no ring",
		Why: "its configuration had no [ring] when the daemon started", Fix: "cronring ring init, or restart the daemon if it has one now; see cronring-ring-setup(7)",
	}
}

func (s *Server) changeRing(ctx context.Context, c *call) error {
	r, err := body[api.RingRequest](c)
	if err != nil {
		return err
	}
	switch r.Do {
	case api.RingJoin, api.RingLeave, api.RingDrain, api.RingUndrain, api.RingRotate, api.RingRecover:
	default:
		return badRequest(fmt.Sprintf("do=%q is nothing that can be done with a ring", r.Do), "it is join, leave, drain, undrain, rotate-key or recover")
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
	return c.answer(done)
}

// ringJobs is this host's ring jobs, for other members to compare with theirs.
func (s *Server) ringJobs(_ context.Context, c *call) error {
	return c.answer(api.RingJobs{V: api.Version, Jobs: c.ringJobs()})
}

// ringJobs lists the ring jobs that the caller may see, by name.
func (c *call) ringJobs() []api.RingJob {
	jobs := []api.RingJob{}
	for i, h := range c.view.Holdings() {
		j := c.view.Job(i)
		if !c.peer.sees(j.User) {
			continue
		}
		jobs = append(jobs, api.RingJob{
			Job: j.ID, Table: j.Table, Line: j.Line, User: j.User, Schedule: j.Schedule, Command: j.Command,
			Options: j.Options, Hash: h.Hash,
		})
	}
	slices.SortFunc(jobs, func(a, b api.RingJob) int { return cmp.Compare(a.Job, b.Job) })
	return jobs
}

func (s *Server) ringDiff(ctx context.Context, c *call) error {
	ring := s.backend.Ring()
	if ring == nil {
		return noRing("compare ring jobs")
	}
	m, err := memberOf(ring.Status(), c.query.Get("member"))
	if err != nil {
		return err
	}
	theirs, err := askMember[api.RingJobs](ctx, c, ring, m, "/v1/ring/jobs", nil)
	if err != nil {
		return err
	}
	answer := diffJobs(c.ringJobs(), theirs.Jobs)
	answer.V, answer.Member = api.Version, m.Name
	return c.answer(answer)
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

// memberOf finds another member by name or ID.
func memberOf(r api.Ring, name string) (api.Member, error) {
	var found []api.Member
	for _, m := range r.Members {
		if m.ID != r.Self && (m.ID == name || m.Name == name) {
			found = append(found, m)
		}
	}
	// A member that left and came back under another ID leaves its name behind.
	if up := slices.DeleteFunc(slices.Clone(found), func(m api.Member) bool { return !m.State.Up() }); len(up) > 0 {
		found = up
	}
	switch len(found) {
	case 0:
		return api.Member{}, &api.Error{
			Kind: api.NotFound, What: fmt.Sprintf("cannot ask %q: there is no such other member", name),
			Why: fmt.Sprintf("the ring %q has %d members, this host among them", r.Name, len(r.Members)), Fix: "cronring ring status",
		}
	case 1:
		return found[0], nil
	}
	return api.Member{}, &api.Error{
		Kind: api.Conflict, What: fmt.Sprintf("cannot ask %q: %d members have that name", name, len(found)),
		Why: "several hosts may have the same name; IDs are unique", Fix: "name it by its ID: cronring ring status -o wide",
	}
}

// The bounds of what another member may answer.
const (
	memberTimeout = 3 * time.Second
	memberAnswer  = 8 << 20
	memberWords   = 1000 // of an error
	membersAsked  = 16   // at a time
)

// askMember queries another member's daemon, as root. Users with the same name on two hosts need
// not be the same person, so no other user may query.
func askMember[T any](ctx context.Context, c *call, ring Ring, m api.Member, path string, query url.Values) (answer T, err error) {
	if !c.peer.keeper {
		return answer, notAllowed(c.r, c.peer)
	}
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.ID+path+"?"+query.Encode(), nil)
	if err != nil {
		return answer, fmt.Errorf("ask member: %w", err)
	}
	response, err := ring.Transport().RoundTrip(r)
	if err != nil {
		return answer, &api.Error{
			Kind: api.Unreachable, What: "cannot ask " + m.Name, Why: err.Error(), Fix: "cronring ring status",
		}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, memberAnswer+1))
	switch {
	case err != nil:
		return answer, &api.Error{Kind: api.Unreachable, What: "cannot read what " + m.Name + " answers", Why: err.Error(), Fix: "ask again"}
	case len(text) > memberAnswer:
		return answer, &api.Error{Kind: api.Internal, What: m.Name + " answers too much", Why: fmt.Sprintf("more than %d bytes", memberAnswer), Fix: "ask for less: -n"}
	case response.StatusCode != http.StatusOK:
		var e api.Error
		if json.Unmarshal(text, &e) != nil || e.What == "" {
			e = api.Error{Kind: api.Internal, What: "cannot be answered", Why: response.Status}
		}
		if _, ok := httpStatus[e.Kind]; !ok {
			e.Kind = api.Internal
		}
		return answer, &api.Error{Kind: e.Kind, What: m.Name + ": " + brief(e.What), Why: brief(e.Why), Fix: brief(e.Fix)}
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return answer, fmt.Errorf("read answer of %s: %w", m.Name, err)
	}
	return answer, nil
}

// brief limits the length of another member's text.
func brief(words string) string {
	return strings.ToValidUTF8(words[:min(len(words), memberWords)], "")
}

// addNodes adds the history of other members: of the named one, or of all that are up. Members that
// cannot be queried are listed in Missing.
func (s *Server) addNodes(ctx context.Context, c *call, limit int, answer *api.Runs) error {
	which := c.query.Get("node")
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
		m, err := memberOf(status, which)
		if err != nil {
			return err
		}
		ask = append(ask, m)
	}
	query := c.r.URL.Query()
	query.Del("node")
	for some := range slices.Chunk(ask, membersAsked) {
		answers := make([]api.Runs, len(some))
		failed := make([]error, len(some))
		var asked sync.WaitGroup
		for i, m := range some {
			asked.Go(func() { answers[i], failed[i] = askMember[api.Runs](ctx, c, ring, m, "/v1/runs", query) })
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

// memberRoutes are the requests that the daemons of other members may send.
var memberRoutes = []struct {
	path   string
	handle handler
}{
	{"/v1/runs", (*Server).listRuns},
	{"/v1/run", (*Server).showRun},
	{"/v1/output", (*Server).output},
	{"/v1/why", (*Server).why},
	{"/v1/ring/jobs", (*Server).ringJobs},
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
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
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
	for _, r := range memberRoutes {
		mux.HandleFunc("GET "+r.path, func(w http.ResponseWriter, q *http.Request) {
			active.Add(1)
			defer active.Done()
			q = q.WithContext(context.WithValue(q.Context(), peerKey{}, func() peer { return peer{name: "root", keeper: true} }))
			c := newCall(s, w, q)
			c.query.Del("node")
			c.query.Set("alone", "yes")
			if err := r.handle(s, q.Context(), c); err != nil {
				c.fail(err)
			}
		})
	}
	return mux
}

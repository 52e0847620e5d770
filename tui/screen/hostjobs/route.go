package hostjobs

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/board"
	"github.com/cronring/cronring/tui/screen"
)

// router is a daemon for jobs of a merged board: requests about jobs go to the daemons of their
// hosts, and requests about runs to the host of the job under the cursor.
type router struct {
	screen.Daemon
	hosts map[string]host
	local screen.Daemon // of the host that is shown
	other screen.Hosts
}

// daemon returns the daemon of a host.
func (r *router) daemon(name string) (screen.Daemon, error) {
	h, ok := r.hosts[name]
	switch {
	case !ok:
		return nil, fmt.Errorf("the host %q is not listed", name)
	case h.address == "":
		return r.local, nil
	}
	return r.other.Daemon(h.address)
}

// router returns a function that makes a router from the daemon that is shown.
func (s *HostJobs) router(w *screen.World) func(local screen.Daemon) screen.Daemon {
	_, at := board.SplitHost(s.world.At)
	hosts, other := make(map[string]host, len(s.hosts)), w.Hosts
	for _, h := range s.hosts {
		hosts[h.name] = *h
	}
	return func(local screen.Daemon) screen.Daemon {
		r := &router{Daemon: local, hosts: hosts, local: local, other: other}
		if d, err := r.daemon(at); err == nil {
			r.Daemon = d
		}
		return r
	}
}

// route has the requests of the list go to the daemons of the hosts.
func (s *HostJobs) route(w *screen.World, effects []screen.Effect) []screen.Effect {
	for i, e := range effects {
		switch e := e.(type) {
		case screen.Ask:
			call, through := e.Call, s.router(w)
			e.Call = func(ctx context.Context, d screen.Daemon) (any, error) { return call(ctx, through(d)) }
			effects[i] = e
		case screen.Follow:
			call, through := e.Call, s.router(w)
			e.Call = func(ctx context.Context, d screen.Daemon) iter.Seq2[any, error] { return call(ctx, through(d)) }
			effects[i] = e
		case screen.Show:
			effects[i] = s.open(w, e.Subject.Jobs[0])
		}
	}
	return effects
}

// Reroute has a Do ask the daemons of its jobs' hosts, and names the commands that do the same.
func (s *HostJobs) Reroute(w *screen.World, d screen.Do) screen.Do {
	through := s.router(w)
	call := d.Call
	d.Call = func(ctx context.Context, daemon screen.Daemon) (string, error) { return call(ctx, through(daemon)) }
	if learn := d.Learn; learn != nil {
		d.Learn = func(ctx context.Context, daemon screen.Daemon) ([]string, error) { return learn(ctx, through(daemon)) }
	}
	d.Watch = nil // runs are shown in the dashboard of their host
	d.Shell = s.line(w, d.Command)
	if d.Undo != nil {
		undo := s.Reroute(w, *d.Undo)
		d.Undo = &undo
	}
	return d
}

// line returns a line for a shell with one command for each host of the jobs that follow the verb.
func (s *HostJobs) line(w *screen.World, command []string) string {
	end := 2
	for end < len(command) && s.byName[hostOf(command[end])] != nil {
		end++
	}
	var lines []string
	for name, refs := range byHost(command[2:end]) {
		flags := w.Reach
		if h := s.byName[name]; h.address != "" {
			flags = w.Hosts.Flags(h.address)
		}
		lines = append(lines, display.ShellLine(slices.Concat(command[:1], flags, command[1:2], refs, command[end:])))
	}
	return strings.Join(lines, "; ")
}

func hostOf(ref string) string {
	_, name := board.SplitHost(job.ID(ref))
	return name
}

// byHost yields each host of some jobs with its jobs' own references.
func byHost(refs []string) iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) {
		var names []string
		of := map[string][]string{}
		for _, ref := range refs {
			id, name := board.SplitHost(job.ID(ref))
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
			of[name] = append(of[name], string(id))
		}
		for _, name := range names {
			if !yield(name, of[name]) {
				return
			}
		}
	}
}

// each sends a request to each host of some jobs, to all at the same time, and returns what they
// answered and the errors of those that did not.
func each[T any](r *router, refs []string, ask func(d screen.Daemon, name string, refs []string) ([]T, error)) ([]T, error) {
	var (
		mu       sync.Mutex
		answers  []T
		failures []error
		asking   sync.WaitGroup
	)
	for name, refs := range byHost(refs) {
		asking.Go(func() {
			d, err := r.daemon(name)
			var some []T
			if err == nil {
				some, err = ask(d, name, refs)
			}
			mu.Lock()
			defer mu.Unlock()
			answers = append(answers, some...)
			if err != nil {
				failures = append(failures, fmt.Errorf("%s: %w", name, err))
			}
		})
	}
	asking.Wait()
	return answers, errors.Join(failures...)
}

// one returns the daemon and the own reference of a job.
func (r *router) one(ref string) (d screen.Daemon, own, name string, err error) {
	id, name := board.SplitHost(job.ID(ref))
	d, err = r.daemon(name)
	return d, string(id), name, err
}

func (r *router) Show(ctx context.Context, ref string) (api.Job, error) {
	d, own, name, err := r.one(ref)
	if err != nil {
		return api.Job{}, err
	}
	shown, err := d.Show(ctx, own)
	h := r.hosts[name]
	shown.Job.Zone = h.zoneOf(shown.Job.Zone)
	return shown, err
}

func (r *router) Timeline(ctx context.Context, q api.TimelineQuery) (api.Timeline, error) {
	d, own, _, err := r.one(strings.Join(q.Refs, " "))
	if err != nil {
		return api.Timeline{}, err
	}
	q.Refs = []string{own}
	return d.Timeline(ctx, q)
}

// Past returns the past of the jobs whose hosts answer.
func (r *router) Past(ctx context.Context, ids []job.ID, n int) ([]api.JobPast, error) {
	all, err := each(r, screen.Refs(screen.Subject{Jobs: ids}), func(d screen.Daemon, name string, refs []string) ([]api.JobPast, error) {
		ids := make([]job.ID, len(refs))
		for i, ref := range refs {
			ids[i] = job.ID(ref)
		}
		past, err := d.Past(ctx, ids, n)
		for i := range past {
			past[i].Job = board.OnHost(past[i].Job, name)
		}
		return past, err
	})
	if len(all) > 0 {
		return all, nil
	}
	return nil, err
}

func (r *router) History(ctx context.Context, f api.Filter) (api.Runs, error) {
	runs, err := each(r, f.Refs, func(d screen.Daemon, _ string, refs []string) ([]job.Run, error) {
		f := f
		f.Refs = refs
		found, err := d.History(ctx, f)
		return found.Runs, err
	})
	return api.Runs{V: api.Version, Runs: runs}, err
}

// forward sends a request to each host of the jobs in refs. set changes its copy to some of them.
func forward[Q, T any](
	ctx context.Context, r *router, q Q, refs []string, send func(screen.Daemon, context.Context, Q) ([]T, error), set func(q *Q, refs []string),
) ([]T, error) {
	return each(r, refs, func(d screen.Daemon, _ string, refs []string) ([]T, error) {
		q := q
		set(&q, refs)
		return send(d, ctx, q)
	})
}

func (r *router) Run(ctx context.Context, q api.RunRequest) ([]job.Run, error) {
	return forward(ctx, r, q, q.Refs, screen.Daemon.Run, func(q *api.RunRequest, refs []string) { q.Refs = refs })
}

func (r *router) Stop(ctx context.Context, q api.StopRequest) ([]job.Run, error) {
	return forward(ctx, r, q, q.Refs, screen.Daemon.Stop, func(q *api.StopRequest, refs []string) { q.Refs = refs })
}

func (r *router) Retry(ctx context.Context, q api.RetryRequest) ([]job.Run, error) {
	return forward(ctx, r, q, q.Refs, screen.Daemon.Retry, func(q *api.RetryRequest, refs []string) { q.Refs = refs })
}

func (r *router) Pause(ctx context.Context, q api.PauseRequest) ([]job.ID, error) {
	return forward(ctx, r, q, q.Refs, screen.Daemon.Pause, func(q *api.PauseRequest, refs []string) { q.Refs = refs })
}

func (r *router) Resume(ctx context.Context, q api.ResumeRequest) ([]job.ID, error) {
	return forward(ctx, r, q, q.Refs, screen.Daemon.Resume, func(q *api.ResumeRequest, refs []string) { q.Refs = refs })
}

func (r *router) Ack(ctx context.Context, q api.AckRequest) ([]job.ID, error) {
	return forward(ctx, r, q, q.Refs, screen.Daemon.Ack, func(q *api.AckRequest, refs []string) { q.Refs = refs })
}

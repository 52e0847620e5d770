package history

import (
	"context"
	"slices"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/lookup"
)

// Events sends events as they happen.
func (s *Reader) Events(ctx context.Context, c *call.Call) error {
	wanted, err := s.wanted(ctx, c)
	if err != nil {
		return err
	}
	events := s.daemon.Subscribe(ctx)
	prints := s.printers(ctx, c.Peer)
	c.End()
	newStream(c).relay(events, func(e api.Event) (send, done bool) {
		return e.Gap != nil || wanted(jobOf(e)) && s.maySee(c.Peer, e, prints), false
	})
	return nil
}

// wanted returns which jobs a stream is about. Names and globs also select jobs that are loaded
// later; the other forms mean the current jobs.
func (s *Reader) wanted(ctx context.Context, c *call.Call) (func(job.ID) bool, error) {
	refs := c.Query["job"]
	if len(refs) == 0 {
		return func(job.ID) bool { return true }, nil
	}
	now := map[job.ID]bool{}
	var globs []lookup.JobRef
	for _, text := range refs {
		found, err := s.find.ResolveOne(ctx, c, "report events", text)
		if err != nil {
			return nil, err
		}
		for _, i := range found {
			now[c.View.ID(i)] = true
		}
		if r, err := lookup.ParseJobRef(text); err == nil && r.Glob {
			globs = append(globs, r)
		}
	}
	return func(id job.ID) bool {
		return now[id] || slices.ContainsFunc(globs, func(r lookup.JobRef) bool { return id.Matches(r.Text) })
	}, nil
}

// printers returns a function that reports whether the peer may see the output of a run. It checks
// the run and not its job: the name may belong to another user by now.
func (s *Reader) printers(ctx context.Context, p call.Peer) func(job.RunID) bool {
	const most = 1000
	known := map[job.RunID]bool{}
	return func(id job.RunID) bool {
		sees, ok := known[id]
		if ok {
			return sees
		}
		r, ok := s.daemon.View().Run(id)
		if !ok { // it has just ended
			var err error
			if r, ok, err = s.store.Run(ctx, id); err != nil || !ok {
				return false
			}
		}
		if len(known) >= most {
			clear(known)
		}
		known[id] = p.MayOf(call.View, s.daemon.View(), r.Job, r.User)
		return known[id]
	}
}

// maySee reports whether the peer may see an event. All users may see events of the daemon itself.
func (s *Reader) maySee(p call.Peer, e api.Event, prints func(job.RunID) bool) bool {
	if p.Admin {
		return true
	}
	view, id := s.daemon.View(), jobOf(e)
	sees := func(user string) bool { return p.MayOf(call.View, view, id, user) }
	if e.Record != nil && e.Record.Run != nil {
		return sees(e.Record.Run.User)
	}
	if e.Record != nil && e.Record.User != "" {
		return sees(e.Record.User)
	}
	if e.Record != nil && e.Record.Backfill != nil {
		return sees(e.Record.Backfill.User)
	}
	if e.Chunk != nil {
		return prints(e.Chunk.Run)
	}
	if e.Notice != nil {
		return sees(e.Notice.User)
	}
	if id == "" {
		return e.Record != nil
	}
	i, ok := view.Find(id)
	return ok && p.May(call.View, view.Entry(i))
}

func jobOf(e api.Event) job.ID {
	switch {
	case e.Record != nil:
		return e.Record.Job
	case e.Chunk != nil:
		return e.Chunk.Job
	case e.Notice != nil:
		return e.Notice.Job
	}
	return ""
}

package history

import (
	"context"
	"fmt"
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
	leave, err := s.join(c)
	if err != nil {
		return err
	}
	defer leave()
	events := s.daemon.Subscribe(ctx)
	c.End()
	newStream(c).relay(events, s.choose(c.Peer, wanted))
	return nil
}

// choose returns a function that selects events for a stream. It compares the jobs of events with
// patterns only if the peer may see the events.
func (s *Reader) choose(p call.Peer, wanted func(job.ID) bool) func(e api.Event) (send, done bool) {
	return func(e api.Event) (send, done bool) {
		return e.Gap != nil || s.maySee(p, e) && wanted(jobOf(e)), false
	}
}

// mostPatterns is how many patterns one stream compares each event with.
const mostPatterns = 20

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
		if len(globs) > mostPatterns {
			return nil, call.BadRequest("cannot follow so many patterns", fmt.Sprintf("at most %d are accepted", mostPatterns))
		}
	}
	return func(id job.ID) bool {
		return now[id] || slices.ContainsFunc(globs, func(r lookup.JobRef) bool { return id.Matches(r.Text) })
	}, nil
}

// maySee reports whether the peer may see an event. All users may see events of the daemon itself. It
// checks the user of a run and not of its job: the name may belong to another user by now.
func (s *Reader) maySee(p call.Peer, e api.Event) bool {
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
		return sees(e.Chunk.User)
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

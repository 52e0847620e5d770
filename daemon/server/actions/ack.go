package actions

import (
	"context"
	"fmt"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/jobstate"
)

// Ack notes that a person has seen that jobs failed, or takes that back.
func (s *Actor) Ack(ctx context.Context, c *call.Call) error {
	r, err := call.Body[api.AckRequest](c)
	if err != nil {
		return err
	}
	switch {
	case r.All && len(r.Refs) > 0:
		return call.BadRequest("cannot ack: both all jobs and some are named", "one or the other is wanted")
	case r.Undo:
		return s.unack(ctx, c, r)
	}
	failed, err := s.failing(ctx, c, r)
	if err != nil {
		return err
	}
	ids := make([]job.ID, len(failed))
	newest := map[job.ID]job.RunID{}
	for k, st := range failed {
		ids[k], newest[st.Job.ID] = st.Job.ID, st.Last.ID
	}
	_, err = s.each(ctx, c, "ack", ids, func(id job.ID) event.Event {
		return event.Ack{Job: id, Seen: job.Ack{Run: newest[id], By: c.Peer.String(), Reason: r.Reason}}
	})
	if err != nil {
		return err
	}
	return c.Answer(api.Changed{V: api.Version, Jobs: ids})
}

// failing returns the jobs whose failure must be acknowledged. A named job that does not fail is an
// error; with All the list may be empty.
func (s *Actor) failing(ctx context.Context, c *call.Call, r api.AckRequest) ([]jobstate.Numbered, error) {
	jobs := c.Visible()
	if !r.All {
		ids, err := s.targets(ctx, c, "ack", r.Refs)
		if err != nil {
			return nil, err
		}
		jobs = jobs[:0]
		for _, id := range ids {
			if i, ok := c.View.Find(id); ok {
				jobs = append(jobs, i)
			}
		}
	}
	var failed []jobstate.Numbered
	for st, err := range s.states.Statuses(ctx, c, jobs) {
		switch {
		case err != nil:
			return nil, err
		case st.State == job.StateFailing:
			failed = append(failed, st)
		case !r.All:
			return nil, notFailing(st)
		}
	}
	return failed, nil
}

func notFailing(st jobstate.Numbered) *api.Error {
	e := &api.Error{
		Kind: api.Conflict, What: fmt.Sprintf("cannot acknowledge a failure of %q: it does not fail", st.Job.ID),
		Why: "its newest run did not fail", Fix: "cronring list --state failing",
	}
	switch {
	case st.Ack != nil:
		e.Why = fmt.Sprintf("%s has acknowledged run %d already", st.Ack.By, st.Ack.Run)
	case st.Last == nil:
		e.Why = "none of its runs has ended"
	}
	return e
}

func (s *Actor) unack(ctx context.Context, c *call.Call, r api.AckRequest) error {
	if r.All {
		r.Refs = nil
		for _, i := range c.Where(func(i int) bool { return c.View.Ack(i) != nil }) {
			r.Refs = append(r.Refs, string(c.View.ID(i)))
		}
		if len(r.Refs) == 0 {
			return c.Answer(api.Changed{V: api.Version, Jobs: []job.ID{}})
		}
	}
	return s.change(ctx, c, "ack --undo", r.Refs, func(id job.ID) event.Event {
		return event.Unack{Job: id, By: c.Peer.String()}
	})
}

package server

import (
	"context"
	"net/url"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/api"
)

// mostAsked is the maximum number of members asked about an occurrence: no others claim one.
const mostAsked = 4

// addOthers asks the likely owners about an occurrence that was not decided here. Only for root:
// see askMember.
func (s *Server) addOthers(ctx context.Context, c *call, ev *evidence) error {
	ring := s.backend.Ring()
	if ring == nil || !ev.isElsewhere() || ev.at.After(ev.now) || !c.peer.keeper || c.query.Get("alone") != "" {
		return nil
	}
	status := ring.Status()
	query := url.Values{"job": {string(ev.job.ID)}, "at": {ev.at.Format(time.RFC3339Nano)}, "alone": {"yes"}}
	candidates := ev.turn.owner.Members
	for _, m := range candidates[:min(mostAsked, len(candidates))] {
		k := slices.IndexFunc(status.Members, func(x api.Member) bool { return x.ID == m.ID })
		if m.Self || k < 0 {
			continue
		}
		said, err := askMember[api.Why](ctx, c, ring, status.Members[k], "/v1/why", query)
		if err != nil {
			ev.turn.unasked = append(ev.turn.unasked, "not asked: "+err.Error())
			continue
		}
		if said.Decision != "" {
			ev.turn.taker, ev.turn.said = m.Name, said.Verdict
			return nil
		}
	}
	return nil
}

// askThere returns the remedies for an occurrence of another member.
func (ev *evidence) askThere() []api.Remedy {
	return []api.Remedy{
		{What: "see who is first in line, and how they are", Command: "cronring ring status"},
		{What: "see its runs on all members", Command: "cronring history --node all " + quote(string(ev.job.ID))},
		ev.command("run it here now", "run"),
	}
}

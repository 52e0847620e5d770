package server

import (
	"context"
	"slices"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/server/call"
)

// access explains what the caller, or for admins another user, may do.
func (s *Server) access(ctx context.Context, c *call.Call) error {
	p := c.Peer
	if user := c.Query.Get("user"); user != "" && user != p.Name {
		if !p.Admin {
			return c.NotAllowed()
		}
		if s.exists != nil && !s.exists(ctx, user) {
			return &api.Error{Kind: api.NotFound, What: "cannot explain the access of " + display.Quote(user) + ": no such user", Fix: "getent passwd " + display.Quote(user)}
		}
		p = call.Peer{Name: user, Admin: user == "root"}
		if !p.Admin && s.grant != nil {
			p.Grant = s.grant(ctx, user)
			p.Admin = p.Role == call.Admin
		}
	}
	answer := api.Access{V: api.Version, User: p.String(), Role: p.Role.String(), Why: p.Words(), Groups: p.Groups}
	if p.Admin && p.Role != call.Admin {
		answer.Role, answer.Why = call.Admin.String(), "root and the daemon's own user have the role admin"
	}
	for i := range c.View.Len() {
		answer.Sees += count(p.May(call.View, c.View.Entry(i)))
		answer.Operates += count(p.May(call.Operate, c.View.Entry(i)))
	}
	if ref := c.Query.Get("job"); ref != "" {
		i, err := s.find.Only(ctx, c, "access --job", ref)
		if err != nil {
			return err
		}
		e := c.View.Entry(i)
		j := &api.JobAccess{Job: c.View.ID(i), User: e.User(), Sees: p.May(call.View, e), Operates: p.May(call.Operate, e)}
		switch option := c.View.Options(i).Text("access"); {
		case p.Sees(e.User()) && !p.Admin:
			j.Why = "it runs as " + e.User()
		case p.Admin:
			j.Why = "the role admin is for all jobs"
		case option != "":
			j.Why = "the job has access=" + display.Text(option)
		default:
			j.Why = "the job has no access=, so the role decides"
		}
		answer.Job = j
	}
	slices.Sort(answer.Groups)
	return c.Answer(answer)
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

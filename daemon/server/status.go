package server

import (
	"context"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
)

func (s *Server) health(_ context.Context, c *call.Call) error {
	return c.Answer(s.healthNow())
}

func (s *Server) healthNow() api.Health {
	h := s.backend.Health()
	h.V = api.Version
	return h
}

// status answers even if the history cannot be read, because it is needed most then.
func (s *Server) status(ctx context.Context, c *call.Call) error {
	jobs := c.Visible()
	st := s.head(c.View, c.Now)
	st.Jobs, st.Denied = len(jobs), s.denied(c.Peer)
	if err := s.addStates(ctx, c, &st, jobs); err != nil {
		st.Problems = append(st.Problems, unreadable(err))
	}
	if c.Peer.Admin {
		st.Errors, st.Warnings = diagnosticCounts(s.backend.Diagnostics())
		if err := s.addTotals(ctx, &st); err != nil {
			st.Problems = append(st.Problems, unreadable(err))
		}
	}
	return c.Answer(st)
}

// head is a status without anything about jobs that are not everybody's.
func (s *Server) head(v *engine.View, now time.Time) api.Status {
	return api.Status{
		Health: s.healthNow(), Now: now, Draining: v.Draining(),
		Loaded: v.Len(), Crontabs: len(v.Crontabs()), States: map[job.State]int{},
	}
}

func unreadable(err error) api.Problem {
	return api.Problem{
		What: "the history cannot be read: what is counted here leaves it out",
		Why:  err.Error(),
		Fix:  "look at the disk that holds the state directory",
	}
}

func (s *Server) addStates(ctx context.Context, c *call.Call, st *api.Status, jobs []int) error {
	first := -1
	for _, i := range jobs {
		at := c.View.Next(i, c.Now)
		if !at.IsZero() && (st.Next == nil || at.Before(st.Next.At)) {
			first, st.Next = i, &api.Upcoming{Job: c.View.ID(i), At: at}
		}
	}
	if st.Next != nil {
		st.Next.Node = s.states.Whereabouts(c.View).Of(first, st.Next.At)
	}
	for one, err := range s.states.States(ctx, c, jobs) {
		if err != nil {
			return err
		}
		st.States[one.State()]++
	}
	return nil
}

func (s *Server) addTotals(ctx context.Context, st *api.Status) error {
	day, err := s.day(ctx, st.Now)
	st.Day = day
	return err
}

// day sums up the last 24 hours.
func (s *Server) day(ctx context.Context, now time.Time) (*api.Totals, error) {
	t, err := s.store.Totals(ctx, now.Add(-24*time.Hour))
	if err != nil {
		return nil, err
	}
	return &api.Totals{Runs: t.OK + t.Failed, OK: t.OK, Failed: t.Failed, Skipped: t.Skipped, LagP99: t.LagP99}, nil
}

func diagnosticCounts(diagnostics []crontab.Diagnostic) (errors, warnings int) {
	for _, d := range diagnostics {
		switch d.Severity {
		case crontab.Error:
			errors++
		case crontab.Warning:
			warnings++
		}
	}
	return errors, warnings
}

func (s *Server) diagnostics(_ context.Context, c *call.Call) error {
	return c.Answer(api.Diagnostics{V: api.Version, Diagnostics: api.NewDiagnostics(s.backend.Diagnostics())})
}

func (s *Server) reload(ctx context.Context, c *call.Call) error {
	c.Patient()
	diagnostics, err := s.backend.Reload(ctx)
	if err != nil {
		return err
	}
	return c.Answer(api.Diagnostics{V: api.Version, Diagnostics: api.NewDiagnostics(diagnostics)})
}

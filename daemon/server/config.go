package server

import (
	"cmp"
	"context"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
)

func (s *Server) config(_ context.Context, c *call) error {
	answer := s.backend.Config()
	answer.V = api.Version
	return c.answer(answer)
}

// jobConfig answers with the effective value of each option of a job, and its origin.
func (s *Server) jobConfig(ctx context.Context, c *call) error {
	i, err := s.only(ctx, c, "show", c.query.Get("job"))
	if err != nil {
		return err
	}
	e, j := c.view.Entry(i), c.view.Job(i)
	answer := api.JobConfig{V: api.Version, Job: j.ID, Table: j.Table, Line: j.Line, Held: j.Held, Degraded: j.Degraded}
	for _, o := range e.Effective() {
		answer.Options = append(answer.Options, c.setting(o, i))
	}
	if hold := c.view.Hold(i); hold != nil {
		until := "until resumed"
		if !hold.Until.IsZero() {
			until = "until " + hold.Until.Format(time.RFC3339)
		}
		answer.Options = append(answer.Options, api.Setting{Key: "pause", Value: until + " by " + hold.By, Origin: "runtime"})
	}
	return c.answer(answer)
}

// setting is one option of the job of that number.
func (c *call) setting(o crontab.Option, i int) api.Setting {
	s := api.Setting{Key: o.Key, Value: o.Value, Origin: o.Origin.String(), File: o.File, Line: o.Line}
	switch {
	case o.Key == "name" && o.Value == "":
		s.Value, s.Origin = string(c.view.ID(i)), "derived"
	case o.Origin != crontab.BuiltIn:
		s.File = cmp.Or(o.File, c.view.Entry(i).Table().Name)
	}
	return s
}

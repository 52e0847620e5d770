package jobinfo

import (
	"cmp"
	"context"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/server/call"
)

// Config answers with the effective value of each option of a job, and its origin.
func (s *Informer) Config(ctx context.Context, c *call.Call) error {
	i, err := s.find.Only(ctx, c, "config show", c.Query.Get("job"))
	if err != nil {
		return err
	}
	e, j := c.View.Entry(i), c.View.Job(i)
	answer := api.JobConfig{V: api.Version, Job: j.ID, Crontab: j.Crontab, Line: j.Line, Held: j.Held, Degraded: j.Degraded}
	for _, o := range e.Effective() {
		answer.Options = append(answer.Options, setting(c, o, i))
	}
	if hold := c.View.Hold(i); hold != nil {
		until := "until resumed"
		if !hold.Until.IsZero() {
			until = "until " + hold.Until.Format(time.RFC3339)
		}
		answer.Options = append(answer.Options, api.Setting{Key: "pause", Value: until + " by " + hold.By, Origin: "runtime"})
	}
	return c.Answer(answer)
}

// setting is one option of the job of that number.
func setting(c *call.Call, o option.Option, i int) api.Setting {
	s := api.Setting{Key: o.Key, Value: o.Value, Origin: o.Origin.String(), File: o.File, Line: o.Line}
	switch {
	case o.Key == "name" && o.Value == "":
		s.Value, s.Origin = string(c.View.ID(i)), "derived"
	case o.Origin != option.BuiltIn:
		s.File = cmp.Or(o.File, c.View.Entry(i).File().Name)
	}
	return s
}

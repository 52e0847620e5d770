package jobinfo

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
)

// holding are the options that hold a run to something.
var holding = []string{
	"timeout", "memory", "memory-high", "cpu", "tasks", "cpu-weight", "io-weight", "nofile", "nice", "idle", "slice",
}

// Environment answers with what the next run of a job would find if it started now.
func (s *Informer) Environment(ctx context.Context, c *call.Call) error {
	i, err := s.find.Only(ctx, c, "config env", c.Query.Get("job"))
	if err != nil {
		return err
	}
	j, e := c.View.Job(i), c.View.Entry(i)
	due := c.View.Next(i, c.Now)
	if due.IsZero() {
		due = c.Now
	}
	start := effect.Start{Job: j, Entry: e, Run: job.Run{
		Job: j.ID, Due: due, Attempt: 1, Trigger: triggerOf(e), User: j.User, Invocation: job.Invocation(j.ID, due, 0, 0),
	}}
	var answer api.Environment
	err = c.Await(ctx, func() (err error) { // for a directory service, or for a process that reads a file
		answer, err = s.daemon.Plan(ctx, start)
		return err
	})
	if unknown, ok := errors.AsType[*account.UnknownError](err); ok {
		return &api.Error{
			Kind: api.Conflict, What: "cannot show the environment of " + display.Quote(string(j.ID)) + ": its user does not exist",
			Why: unknown.Error(), Fix: "cronring why " + display.Quote(string(j.ID)),
		}
	}
	if err != nil {
		return &api.Error{
			Kind: api.Conflict, What: "cannot show the environment of " + display.Quote(string(j.ID)), Why: err.Error(), Fix: "cronring why " + display.Quote(string(j.ID)),
		}
	}
	answer.V, answer.Job, answer.Due = api.Version, j.ID, due
	for _, o := range e.Effective() {
		if slices.Contains(holding, o.Key) && !slices.Contains([]string{"", "0", "no"}, cmp.Or(o.Value, "")) {
			answer.Held = append(answer.Held, setting(c, o, i))
		}
	}
	return c.Answer(answer)
}

// triggerOf returns what causes the runs of an entry.
func triggerOf(e *crontab.Entry) job.Trigger {
	switch o := e.Options(); {
	case o.Manual:
		return job.TriggerManual
	case len(o.On) > 0:
		return job.TriggerDependency
	case e.Reboot():
		return job.TriggerBoot
	case o.Triggers != nil:
		return job.TriggerEvent
	}
	return job.TriggerClock
}

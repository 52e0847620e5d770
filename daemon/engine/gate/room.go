package gate

import (
	"slices"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/engine/live"
	"github.com/cronring/cronring/daemon/job"
)

// instances checks max-instances=.
func (c *check) instances() Decision {
	if many := live.TooMany(c.Options, c.runs); many != "" {
		return skip(job.TooMany, many)
	}
	return Decision{}
}

// flood checks how many runs of the user have no process. It does not count for the only
// run of a job, or one that replaces the others.
func (c *check) flood() Decision {
	if len(c.runs) == 0 || c.replaces() {
		return Decision{}
	}
	if many := c.Unstarted.Flood(c.User, c.QueueMax, len(c.runs)); many != "" {
		return skip(job.TooManyWait, many)
	}
	return Decision{}
}

func (c *check) replaces() bool {
	return c.Options.Overlap == option.OverlapReplace || c.Options.Overlap == option.OverlapKill
}

// overlap checks overlap=. A run that waited already meets another run with a process only
// after a load that changed overlap=allow to another value, and then waits for that run.
func (c *check) overlap() Decision {
	switch {
	case c.Options.Overlap == option.OverlapAllow:
		return Decision{}
	case c.Run != nil:
		if slices.ContainsFunc(c.runs, func(x *live.Run) bool { return x != c.Run && (x.HasProcess() || x == c.Starting) }) {
			return Decision{Do: job.DecideHold, On: job.WaitsOnRun}
		}
		return Decision{}
	case len(c.runs) == 0:
		return Decision{}
	}
	behind := c.runs[0].DescribeState(c.Now)
	switch c.Options.Overlap {
	case option.OverlapSkip:
		return skip(job.Overlapping, behind)
	case option.OverlapQueue:
		if q := live.Queued(c.runs); q != nil {
			return skip(job.QueueFull, job.DetailQueued(q.ID, q.Due))
		}
	}
	return Decision{Do: job.DecideHold, On: job.WaitsOnRun, Detail: behind, Replaces: c.replaces()}
}

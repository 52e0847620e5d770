package gate

import (
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/job"
)

// mayRunHere checks whether the job may run on this host at all.
func (c *check) mayRunHere() Decision {
	switch o := c.Options; {
	case !o.Enabled:
		return skip(job.IsDisabled, "")
	case !catalog.IsHere(o, c.Node):
		return skip(job.OtherHost, job.DetailHost(c.Node))
	}
	if misfit := catalog.Misfit(c.Options, c.Labels); misfit != "" {
		return skip(job.OtherLabels, misfit)
	}
	return Decision{}
}

// held checks whether the entry has an option that cannot be honoured. Not even --force
// passes it, because the run would be without what the option demands.
func (c *check) held() Decision {
	if c.Options.Held != "" {
		return skip(job.IsHeld, job.Text(c.Options.Held))
	}
	return Decision{}
}

// userMayRun checks whether anything can run as the user of the job. Not even --force passes it.
func (c *check) userMayRun() Decision {
	if b, barred := c.Barred[c.User]; barred {
		return skip(b.Reason, job.Text(b.Detail))
	}
	return Decision{}
}

// paused checks whether a person has paused the job.
func (c *check) paused() Decision {
	h, ok := c.Holds.Of(c.ID, c.User)
	switch {
	case !ok:
		return Decision{}
	case !h.Skips && h.Covers(c.Now):
		return skip(job.IsPaused, h.Detail())
	case c.who&(manual|backfill|attempt) == 0 && c.CameDueIn(&h, c.Due):
		return skip(job.IsPaused, h.Detail())
	}
	return Decision{}
}

// breaker checks breaker=: after too many failures in a row the job is held for a while,
// and then one run at a time tries whether it works again.
func (c *check) breaker() Decision {
	if c.Options.Breaker.Failures == 0 {
		return Decision{}
	}
	l := c.summary()
	if l.Open.IsZero() {
		return Decision{}
	}
	if c.Now.Before(l.Open) {
		return skip(job.Broken, job.DetailBreakerUntil(l.Open.In(c.Zone), l.Bad))
	}
	for _, r := range c.runs {
		if r != c.Run && r.Probes(l.Open) {
			return skip(job.Broken, job.DetailProbe(r.ID))
		}
	}
	return Decision{}
}

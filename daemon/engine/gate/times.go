package gate

import (
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/agenda"
	"github.com/cronring/cronring/daemon/engine/live"
	"github.com/cronring/cronring/daemon/job"
)

// ranInPeriod checks whether a job of the period ran in it already. A check outside the
// schedule considers the whole period; see catalog.Period.
func (c *check) ranInPeriod() Decision {
	p := c.Options.Period
	if p == nil {
		return Decision{}
	}
	if c.Cause != job.FoundDue {
		p = c.Jobs.Period(c.Jobs.Entry(c.Slot))
	}
	if day, ran := agenda.RanOn(c.Stamps, p, timetable.DayOf(c.Now, c.Zone)); ran {
		return skip(job.AlreadyRan, day)
	}
	return Decision{}
}

// liveInPeriod checks whether a job of the period has a live run. Whatever overlap= is, a
// period has one at most: a second one would be a second run in the same period.
func (c *check) liveInPeriod() Decision {
	if p := c.Options.Period; p != nil {
		if other := live.OfPeriod(c.Live, p, c.Run); other != nil {
			return skip(job.Overlapping, other.DescribeState(c.Now))
		}
	}
	return Decision{}
}

// oncePer checks once-per=: once an occurrence has succeeded, the others of its period are
// skipped. Failures do not count, so the next occurrence is another chance. The summary has
// the due time of the newest success, and overlap=skip is the default, so no two runs can
// succeed at the same time.
func (c *check) oncePer() Decision {
	per := c.Options.OncePer
	if per == option.OncePerNone {
		return Decision{}
	}
	done := c.summary().SuccessDue
	if done.IsZero() || !per.Same(done, c.Due, c.Zone) && !(per == option.OncePerDue && c.repeats(done)) {
		return Decision{}
	}
	return skip(job.AlreadyRan, job.DetailSucceeded(done.In(c.Zone)))
}

// repeats reports whether the occurrence repeats one up to a success, because the clock
// was set back. A success of another day has a wrong time itself.
func (c *check) repeats(done time.Time) bool {
	return c.Due.Before(done) && done.Sub(c.Now) < 24*time.Hour && done.After(c.Now)
}

// deadline checks deadline=. For a run that waited for its hours, the time since these
// began counts.
func (c *check) deadline() Decision {
	d := c.Options.Deadline
	if d == 0 || c.Now.Sub(c.Due) <= d || c.Run != nil && c.Now.Sub(c.Run.Opened) <= d {
		return Decision{}
	}
	return skip(job.PastDeadline, job.DetailLate(c.Now.Sub(c.Due)))
}

// hours checks window=, blackout= and the blackouts of the host. The schedule of an entry
// has no occurrences outside of the allowed hours, or moves them. A run can still become ready
// outside of them, because it was caught up, waited for other jobs, or was not started by the
// clock. Then it waits or is skipped.
func (c *check) hours() Decision {
	opens, against := c.opens()
	switch {
	case against == "":
		return Decision{}
	case c.who&manual != 0:
		return Decision{Do: job.DecideSkip, Reason: job.OutsideHours, Detail: job.Text(against), Until: opens}
	case opens.IsZero() || !c.Options.WaitOutside && c.Options.Period == nil && c.Backfill == 0:
		return skip(job.OutsideHours, job.Text(against))
	}
	if c.who&(backfill|attempt) == 0 { // occurrences that wait for the same time are one run
		for _, x := range c.runs {
			if x != c.Run && x.WaitsOn() == job.WaitsOnHours && x.Attempt == 1 && !x.Requested() {
				return skip(job.OutsideHours, job.DetailRuleAndRun(against, x.DescribeState(c.Now)))
			}
		}
	}
	if c.merges(opens) {
		return skip(job.Superseded, job.DetailLate(c.Now.Sub(c.Due)))
	}
	return c.holdUntil(opens, job.WaitsOnHours, against)
}

// merges reports whether the schedule has an occurrence at the time at which the hours of a
// caught-up occurrence begin. Then only that one runs.
func (c *check) merges(opens time.Time) bool {
	if c.Run != nil || c.Trigger != job.TriggerCatchup {
		return false
	}
	s := c.Jobs.Entry(c.Slot).Schedule
	hours, wait := timetable.HoursOf(s)
	return hours != nil && wait && agenda.Next(s, c.Now).Equal(opens)
}

// opens returns when the hours of the occurrence begin, and the name of the rule that prevents
// a start now; "" if it can start now. An occurrence on time counts at its due time; if its run waited,
// it can also start now.
func (c *check) opens() (opens time.Time, against string) {
	opens, against = c.Blackouts.Opens(c.Options.Hours, c.Now)
	if c.Trigger == job.TriggerClock && c.Now.Sub(c.Due) <= c.Options.Grace {
		if then, before := c.Blackouts.Opens(c.Options.Hours, c.Due); c.Run == nil || before == "" && against != "" {
			return then, before
		}
	}
	return opens, against
}

// delay checks the delay and the hours of an entry with a period. The hours can be over for
// a run that waited for its delay, after a suspend, or for the end of a blackout.
func (c *check) delay() Decision {
	p := c.Options.Period
	if p == nil {
		return Decision{}
	}
	if c.Run != nil {
		on := c.Run.WaitsOn()
		if _, known := c.Stamps[p.ID]; !known || on != job.WaitsOnDelay && on != job.WaitsOnHours || p.InHours(c.Now, c.Zone) {
			return Decision{}
		}
	}
	at := agenda.StartOf(c.Stamps, p, c.Now, c.Zone)
	if !at.After(c.Now) {
		return Decision{}
	}
	return c.holdUntil(at, job.WaitsOnDelay, "")
}

// scatter delays a caught-up occurrence as jitter= and spread= would have, or until the host allows
// its user another start, so that the jobs of a host that was down do not start together. All
// missed occurrences of a job start after the same jitter, in order. It does not exceed deadline=.
func (c *check) scatter() Decision {
	if c.Trigger != job.TriggerCatchup || c.Options.Period != nil {
		return Decision{}
	}
	wait := c.Scattered(c.Now)
	if wait == 0 {
		return Decision{}
	}
	return c.holdUntil(c.Now.Add(wait), job.WaitsOnDelay, "")
}

// Scattered returns how long a caught-up occurrence waits from now on.
func (o *Occurrence) Scattered(now time.Time) time.Duration {
	wait := live.Scatter(o.Options.Scatter, o.ID, now)
	if d := o.Options.Deadline; d > 0 {
		wait = min(wait, o.Due.Add(d).Sub(now))
	}
	return max(wait, o.Wait, 0)
}

// backoff makes a further attempt wait, as backoff= requires. A preempted run waits for slots
// instead. A run that if-lost=rerun starts again does not wait. After an attempt that another
// member of the ring had begun, the wait begins again here.
func (c *check) backoff() Decision {
	b := c.Before
	switch {
	case b != nil && b.WasPreempted():
		return Decision{Do: job.DecideHold, On: job.WaitsOnSlot, Detail: job.DetailAfterPreemption(&b.Run)}
	case b != nil && b.Reruns():
		return c.retryAfter(0, job.DetailAfterResult(&b.Run))
	case b != nil:
		return c.retryAfter(live.Backoff(c.Options, b.Invocation, b.Attempt-b.Lost), job.DetailAfterResult(&b.Run))
	case c.IsHandedOver():
		x := c.Permit.Orphan
		return c.retryAfter(live.Backoff(c.Options, job.Invocation(c.ID, c.Due, 0, 0), max(x.Attempt, 1)-x.Lost), c.Detail)
	}
	return Decision{}
}

func (c *check) retryAfter(wait time.Duration, detail job.Detail) Decision {
	return Decision{Do: job.DecideHold, On: job.WaitsOnRetry, Until: c.Now.Add(wait), Detail: detail}
}

// holdUntil makes the occurrence wait until a time, because of a rule, or of a delay if rule is "".
func (c *check) holdUntil(at time.Time, on job.WaitsOn, rule string) Decision {
	return Decision{Do: job.DecideHold, On: on, Until: at, Detail: job.DetailWaitUntil(at.In(c.Zone), rule)}
}

package why

import (
	"cmp"
	"context"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/lookup"
	"github.com/cronring/cronring/daemon/store"
)

// addDecision settles which occurrence is meant, and what became of it.
func (x *Explainer) addDecision(ctx context.Context, c *call.Call, ev *evidence) error {
	if ev.at.IsZero() && !ev.waits.IsZero() {
		ev.at = ev.waits
	}
	if ev.at.IsZero() {
		if err := x.addNewest(ctx, c, ev); err != nil || ev.decided {
			ev.named = ev.decided && ev.names(ev.at)
			x.addRun(c, ev)
			return err
		}
		// What is held or paused has no next start, but an occurrence that it
		// will not start for.
		ev.at = cmp.Or(ev.next, ev.entry.Schedule.Next(ev.now).UTC())
		if ev.at.IsZero() {
			ev.at = ev.now
		}
	}
	return x.addAt(ctx, c, ev)
}

// addAt looks for a decision for the instant ev.at itself; then for the occurrence within the
// minute that begins there, and then for a manual run in that minute.
func (x *Explainer) addAt(ctx context.Context, c *call.Call, ev *evidence) error {
	if done, err := x.addExactly(ctx, c, ev); done || err != nil {
		return err
	}
	from, to := ev.at, ev.at.Add(time.Minute)
	if first := ev.entry.Schedule.Next(from.Add(-1)); !first.IsZero() && first.Before(to) {
		ev.at, ev.named = first.UTC(), true
	} else if err := x.findTimeless(ctx, c, ev, from, to); err != nil {
		return err
	} else {
		ev.findStart(c, from, to)
	}
	var err error
	if ev.record, ev.decided, err = x.find.DecisionAt(ctx, c, ev.job.ID, ev.at); err != nil {
		return err
	}
	if !ev.decided && !ev.named {
		if err := x.addAsked(ctx, c, ev, store.Filter{Since: from, Until: to}); err != nil {
			return err
		}
	}
	x.addRun(c, ev)
	return nil
}

// addExactly looks for a decision for the instant itself. The schedule may have another occurrence
// soon after a manual run.
func (x *Explainer) addExactly(ctx context.Context, c *call.Call, ev *evidence) (done bool, err error) {
	at := ev.at
	if ev.record, ev.decided, err = x.find.DecisionAt(ctx, c, ev.job.ID, at); err != nil {
		return false, err
	}
	if !ev.decided {
		if err = x.addAsked(ctx, c, ev, store.Filter{Since: at, Until: at.Add(time.Second)}); err != nil {
			return false, err
		}
	}
	if !ev.decided && at.Equal(ev.waits) {
		ev.named = true
		return true, nil
	}
	if !ev.decided || !ev.at.Equal(at) {
		ev.at, ev.decided, ev.record = at, false, job.Record{}
		return false, nil
	}
	ev.named = ev.names(at)
	x.addRun(c, ev)
	return true, nil
}

// findTimeless looks for the occurrence of an entry without times, such as one with on= or delay=, that
// is due within a time.
func (x *Explainer) findTimeless(ctx context.Context, c *call.Call, ev *evidence, from, to time.Time) error {
	if !timetable.IsTimeless(ev.entry.Schedule) {
		return nil
	}
	if !ev.next.Before(from) && ev.next.Before(to) {
		ev.at, ev.named = ev.next.UTC(), true
		return nil
	}
	records, err := x.find.Decisions(ctx, c, ev.job.ID, from, to, 1)
	if len(records) > 0 {
		ev.at, ev.named = records[0].Due, true
	}
	return err
}

// names reports whether the entry names an instant. An entry without times names those that
// were decided, and with delay= the next one.
func (ev *evidence) names(at time.Time) bool {
	if timetable.IsTimeless(ev.entry.Schedule) {
		return ev.decided || at.Equal(ev.next) || at.Equal(ev.waits)
	}
	return isOccurrence(ev.entry.Schedule, at)
}

// findStart looks for the occurrence of an entry with a period that starts
// within a time: it comes before, by the delay and the hours of its line.
func (ev *evidence) findStart(c *call.Call, from, to time.Time) {
	p := ev.entry.Options().Period
	if p == nil {
		return
	}
	within := func(start time.Time) bool { return !start.Before(from) && start.Before(to) }
	for _, r := range c.View.Runs() {
		if r.Job == ev.job.ID && within(r.NotBefore) && c.SeesRun(&r) {
			ev.at = r.Due
			return
		}
	}
	due := timetable.Previous(ev.entry.Schedule, to)
	if !due.IsZero() && (within(due.Add(p.Delay)) || within(p.Start(due, ev.entry.Zone().Location()))) {
		ev.at, ev.named = due.UTC(), true
	}
}

// addAsked finds the newest manual run among the chosen ones. It is not an occurrence, so no
// decision about it is stored.
func (x *Explainer) addAsked(ctx context.Context, c *call.Call, ev *evidence, f store.Filter) error {
	f.Jobs, f.Trigger, f.Limit = []job.ID{ev.job.ID}, job.TriggerManual, 1
	runs, err := x.find.Runs(ctx, c, f)
	if err != nil || len(runs) == 0 || ev.decided && runs[0].Decided.Before(ev.record.At) {
		return err
	}
	r := runs[0]
	ev.decided, ev.at = true, r.Due
	ev.record = job.Record{
		At: r.Decided, Kind: job.Decided, Job: r.Job, Due: r.Due, Era: r.Era,
		Decision: job.DecideRun, Reason: job.AskedFor, Run: &r,
	}
	return nil
}

// addNewest finds the newest decision: a manual run, or an occurrence. Of the occurrences of the
// last hour, day or month it prefers the newest that was not run, or that waits.
func (x *Explainer) addNewest(ctx context.Context, c *call.Call, ev *evidence) error {
	if err := x.addNewestOccurrence(ctx, c, ev); err != nil {
		return err
	}
	return x.addAsked(ctx, c, ev, store.Filter{})
}

func (x *Explainer) addNewestOccurrence(ctx context.Context, c *call.Call, ev *evidence) error {
	waits := map[job.RunID]bool{}
	for _, r := range c.View.Runs() {
		if r.Job == ev.job.ID && isWaiting(r) && c.SeesRun(&r) {
			waits[r.ID] = true
		}
	}
	isNotable := func(r job.Record) bool {
		return r.Decision == job.DecideSkip || r.Run != nil && waits[r.Run.ID]
	}
	for _, span := range []time.Duration{time.Hour, 24 * time.Hour, month} {
		found, err := x.newestSince(ctx, c, ev, ev.now.Add(-span), isNotable)
		if err != nil {
			return err
		}
		if found.Job != "" && (!ev.decided || isNotable(found)) {
			ev.record, ev.decided, ev.at = found, true, found.Due
		}
		if isNotable(ev.record) {
			return nil
		}
	}
	return nil
}

// isWaiting reports whether a run has not started yet.
func isWaiting(r job.Run) bool { return r.State == job.RunQueued || r.State == job.RunWaiting }

// newestSince returns the newest decision; it prefers notable ones.
func (x *Explainer) newestSince(ctx context.Context, c *call.Call, ev *evidence, from time.Time, isNotable func(job.Record) bool) (newest job.Record, err error) {
	records, err := x.find.Decisions(ctx, c, ev.job.ID, from, ev.now.Add(time.Second), lookup.MaxRows)
	for _, r := range records {
		if isNotable(r) || !isNotable(newest) {
			newest = r
		}
	}
	return newest, err
}

// addRun brings the run of the decision up to date.
func (x *Explainer) addRun(c *call.Call, ev *evidence) {
	if ev.record.Run == nil || !c.SeesRun(ev.record.Run) {
		return
	}
	r := *ev.record.Run
	if live, ok := c.View.Run(r.ID); ok {
		r = live
	}
	ev.run = &r
}

func isOccurrence(s cron.Schedule, at time.Time) bool { return s.Next(at.Add(-1)).Equal(at) }

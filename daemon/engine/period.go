package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/agenda"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/live"
	"github.com/cronring/cronring/daemon/job"
)

// An entry with a Period runs once in each period, however often its schedule comes due.
// It is either an entry of an anacrontab, whose schedule is every midnight, or an entry
// of a crontab that replaces anacron and keeps its own times. Entries with the same
// period ID share a stamp, the day on which one of them last ran. The first of them to
// come due runs.
//
// An occurrence triggers the check whether the period is over. A day that the host slept
// through is therefore checked after resume, by the same catch-up rule as for other
// entries. checkPeriod checks periods outside their schedules.

// decidePeriod decides the occurrences of an entry with a period: at most the newest one
// runs.
func (e *Engine) decidePeriod(j *firing, due agenda.Occurrences) {
	if day, ran := e.ranOn(j); ran {
		e.skip(j, due.First, due.Last(), due.Older+len(due.List), job.AlreadyRan, day)
		return
	}
	p := agenda.Catchup(j.options, timetable.FixedTime(j.entry.Schedule), due.List, e.now.Wall)
	p.Missed = max(p.Missed, len(due.List)-1)
	e.skipOld(j, due, p)
	for i, at := range due.List[p.Missed:] {
		if p.Missed+i < p.OnTime {
			e.admitPeriod(j, at, job.TriggerCatchup, job.CaughtUp)
		} else {
			e.admitPeriod(j, at, job.TriggerClock, job.OnTime)
		}
	}
}

// ranOn reports whether the job already ran in the current period, and on which day.
// Without a stamp it did not.
func (e *Engine) ranOn(j *firing) (day string, ran bool) {
	return agenda.RanOn(e.stamps, e.jobs.Period(j.entry), timetable.DayOf(e.now.Wall, j.entry.Zone().Location()))
}

// admitPeriod starts an occurrence of a period, makes it wait for its delay and hours, or
// skips it. Whatever overlap= is, a period has one live run at most: a second one would
// be a second run in the same period.
func (e *Engine) admitPeriod(j *firing, due time.Time, t job.Trigger, reason job.Reason) {
	if other := live.OfPeriod(e.live, j.options.Period, nil); other != nil {
		e.skip(j, due, due, 1, job.Overlapping, other.DescribeState(e.now.Wall))
		return
	}
	if success := e.oncePerSuccess(j, due); success != "" {
		e.skip(j, due, due, 1, job.AlreadyRan, success)
		return
	}
	if against := e.skippedOutside(j, due, t); against != "" {
		e.skip(j, due, due, 1, job.OutsideHours, against)
		return
	}
	at := agenda.StartOf(e.stamps, j.options.Period, e.now.Wall, j.entry.Zone().Location())
	if !at.After(e.now.Wall) {
		e.begin(j, due, t, reason)
		return
	}
	r := e.newRun(j, due, t)
	e.waitUntil(r, at)
	e.recordRun(job.Decided, job.DecideHold, r, live.DescribeWait(r))
}

func (e *Engine) waitUntil(r *live.Run, at time.Time) {
	r.Wait(job.WaitsOnDelay)
	r.NotBefore = at
	e.timers.Add(agenda.Timer{At: e.now.UpAt(at), Run: r.ID, Kind: agenda.WaitOver})
}

// stillDue checks again a run that was held back. It drops the run if the job of the
// period ran meanwhile or is running. Retries and manual runs are not checked: retries
// belong to a run that was due.
func (e *Engine) stillDue(r *live.Run, j *firing) bool {
	p := j.options.Period
	if p == nil || r.Trigger == job.TriggerRetry || r.Trigger == job.TriggerManual {
		return true
	}
	if day, ran := e.ranOn(j); ran {
		e.dropFor(r, job.AlreadyRan, day)
		return false
	}
	if other := live.OfPeriod(e.live, p, r); other != nil {
		e.dropFor(r, job.Overlapping, other.DescribeState(e.now.Wall))
		return false
	}
	return true
}

// outOfHours checks whether the hours of the period are over for a run that waited for its
// delay, as may happen after a suspend, or for the end of a blackout. If so, the run waits
// until the next hours.
func (e *Engine) outOfHours(r *live.Run, j *firing) bool {
	if on := r.WaitsOn(); j.options.Period == nil || on != job.WaitsOnDelay && (on != job.WaitsOnHours || r.Attempt > 1) {
		return false
	}
	p := j.options.Period
	if _, known := e.stamps[p.ID]; !known || p.InHours(e.now.Wall, r.Zone) {
		return false
	}
	e.waitUntil(r, p.Start(e.now.Wall, r.Zone))
	e.recordRun(job.Queued, "", r, live.DescribeWait(r))
	return true
}

// stamp records that the job of a period ran, and reports whether it did so. As in
// anacron, the exit status does not matter, and the day is the day on which the run was
// found due. A run that was lost, did not start or was stopped by the daemon's end leaves
// no stamp: the next check finds the period due.
func (e *Engine) stamp(r *live.Run) bool {
	p, o := r.Options.Period, r.Outcome.Kind
	if p == nil || o == job.Lost || o == job.NotStarted || r.StopReason == job.DaemonStopped {
		return false
	}
	found := r.Decided
	if waited := r.Run.Started.Add(-p.Delay); r.Trigger != job.TriggerRetry && !r.NotBefore.IsZero() && waited.After(found) {
		found = waited // it waited into another day, for its hours or during a suspend
	}
	day := timetable.DayOf(found, r.Zone)
	e.setStamp(p.ID, day)
	e.emit(effect.Stamp{ID: p.ID, Day: day})
	return true
}

// setStamp replaces the map, because views share the old one.
func (e *Engine) setStamp(id string, day timetable.Day) {
	stamps := make(map[string]timetable.Day, len(e.stamps)+1)
	for k, v := range e.stamps {
		stamps[k] = v
	}
	stamps[id] = day
	e.stamps = stamps
}

// lookAgain checks a period again if its run ended on a later day than its stamp. The
// occurrence of that later day was skipped because the run was still live.
func (e *Engine) lookAgain(r *live.Run) {
	p := r.Options.Period
	if stamp, known := e.stamps[p.ID]; !known || stamp >= timetable.DayOf(e.now.Wall, r.Zone) {
		return
	}
	for _, slot := range e.jobs.Periods() {
		if e.jobs.Options(slot).Period.ID == p.ID {
			e.checkPeriod(slot)
		}
	}
}

// checkPeriod checks outside the schedule whether a period is over. It is called at the first
// start after boot, as in anacron; when a job is new, because a new job has no missed
// occurrence; and when a run has lasted into another day.
//
// If an occurrence of the entry waits to be decided, checkPeriod leaves the check to that.
// anacron is started every hour because it exits in between; here, nothing that affects
// the result changes unnoticed. Other restarts of the daemon check nothing: a run that
// was live when the daemon ended may still be live, and must not run twice. The check
// considers the whole period.
//
// An entry of an anacrontab without a stamp is due, as in anacron. An entry of a crontab
// is caught up only if its stamp shows that today's run is missing. A host whose cron ran
// the entry this morning has no stamp, and must not run it again because cronring is
// installed at noon.
func (e *Engine) checkPeriod(slot int) {
	j := e.firing(slot)
	now := e.now.Wall
	if e.draining || e.marks[slot] > now.UnixNano() || slices.Contains(e.pending, slot) {
		return
	}
	if reason, _ := e.standing(j); reason != "" || live.OfPeriod(e.live, j.options.Period, nil) != nil {
		return
	}
	today := timetable.DayOf(now, j.entry.Zone().Location())
	if _, ran := agenda.RanOn(e.stamps, j.options.Period, today); ran || !anacronLine(j.entry) && !e.missesToday(j) {
		return
	}
	e.marks[slot] = now.UnixNano()
	e.admitPeriod(j, now, job.TriggerCatchup, job.FoundDue)
}

func anacronLine(entry *crontab.Entry) bool { return entry.File().Format == crontab.Anacron }

// missesToday reports whether a job with a stamp had an occurrence today.
func (e *Engine) missesToday(j *firing) bool {
	if _, known := e.stamps[j.options.Period.ID]; !known {
		return false
	}
	year, month, day := e.now.Wall.In(j.entry.Zone().Location()).Date()
	midnight := time.Date(year, month, day, 0, 0, 0, 0, j.entry.Zone().Location())
	at := agenda.Next(j.entry.Schedule, midnight.Add(-1))
	return !at.IsZero() && !at.After(e.now.Wall)
}

// An entry with once-per= has at most one success in a period: once an occurrence has
// succeeded, the others of the period are skipped. Their failures do not count, so that
// they are further chances. The ledger has the due time of the newest success, and
// overlap=skip is the default, so that no two runs can succeed side by side.

// oncePerSuccess returns which success of a job lets an occurrence be skipped, or "".
func (e *Engine) oncePerSuccess(j *firing, due time.Time) (detail string) {
	per := j.options.OncePer
	if per == option.OncePerNone || j.by != "" {
		return ""
	}
	return e.successIn(per, e.ledger(j.id, j.entry.User()).SuccessDue, due, j.entry.Zone().Location())
}

// successIn returns the success of a period, or "". done is the due time of the newest
// success.
func (e *Engine) successIn(per option.OncePer, done, due time.Time, zone *time.Location) (detail string) {
	if done.IsZero() || !per.Same(done, due, zone) && !(per == option.OncePerDue && e.wasBefore(done, due)) {
		return ""
	}
	return fmt.Sprintf("the occurrence of %s succeeded", done.In(zone).Format(time.RFC3339))
}

// wasBefore reports whether an occurrence repeats one up to a success, because the clock
// was set back. A success of another day has a wrong time itself.
func (e *Engine) wasBefore(done, due time.Time) bool {
	return due.Before(done) && done.Sub(e.now.Wall) < 24*time.Hour && done.After(e.now.Wall)
}

// succeededMeanwhile drops a run that was held back if the job had a success in its
// period. Runs that a person requested continue.
func (e *Engine) succeededMeanwhile(r *live.Run, j *firing) bool {
	if r.Options.OncePer == option.OncePerNone || r.Requested() {
		return false
	}
	detail := e.oncePerSuccess(j, r.Due)
	if detail != "" {
		e.dropFor(r, job.AlreadyRan, detail)
	}
	return detail != ""
}

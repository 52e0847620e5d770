package engine

import (
	"slices"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/agenda"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/gate"
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

// stamp records that the job of a period ran, and reports whether it did so. As in
// anacron, the exit status does not matter, and the day is the day on which the run was
// found due. A run that was lost, did not start or was stopped by the daemon's end leaves
// no stamp: the next check finds the period due.
func (e *Engine) stamp(r *live.Run) bool {
	p, o := r.Options.Period, r.Outcome.Kind
	if p == nil || o == job.Lost || o == job.NotStarted || r.WasPreempted() || r.StopReason == job.DaemonStopped {
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
	now := e.now.Wall
	if e.draining || e.marks[slot] > now.UnixNano() || slices.Contains(e.pending, slot) {
		return
	}
	o := e.occurrence(slot, now, job.TriggerCatchup, job.FoundDue)
	d := e.judge(&o)
	if d.Do == job.DecideSkip || !anacronLine(e.jobs.Entry(slot)) && !e.missesToday(&o.Job) {
		return
	}
	e.marks[slot] = now.UnixNano()
	e.admit(&o, d)
}

func anacronLine(entry *crontab.Entry) bool { return entry.File().Format == crontab.Anacron }

// missesToday reports whether a job with a stamp had an occurrence today.
func (e *Engine) missesToday(j *gate.Job) bool {
	if _, known := e.stamps[j.Options.Period.ID]; !known {
		return false
	}
	year, month, day := e.now.Wall.In(j.Zone).Date()
	midnight := time.Date(year, month, day, 0, 0, 0, 0, j.Zone)
	at := agenda.Next(e.jobs.Entry(j.Slot).Schedule, midnight.Add(-1))
	return !at.IsZero() && !at.After(e.now.Wall)
}

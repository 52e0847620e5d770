package engine

import (
	"slices"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// An entry with a Period runs once in it, whatever its schedule names: a line
// of anacrontab, whose schedule is each midnight, or a line of a crontab that
// stands in for anacron and keeps its times. Entries that share a period's ID
// share its stamp, the day on which it last ran: whoever comes first does it.
//
// Occurrences tell when to ask, so a day that was slept through is asked about
// on resume, by the catch-up rule of all entries. Outside its schedule a
// period is asked about by look.

// decidePeriod says what becomes of the occurrences of an entry with a period:
// at most the newest runs.
func (e *Engine) decidePeriod(j *firing, due occurrences) {
	if day, ran := e.ranOn(j); ran {
		e.skip(j, due.first, due.last(), due.older+len(due.list), job.AlreadyRan, day)
		return
	}
	p := catchup(j.options, crontab.FixedTime(j.entry.Schedule), due.list, e.now.Wall)
	p.missed = max(p.missed, len(due.list)-1)
	e.skipOld(j, due, p)
	for i, at := range due.list[p.missed:] {
		if p.missed+i < p.onTime {
			e.admitPeriod(j, at, job.TriggerCatchup, job.CaughtUp)
		} else {
			e.admitPeriod(j, at, job.TriggerClock, job.OnTime)
		}
	}
}

// ranOn tells whether the period of a job is not over yet, and on which day it
// ran. Without a stamp it is over.
func (e *Engine) ranOn(j *firing) (day string, ran bool) {
	return ranOn(e.stamps, e.jobs.Period(j.entry), crontab.DayOf(e.now.Wall, j.entry.Zone().Location()))
}

func ranOn(stamps map[string]crontab.Day, p *crontab.Period, today crontab.Day) (day string, ran bool) {
	stamp, known := stamps[p.ID]
	if !known || p.Due(stamp, today) {
		return "", false
	}
	return "on " + stamp.String(), true
}

// admitPeriod starts an occurrence of a period, lets it wait for its delay and
// hours, or skips it. One run of a period at a time, whatever overlap= says:
// two would be two in one period.
func (e *Engine) admitPeriod(j *firing, due time.Time, t job.Trigger, reason job.Reason) {
	if other := e.holder(j.options.Period, nil); other != nil {
		e.skip(j, due, due, 1, job.Overlapping, e.going(other))
		return
	}
	at := startOf(e.stamps, j.options.Period, e.now.Wall, j.entry.Zone().Location())
	if !at.After(e.now.Wall) {
		e.begin(j, due, t, reason)
		return
	}
	r := e.newRun(j, due, t)
	e.waitUntil(r, at)
	e.recordRun(job.Decided, job.DecideHold, r, waiting(r))
}

// waiting says until when, on the clock of the entry.
func waiting(r *run) string { return "until " + r.NotBefore.In(r.zone).Format(time.RFC3339) }

// startOf is when a run that is found due now may start. As under anacron, the
// hours of the day are not asked of a job that never ran.
func startOf(stamps map[string]crontab.Day, p *crontab.Period, now time.Time, zone *time.Location) time.Time {
	if _, known := stamps[p.ID]; !known {
		return now.Add(p.Delay)
	}
	return p.Start(now, zone)
}

func (e *Engine) waitUntil(r *run, at time.Time) {
	r.Wait(job.WaitsOnDelay)
	r.NotBefore = at
	e.timers.add(timer{at: e.upAt(at), run: r.ID, kind: waitOver})
}

// holder is the oldest live run of a period other than one, or nil.
func (e *Engine) holder(p *crontab.Period, but *run) *run {
	var oldest *run
	for _, r := range e.live {
		if q := r.options.Period; q != nil && q.ID == p.ID && r != but && (oldest == nil || r.ID < oldest.ID) {
			oldest = r
		}
	}
	return oldest
}

// stillDue looks again at a run that waited for its delay: it is dropped if
// another did the work, and waits on if its hours are over, as after a suspend.
// A retry and what a person asked for are not asked: they are of a run that was
// due.
func (e *Engine) stillDue(r *run, j *firing) bool {
	p := j.options.Period
	if p == nil || r.Trigger == job.TriggerRetry || r.Trigger == job.TriggerManual {
		return true
	}
	if day, ran := e.ranOn(j); ran {
		e.dropFor(r, job.AlreadyRan, day)
		return false
	}
	if other := e.holder(p, r); other != nil {
		e.dropFor(r, job.Overlapping, e.going(other))
		return false
	}
	return true
}

// outOfHours lets a run that waited for its delay wait on if its hours are
// over, as they may be after a suspend.
func (e *Engine) outOfHours(r *run, j *firing) bool {
	if j.options.Period == nil || r.WaitsOn() != job.WaitsOnDelay {
		return false
	}
	p := j.options.Period
	if _, known := e.stamps[p.ID]; !known || p.InHours(e.now.Wall, r.zone) {
		return false
	}
	e.waitUntil(r, p.Start(e.now.Wall, r.zone))
	e.recordRun(job.Queued, "", r, waiting(r))
	return true
}

// stamp writes down that a period ran. As under anacron the status does not
// count, and the day is that on which the run was found due. A run of which
// nobody knows the end, that did not start or that the daemon's own end cut
// short leaves none, and false is returned: the next look finds the period due.
func (e *Engine) stamp(r *run) bool {
	p, o := r.options.Period, r.Outcome.Kind
	if p == nil || o == job.Lost || o == job.NotStarted || r.stop == job.DaemonStopped {
		return false
	}
	found := r.Decided
	if waited := r.Run.Started.Add(-p.Delay); r.Trigger != job.TriggerRetry && !r.NotBefore.IsZero() && waited.After(found) {
		found = waited // for its hours, or asleep, into another day
	}
	day := crontab.DayOf(found, r.zone)
	e.setStamp(p.ID, day)
	e.emit(Stamp{p.ID, day})
	return true
}

// setStamp replaces the map, as views share the old one.
func (e *Engine) setStamp(id string, day crontab.Day) {
	stamps := make(map[string]crontab.Day, len(e.stamps)+1)
	for k, v := range e.stamps {
		stamps[k] = v
	}
	stamps[id] = day
	e.stamps = stamps
}

// lookAgain asks about a period of which a run ended on a later day than that
// of its stamp: the day that began meanwhile found it running.
func (e *Engine) lookAgain(r *run) {
	p := r.options.Period
	if stamp, known := e.stamps[p.ID]; !known || stamp >= crontab.DayOf(e.now.Wall, r.zone) {
		return
	}
	for _, slot := range e.jobs.Periods() {
		if e.jobs.Options(slot).Period.ID == p.ID {
			e.look(slot)
		}
	}
}

// look asks outside the schedule whether a period is over: at the first start
// after boot, as anacron does; when a job is new, which therefore has no missed
// occurrence; and when a run has lasted into another day. An entry of which an occurrence waits to be decided is
// left to that. anacron itself is started each hour, as it sleeps in between;
// here nothing that the answer hangs on changes unseen. At other restarts nothing is asked: what ran when the daemon
// ended may live on, and is not to run twice. Here the whole period counts.
//
// A line of anacrontab without stamp is due, as under anacron. A crontab's
// line is made up only for a stamp that says that today's run is missing: a
// host whose cron ran it this morning has none, and must not run it again
// because we are installed at noon.
func (e *Engine) look(slot int) {
	j := e.firing(slot)
	now := e.now.Wall
	if e.draining || e.marks[slot] > now.UnixNano() || slices.Contains(e.pending, slot) {
		return
	}
	if reason, _ := e.standing(j); reason != "" || e.holder(j.options.Period, nil) != nil {
		return
	}
	today := crontab.DayOf(now, j.entry.Zone().Location())
	if _, ran := ranOn(e.stamps, j.options.Period, today); ran || !anacronLine(j.entry) && !e.missesToday(j) {
		return
	}
	e.marks[slot] = now.UnixNano()
	e.admitPeriod(j, now, job.TriggerCatchup, job.FoundDue)
}

func anacronLine(entry *crontab.Entry) bool { return entry.Table().Format == crontab.Anacron }

// missesToday tells whether a job with a stamp had an occurrence today.
func (e *Engine) missesToday(j *firing) bool {
	if _, known := e.stamps[j.options.Period.ID]; !known {
		return false
	}
	year, month, day := e.now.Wall.In(j.entry.Zone().Location()).Date()
	midnight := time.Date(year, month, day, 0, 0, 0, 0, j.entry.Zone().Location())
	at := nextAfter(j.entry.Schedule, midnight.Add(-1))
	return !at.IsZero() && !at.After(e.now.Wall)
}

// nextOfPeriod is the first start of an entry with a period after an instant:
// the first occurrence of each period, later by its delay and hours.
func (v *View) nextOfPeriod(entry *crontab.Entry, after time.Time) time.Time {
	const patience = 10_000 // occurrences: 27 years of midnights
	p, zone := v.jobs.Period(entry), entry.Zone().Location()
	stamps := v.stamps
	if v.busy[p.ID] { // the run that lives is today's
		stamps = map[string]crontab.Day{p.ID: crontab.DayOf(v.now.Wall, zone)}
	}
	at := v.now.Wall
	for range patience {
		if at = nextAfter(entry.Schedule, at); at.IsZero() {
			break
		}
		today := crontab.DayOf(at, zone)
		if _, ran := ranOn(stamps, p, today); ran {
			continue
		}
		if start := startOf(stamps, p, at, zone); start.After(after) {
			return start
		}
		stamps = map[string]crontab.Day{p.ID: today}
	}
	return time.Time{}
}

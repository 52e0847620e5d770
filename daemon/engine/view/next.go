package view

import (
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/agenda"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/job"
)

// nextOfPeriod returns the first start after an instant of an entry with a period: the
// first occurrence of each period, later by its delay, hours and blackouts.
func (v *View) nextOfPeriod(entry *crontab.Entry, after time.Time) time.Time {
	const patience = 10_000 // occurrences: 27 years of midnights
	p, zone := v.jobs.Period(entry), entry.Zone().Location()
	stamps := v.stamps
	if v.busy[p.ID] { // the live run is today's
		stamps = map[string]timetable.Day{p.ID: timetable.DayOf(v.now.Wall, zone)}
	}
	at := v.now.Wall
	for range patience {
		if at = agenda.Next(entry.Schedule, at); at.IsZero() {
			break
		}
		today := timetable.DayOf(at, zone)
		if _, ran := agenda.RanOn(stamps, p, today); ran {
			continue
		}
		start := agenda.StartOf(stamps, p, at, zone)
		opens, against := v.blackouts.Opens(entry.Options().Hours, start)
		if against != "" && !opens.IsZero() && !p.InHours(opens, zone) {
			opens = p.Start(opens, zone)
		}
		if opens.IsZero() || opens.After(after) {
			return opens
		}
		stamps = map[string]timetable.Day{p.ID: today}
	}
	return time.Time{}
}

// Next returns the first occurrence of job i after an instant that is planned to run. It
// returns zero if there is none: the schedule has no further time, the job is disabled,
// held or for other hosts, its user may not run jobs, or it is paused without an end. For
// an entry with a period, it returns the time of the start, after delay and hours. For an
// entry with delay=, it returns the planned occurrence if no run is live: later ones are
// not known.
func (v *View) Next(i int, after time.Time) time.Time {
	if !v.Planned(i) {
		return time.Time{}
	}
	if delay := timetable.DelayOf(v.Entry(i).Schedule); delay > 0 {
		return v.nextOfDelay(i, delay, after)
	}
	if v.ahead != nil { // the clock was set back
		if done := time.Unix(0, v.ahead[i]).UTC(); done.After(v.now.Wall) && done.After(after) {
			after = done
		}
	}
	if h := v.Hold(i); h != nil {
		if h.Until.IsZero() {
			return time.Time{}
		}
		if h.Until.After(after) {
			if v.catchesUp(i, timetable.Previous(v.Entry(i).Schedule, h.Until), h.Until) {
				return h.Until
			}
			after = h.Until.Add(-1)
		}
	}
	if v.jobs.Options(i).Period != nil {
		if at := v.waitsUntil(v.ID(i)); at.After(after) {
			return at
		}
	}
	at := v.nextOutsidePause(i, after)
	if per := v.jobs.Options(i).OncePer; per != option.OncePerNone {
		return v.nextPeriod(i, per, at)
	}
	return at
}

// CountsPause reports whether the occurrences of job i wait for the end of its pause, by
// pause-counts=.
func (v *View) CountsPause(i int) bool {
	h, paused := v.holds.Of(v.ID(i), v.Entry(i).User())
	return v.jobs.Options(i).PauseCounts && paused && !h.Skips
}

// WaitsForResume returns the newest occurrence of job i that waits for the end of the
// pause, or zero.
func (v *View) WaitsForResume(i int) time.Time {
	h, _ := v.holds.Of(v.ID(i), v.Entry(i).User())
	if !v.CountsPause(i) || !h.Covers(v.now.Wall) || !v.Planned(i) {
		return time.Time{}
	}
	if up, planned := v.planned.At(i); planned && up <= int64(v.now.Up) {
		return agenda.InSteps(v.now.Wall.Add(time.Duration(up) - v.now.Up))
	}
	return v.dueInPause(h, timetable.Previous(v.Entry(i).Schedule, v.now.Wall.Add(1)))
}

// dueInPause returns due, or zero if it is before the pause.
func (v *View) dueInPause(h job.Hold, due time.Time) time.Time {
	if due.Before(h.Since) || due.Before(h.From) {
		return time.Time{}
	}
	return due.UTC()
}

// catchesUp reports whether an occurrence of job i that waits for the end of its pause is
// caught up at that time.
func (v *View) catchesUp(i int, due, until time.Time) bool {
	h, _ := v.holds.Of(v.ID(i), v.Entry(i).User())
	if !v.CountsPause(i) || !h.Until.Equal(until) || v.dueInPause(h, due).IsZero() {
		return false
	}
	plan := agenda.Catchup(v.jobs.Options(i), timetable.FixedTime(v.Entry(i).Schedule), []time.Time{due}, until)
	return plan.Missed == 0
}

// nextOfDelay returns the planned occurrence of a job with delay= if it is after an
// instant. The occurrences that a pause or once-per= skips come delay= after each other.
func (v *View) nextOfDelay(i int, delay time.Duration, after time.Time) time.Time {
	up, planned := v.planned.At(i)
	at := agenda.InSteps(v.now.Wall.Add(job.Sum(time.Duration(up), -v.now.Up)))
	if !planned {
		return time.Time{}
	}
	for _, h := range []*job.Hold{v.Hold(i), v.PlannedPause(i)} {
		switch {
		case h == nil || !h.Covers(at) && !(h.Covers(v.now.Wall) && at.Before(h.Until)):
		case h.Until.IsZero():
			return time.Time{}
		case v.catchesUp(i, at, h.Until):
			at = h.Until
		case v.CountsPause(i):
			at = h.Until.Add(delay)
		default:
			at = repeated(at, h.Until, delay)
		}
	}
	if !at.After(after) {
		return time.Time{}
	}
	o, zone := v.jobs.Options(i), v.Entry(i).Zone().Location()
	if per := o.OncePer; per != option.OncePerNone && per.Same(v.Problems(i).Done, at, zone) {
		at = repeated(at, per.End(at, zone), delay)
	}
	if opens, against := v.blackouts.Opens(o.Hours, at); against != "" && !opens.IsZero() {
		return opens
	}
	return at
}

// repeated returns the first time no earlier than until, from at on in steps.
func repeated(at, until time.Time, step time.Duration) time.Time {
	if !at.Before(until) {
		return at
	}
	return at.Add((until.Sub(at) + step - 1) / step * step)
}

// nextOutsidePause returns the first occurrence after an instant that is in no blackout
// of the host, and not in a pause that begins later.
func (v *View) nextOutsidePause(i int, after time.Time) time.Time {
	at := v.nextOutsideBlackouts(i, after)
	h := v.PlannedPause(i)
	switch {
	case h == nil || at.IsZero() || !h.Covers(at):
		return at
	case h.Until.IsZero():
		return time.Time{}
	}
	return v.nextOutsideBlackouts(i, h.Until.Add(-1))
}

// AlreadyRan reports whether a coming occurrence of job i is skipped because the job
// already ran in its period, and when that was.
func (v *View) AlreadyRan(i int, due time.Time) (when job.Detail, ran bool) {
	entry, o := v.Entry(i), v.jobs.Options(i)
	zone := entry.Zone().Location()
	if o.Period != nil {
		return agenda.RanOn(v.stamps, v.jobs.Period(entry), timetable.DayOf(due, zone))
	}
	done := v.Problems(i).Done
	if o.OncePer == option.OncePerNone || !o.OncePer.Same(done, due, zone) {
		return "", false
	}
	return job.DetailSucceeded(done.In(zone)), true
}

// nextPeriod returns at, or the next occurrence of a later period if the job has
// succeeded in that of at.
func (v *View) nextPeriod(i int, per option.OncePer, at time.Time) time.Time {
	done, zone := v.Problems(i).Done, v.Entry(i).Zone().Location()
	for !at.IsZero() && per.Same(done, at, zone) {
		after := at
		if end := per.End(at, zone); end.After(at) {
			after = end.Add(-1)
		}
		at = v.nextOutsidePause(i, after)
	}
	return at
}

// Blackout returns the blackout of the host at an instant, and its end; "" if there is
// none. The end is zero if the blackout has none.
func (v *View) Blackout(at time.Time) (name string, until time.Time) {
	until, name = v.blackouts.Opens(nil, at)
	return name, until
}

// nextOutsideBlackouts returns the first occurrence after an instant that is in no
// blackout of the host, or the end of the blackout if outside=wait moves it there.
func (v *View) nextOutsideBlackouts(i int, after time.Time) time.Time {
	const patience = 10_000 // occurrences in blackouts
	s, o := v.Entry(i).Schedule, v.jobs.Options(i)
	if o.Period != nil {
		return v.nextOfPeriod(v.Entry(i), after)
	}
	for range patience {
		at := agenda.Next(s, after)
		if at.IsZero() {
			return at
		}
		opens, against := v.blackouts.Opens(nil, at)
		switch {
		case against == "":
			return at
		case opens.IsZero():
			return opens
		case o.WaitOutside:
			opens, _ = v.blackouts.Opens(o.Hours, opens)
			return opens
		}
		after = opens.Add(-1)
	}
	return time.Time{}
}

// waitsUntil returns when a run of a period that waits for its delay and hours will
// start; zero if there is none.
func (v *View) waitsUntil(id job.ID) time.Time {
	for _, r := range v.live {
		if on := r.WaitsOn(); r.Job == id && (on == job.WaitsOnDelay || on == job.WaitsOnHours) {
			return r.NotBefore
		}
	}
	return time.Time{}
}

// Planned reports whether occurrences of job i will run, apart from pauses.
func (v *View) Planned(i int) bool {
	o := v.jobs.Options(i)
	if !o.Enabled || o.Held != "" || !catalog.IsHere(o, v.node) || catalog.Misfit(o, v.labels) != "" && o.Scope != option.ScopeRing {
		return false
	}
	_, barred := v.BarredUser(i)
	return !barred
}

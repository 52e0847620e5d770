package engine

import (
	"slices"
	"time"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/agenda"
	"github.com/cronring/cronring/daemon/engine/install"
	"github.com/cronring/cronring/daemon/engine/live"
	"github.com/cronring/cronring/daemon/job"
)

// A job with delay= has at most one planned occurrence. It is due when delay= has passed since the end
// of the job's last live run, or since its previous occurrence was skipped. While the job has a live
// run, which may also be waiting or manual, no occurrence is planned.
//
// The delay is measured in time since boot, so setting the clock does not change it. A restarted
// daemon does not know that time. It uses the newest of the times in the job's mark and summary. The
// delay of a new job, and of one whose delay= was edited, begins at its mark.

// delayOf returns the delay of a job with delay=, or 0.
func (e *Engine) delayOf(slot int) time.Duration {
	return timetable.DelayOf(e.jobs.Entry(slot).Schedule)
}

// delayed returns the job with delay= that a run belongs to.
func (e *Engine) delayed(r *live.Run) (slot int, ok bool) {
	return r.Slot, r.Slot >= 0 && e.delayOf(r.Slot) > 0 && live.IsOf(r, e.jobs.Entry(r.Slot).User())
}

// isIdle reports whether a job has no live run.
func (e *Engine) isIdle(slot int) bool {
	return len(live.OfUser(e.byJob[e.jobs.ID(slot)], e.jobs.Entry(slot).User())) == 0
}

// planDelay plans the next occurrence of a job with delay=. since is the end of the previous one. If
// since is in the future, because the clock was set back, the delay begins now. If the planned time is
// outside of the job's hours, the occurrence is due when they next begin.
func (e *Engine) planDelay(slot int, since time.Time) {
	at := e.wallAt(job.Sum(min(e.now.UpAt(since), e.now.Up), e.delayOf(slot))).Add(agenda.DelayStep - 1).Truncate(agenda.DelayStep)
	opens, against := e.blackouts.Opens(e.jobs.Options(slot).Hours, at)
	if against != "" && !opens.IsZero() {
		at = opens
	}
	e.delays.Set(slot, int64(e.now.UpAt(at)))
	e.viewed.planned = nil
}

// nextDelayed returns when the next planned occurrence of any job is due.
func (e *Engine) nextDelayed() (up time.Duration, planned bool) {
	at, planned := e.delays.First()
	return time.Duration(at), planned
}

// wallAt returns what the wall clock will show at a time since boot.
func (e *Engine) wallAt(up time.Duration) time.Time { return e.now.Wall.Add(job.Sum(up, -e.now.Up)) }

// endDelay removes the planned occurrence of the job of a new run.
func (e *Engine) endDelay(r *live.Run) {
	if slot, ok := e.delayed(r); ok {
		e.delays.Clear(slot)
		e.viewed.planned = nil
	}
}

// beginDelay plans the next occurrence of the job of a run that ended at an instant, if the job has no
// other live run.
func (e *Engine) beginDelay(r *live.Run, over time.Time) {
	if slot, ok := e.delayed(r); ok && e.isIdle(slot) {
		e.planDelay(slot, over)
	}
}

// decideDelayed decides the planned occurrence of a job with delay=, if it is still due.
func (e *Engine) decideDelayed(slot int) {
	at, planned := e.delays.At(slot)
	if !planned || at > int64(e.now.Up) {
		return
	}
	due := agenda.InSteps(e.wallAt(time.Duration(at)))
	if mark := e.marks[slot]; due.UnixNano() <= mark { // the clock was set back a little
		due = time.Unix(0, mark+1).UTC()
	}
	e.marks[slot] = due.UnixNano()
	e.decideDue(e.occurrence(slot, due, job.TriggerClock, job.OnTime), agenda.Occurrences{First: due, List: []time.Time{due}})
	if !e.isIdle(slot) {
		return
	}
	if e.now.Wall.Sub(due) > time.Second { // otherwise the delay would begin at the due time after a restart
		l := e.summary(e.jobs.ID(slot), e.jobs.Entry(slot).User())
		l.Since = e.now.Wall
		e.setSummary(l)
	}
	e.planDelay(slot, e.now.Wall)
}

// moveDelays keeps the planned occurrences of jobs whose schedule a load did not change.
func (e *Engine) moveDelays(p *install.Prepared) {
	before := e.delays
	e.delays, e.viewed.planned = agenda.NewTimes(p.Jobs.Delayed()), nil
	move := func(old, slot int) {
		if at, planned := before.At(old); planned {
			e.delays.Set(slot, at)
		}
	}
	for _, slot := range p.Jobs.Delayed() {
		if old := p.From[slot]; old >= 0 {
			move(old, slot)
		}
	}
	for _, f := range p.Fresh {
		if f.Was >= 0 && f.Same {
			move(f.Was, f.Job)
		}
	}
}

// planDelays plans an occurrence of each idle job with delay= that has none, from its stored state.
func (e *Engine) planDelays() {
	for _, slot := range e.jobs.Delayed() {
		if _, planned := e.delays.At(slot); planned || !e.isIdle(slot) {
			continue
		}
		l := e.summary(e.jobs.ID(slot), e.jobs.Entry(slot).User())
		e.planDelay(slot, slices.MaxFunc([]time.Time{time.Unix(0, e.marks[slot]).UTC(), l.Ended, l.Since}, time.Time.Compare))
	}
}

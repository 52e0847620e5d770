package engine

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// The clock set back by less than smallStep is not noticed: marks stand and
// nothing repeats. By Correction or more, everything starts afresh. In
// between, as under cron, entries follow the clock if their minute or hour is
// a star, and otherwise stay silent until the old time is passed.
const (
	smallStep  = time.Minute
	Correction = 180 * time.Minute
)

// readClock takes the step's one reading and deals with a clock that was set.
// A clock set forward needs nothing here: what it jumped over is late, and
// catchup= decides.
func (e *Engine) readClock(now Moment) {
	step := now.Wall.Sub(e.now.Wall)
	if e.now.Up > 0 { // else the time since boot is not known for the last moment: it was another process
		step -= now.Up - e.now.Up
	}
	fresh := e.now.Wall.IsZero()
	lived := e.now.Up > 0
	e.now = Moment{Wall: now.Wall.UTC(), Up: now.Up}
	switch {
	case fresh:
	case step <= -smallStep:
		e.setBack(-step)
	case lived && step >= smallStep:
		e.recordStep("forward", step)
	}
}

// recordStep notes that the clock was set one way, by step.
func (e *Engine) recordStep(way string, step time.Duration) {
	e.record(job.Record{
		Kind: job.Stepped, Era: e.era, Was: e.now.Wall.Add(-step),
		Detail: fmt.Sprintf("the clock was set %s by %s", way, step.Abs().Round(time.Second)),
	})
}

// setBack begins a new era, in which some occurrences are decided again.
func (e *Engine) setBack(by time.Duration) {
	e.era++
	e.recordStep("back", -by)
	now := e.now.Wall.UnixNano()
	for slot := range e.marks {
		if e.jobs.InRing(slot) {
			continue
		}
		e.marks[slot] = afterSetBack(e.jobs.Entry(slot).Schedule, e.marks[slot], now, by)
	}
	e.agenda.reset(e.now.Wall)
	e.emit(e.roster())
}

// afterSetBack is the mark of a job when the clock, set back, reads now.
func afterSetBack(s cron.Schedule, mark, now int64, by time.Duration) int64 {
	if mark <= now || by < smallStep || by < Correction && crontab.FixedTime(s) {
		return mark
	}
	return now
}

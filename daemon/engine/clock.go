package engine

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/job"
)

// If the clock is set back by less than smallStep, nothing happens: marks stay and
// nothing repeats. If it is set back by Correction or more, all entries follow the new
// time. In between, as in cron, entries follow the clock if their minute or hour is a
// star; other entries do not run until the old time has passed.
const (
	smallStep  = time.Minute
	Correction = 180 * time.Minute
)

// readClock takes the clock reading of a step and handles a clock that was set. Setting
// the clock forward needs no special treatment: the skipped occurrences are late, and
// catchup= decides.
func (e *Engine) readClock(now Moment) {
	step := now.Wall.Sub(e.now.Wall)
	if e.now.Up > 0 { // otherwise the last moment is from another process and has no time since boot
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

// recordStep records that the clock was set, in which direction and by how much.
func (e *Engine) recordStep(way string, step time.Duration) {
	e.record(job.Record{
		Kind: job.Stepped, Era: e.era, Was: e.now.Wall.Add(-step),
		Detail: fmt.Sprintf("the clock was set %s by %s", way, step.Abs().Round(time.Second)),
	})
}

// setBack begins a new era, in which some occurrences repeat.
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

// afterSetBack returns the mark of a job after the clock was set back to now.
func afterSetBack(s cron.Schedule, mark, now int64, by time.Duration) int64 {
	if mark <= now || by < smallStep || by < Correction && timetable.FixedTime(s) {
		return mark
	}
	return now
}

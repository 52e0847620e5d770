package engine

import (
	"slices"
	"time"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/agenda"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
)

// delayed checks invariant 38 for one step. Times are since boot.
func (h *history) delayed(effects []effect.Effect) {
	for _, eff := range effects {
		f, ok := eff.(effect.Fact)
		if !ok || f.Record.Run == nil {
			continue
		}
		if slot, known := h.find(f.Record.Job); known && h.w.engine.delayOf(slot) > 0 {
			h.delayedRun(f.Record, slot)
		}
	}
	if h.sleeps() {
		h.planned()
	}
}

// delayedRun checks that a run begins long enough after the one before.
func (h *history) delayedRun(r job.Record, slot int) {
	now, delay := h.w.now.Up, h.w.engine.delayOf(slot)
	switch {
	case (r.Kind == job.Ended || r.Kind == job.Dropped) && r.Run.Verdict != job.VerdictRetry:
		h.times.ends[r.Job] = now
	case r.Kind == job.Decided && (r.Run.Trigger == job.TriggerClock || r.Run.Trigger == job.TriggerCatchup):
		if end, known := h.times.ends[r.Job]; known && now-end < delay {
			h.w.t.Errorf("invariant 38: run %d of %s begins %s after the end of the one before, with delay=%s", r.Run.ID, r.Job, now-end, delay)
		}
		for _, x := range h.w.engine.byJob[r.Job] {
			if x.ID < r.Run.ID {
				h.w.t.Errorf("invariant 38: run %d of %s begins while run %d is live", r.Run.ID, r.Job, x.ID)
			}
		}
	}
}

// planned checks that each idle job with delay= has an occurrence ahead.
func (h *history) planned() {
	e, now := h.w.engine, h.w.now
	for _, slot := range e.jobs.Delayed() {
		nanos, planned := e.delays.At(slot)
		at := time.Duration(nanos)
		switch latest := now.In(job.Sum(e.delayOf(slot), agenda.DelayStep)); {
		case planned != e.isIdle(slot):
			h.w.t.Errorf("invariant 38: %s is idle: %t, and its next occurrence is planned: %t", h.ids[slot], e.isIdle(slot), planned)
		case h.countsPause(slot):
		case planned && at <= now.Up:
			h.w.t.Errorf("invariant 38: the occurrence of %s is due and not decided", h.ids[slot])
		case planned && at > latest && e.jobs.Options(slot).Hours == nil && len(h.w.blackouts) == 0:
			h.w.t.Errorf("invariant 38: the next occurrence of %s is planned %s from now", h.ids[slot], at-now.Up)
		}
	}
}

// countsPause reports whether a job has pause-counts= and a pause now.
func (h *history) countsPause(slot int) bool {
	hold, paused := h.trials.holds.Of(h.ids[slot], h.jobs.Entry(slot).User())
	return h.jobs.Options(slot).PauseCounts && paused && !hold.Skips && hold.Covers(h.w.now.Wall)
}

// loads reports whether the crontabs are loaded in a step.
func loads(effects []effect.Effect) bool {
	return slices.ContainsFunc(effects, func(eff effect.Effect) bool {
		f, ok := eff.(effect.Fact)
		return ok && f.Record.Kind == job.Loaded
	})
}

// counted checks the other half of invariant 33, in a step without a load: with pause-counts=
// nothing is skipped because of a pause.
func (h *history) counted(r job.Record) {
	slot, known := h.find(r.Job)
	if !known || r.Kind != job.Decided || r.Run != nil || r.Backfill != nil || r.Reason != job.IsPaused {
		return
	}
	hold, _ := h.trials.holds.Of(r.Job, h.jobs.Entry(slot).User())
	clock := !timetable.IsTimeless(h.jobs.Entry(slot).Schedule) || h.w.engine.delayOf(slot) > 0
	if clock && h.jobs.Options(slot).PauseCounts && !hold.Skips {
		h.w.t.Errorf("invariant 33: %s at %s is skipped as paused, with pause-counts=yes", r.Job, r.Due)
	}
}

// pauseSome often pauses or resumes a job with pause-counts=.
func (h *history) pauseSome() {
	counted, rng := h.w.engine.jobs.PauseCounted(), h.trials.pauses
	if len(counted) == 0 || rng.IntN(2) == 0 {
		return
	}
	id := h.w.engine.jobs.ID(counted[rng.IntN(len(counted))])
	h.say("pause or resume %s", id)
	if rng.IntN(2) == 0 {
		h.w.step(event.Pause{Job: id, Hold: h.randomHold()})
	} else {
		h.w.step(event.Resume{Job: id, By: "ann"})
	}
}

package engine

import (
	"slices"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/live"
	"github.com/cronring/cronring/daemon/job"
)

// durations is the state that the invariants about durations are checked against. All
// times are since boot. It contains nothing that the previous daemon began.
type durations struct {
	runs    map[job.RunID]*timed
	limited map[job.RunID]*timed // the runs with timeout= or watchdog=, and those that were signalled
	ended   *timed               // the run whose end was recorded last, or nil
	abandon bool                 // the daemon ends all runs in this step
	tries   map[job.RunID]try
	ends    map[job.ID]time.Duration // of jobs with delay=: when their newest run was over
}

// timed is a run with a process, and the options that it was started with.
type timed struct {
	options        *option.Options
	lost           int
	started, asked time.Duration // 0: not yet
	reason         job.Reason    // of its newest stop signal
	heard          time.Duration // Moment.Awake of its newest sign of life
}

// try is a further attempt that waits for its time.
type try struct{ since, least, most time.Duration }

func newDurations() durations {
	return durations{runs: map[job.RunID]*timed{}, limited: map[job.RunID]*timed{}, tries: map[job.RunID]try{}, ends: map[job.ID]time.Duration{}}
}

// timely checks invariants 31 and 32 for one step.
func (h *history) timely(effects []effect.Effect) {
	now := h.w.now.Up
	for i, eff := range effects {
		switch eff := eff.(type) {
		case effect.Start:
			id := eff.Run.ID
			if t, ok := h.times.tries[id]; ok && now-t.since < t.least {
				h.w.t.Errorf("invariant 32: run %d is tried again after %s, not %s", id, now-t.since, t.least)
			}
			delete(h.times.tries, id)
			t := &timed{options: eff.Entry.Options(), lost: eff.Run.Lost}
			if h.times.runs[id] = t; t.options.Timeout > 0 || t.options.Watchdog > 0 {
				h.times.limited[id] = t
			}
		case effect.Kill:
			h.killed(eff, effects[i+1:])
		case effect.Fact:
			if eff.Record.Run != nil {
				h.timed(eff.Record)
			}
		}
	}
	if h.sleeps() {
		h.overdue()
	}
}

func (h *history) timed(r job.Record) {
	id, now := r.Run.ID, h.w.now.Up
	t := h.times.runs[id]
	switch {
	case r.Kind == job.Started && t != nil:
		t.started, t.heard = now, h.w.now.Awake()
	case r.Kind == job.Ended:
		if t != nil {
			h.succeeded(r.Run, t.options)
		}
		h.times.ended = t
		delete(h.times.runs, id)
		delete(h.times.limited, id)
	case r.Kind == job.Queued && r.Run.Reason == job.WaitsForRetry && h.times.ended != nil && h.times.ended.lost == r.Run.Lost:
		o := h.times.ended.options
		spread := func(d time.Duration, percent int) time.Duration {
			return time.Duration(float64(d) * float64(100+percent) / 100)
		}
		h.times.tries[id] = try{
			since: now,
			least: max(live.LeastWait, spread(o.Backoff.Min, -o.RetryJitter)) - time.Microsecond, // because floats are rounded
			most:  max(live.LeastWait, spread(o.Backoff.Max, o.RetryJitter)) + time.Second,
		}
	case r.Kind == job.Dropped:
		delete(h.times.tries, id)
	}
}

// succeeded checks the other half of invariant 16: ok= lists all exit codes of success.
func (h *history) succeeded(r *job.Run, o *option.Options) {
	switch r.Reason {
	case job.StopAsked, job.DaemonStopped, job.Replaced, job.Preempted:
		return
	}
	ok := r.Outcome.Kind == job.Exited && slices.Contains(o.OK, uint8(r.Outcome.Code))
	if ok != (r.Verdict == job.VerdictOK) {
		h.w.t.Errorf("invariant 16: run %d ended %s, with ok=%v, and is %q", r.ID, r.Outcome, o.OK, r.Verdict)
	}
}

// killed checks that timeout=, watchdog= and stop-grace= end no run too soon, and that a run
// gets its stop signal again only if a person stops it too, a newer run replaces it, or the
// daemon ends all runs; rest contains the following effects of the step.
func (h *history) killed(k effect.Kill, rest []effect.Effect) {
	t, now := h.times.runs[k.Run], h.w.now.Up
	if t == nil {
		return
	}
	silent := h.w.now.Awake() - t.heard
	switch {
	case k.Reason == "":
		if t.reason != job.StopAsked && (t.asked == 0 || now-t.asked < t.options.StopGrace) {
			h.w.t.Errorf("invariant 31: run %d is killed %s after it was asked to end, with stop-grace=%s", k.Run, now-t.asked, t.options.StopGrace)
		}
		return
	case t.asked > 0:
		if byPerson := k.Reason == job.StopAsked && t.reason != job.StopAsked; !byPerson && !h.times.abandon && !h.replaced(k, rest) {
			h.w.t.Errorf("invariant 31: run %d gets its stop signal again because of %s, after %s", k.Run, k.Reason, t.reason)
		}
	case k.Reason == job.NoBeat && silent < t.options.Watchdog:
		h.w.t.Errorf("invariant 36: run %d is stopped after %s without a sign of life, with watchdog=%s", k.Run, silent, t.options.Watchdog)
	case k.Reason == job.OverTime && now-t.started < t.options.Timeout:
		h.w.t.Errorf("invariant 31: run %d is stopped after %s, with timeout=%s", k.Run, now-t.started, t.options.Timeout)
	}
	if t.reason = k.Reason; t.asked == 0 {
		t.asked = now
	}
	h.times.limited[k.Run] = t
}

// replaced reports whether a signal is for a newer run of the job, which is decided next.
func (h *history) replaced(k effect.Kill, rest []effect.Effect) bool {
	id := h.kin.runs[k.Run].Job
	slot, ok := h.find(id)
	replaces := []option.Overlap{option.OverlapReplace, option.OverlapKill}
	stays := k.Reason == job.DaemonStopped && h.times.runs[k.Run].reason == job.DaemonStopped
	if !ok || !slices.Contains(replaces, h.jobs.Options(slot).Overlap) || k.Reason != job.Replaced && k.Reason != job.StopAsked && !stays {
		return false
	}
	for _, eff := range rest {
		switch eff := eff.(type) {
		case effect.Kill:
			if eff.Run == k.Run {
				return false
			}
		case effect.Fact:
			if r := eff.Record; r.Kind == job.Decided && r.Job == id && r.Run != nil {
				return true
			}
		}
	}
	return false
}

// beat makes a run give a sign of life.
func (h *history) beat(id job.RunID) {
	h.say("beat %d", id)
	h.w.step(event.Beat{Run: id})
	if t := h.times.runs[id]; t != nil && t.started > 0 {
		t.heard = h.w.now.Awake()
	}
}

// overdue checks that the times of timeout=, stop-grace= and backoff= end.
func (h *history) overdue() {
	now := h.w.now.Up
	for id, t := range h.times.limited {
		r := h.w.engine.live[id]
		if t.started == 0 || r == nil {
			continue
		}
		if silent := h.w.now.Awake() - t.heard; r.StopReason == "" && t.options.Watchdog > 0 && silent > t.options.Watchdog {
			h.w.t.Errorf("invariant 36: run %d runs after %s without a sign of life, with watchdog=%s", id, silent, t.options.Watchdog)
		}
		if r.StopReason == "" && t.options.Timeout > 0 && now-t.started > t.options.Timeout {
			h.w.t.Errorf("invariant 31: run %d runs for %s, with timeout=%s", id, now-t.started, t.options.Timeout)
		}
		if _, running := h.w.running[id]; running && t.asked > 0 && t.reason != job.StopAsked && now-t.asked > t.options.StopGrace {
			h.w.t.Errorf("invariant 31: run %d lives %s after it was asked to end, with stop-grace=%s", id, now-t.asked, t.options.StopGrace)
		}
	}
	for id, t := range h.times.tries {
		if h.kin.runs[id].Reason == job.WaitsForRetry && now-t.since > t.most {
			h.w.t.Errorf("invariant 32: run %d waits to be tried again for %s, not %s", id, now-t.since, t.most)
		}
	}
}

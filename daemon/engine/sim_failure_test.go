package engine

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
)

// trials is the state that the invariants about failures are checked against.
type trials struct {
	verdicts  map[invoked]job.RunID      // completed occurrences, and the last run of each
	summaries map[job.Owned]job.Summary  // as of the effect that is being checked
	began     map[job.RunID]job.Run      // live processes, as started
	told      map[job.ID]map[string]bool // trouble that channels were notified of and that is not over
	holds     job.Holds                  // as of the effect that is being checked
	ahead     time.Duration              // how far the clock was set forward
	pauses    *rand.Rand
}

func newTrials(seed uint64) trials {
	return trials{
		verdicts: map[invoked]job.RunID{}, summaries: map[job.Owned]job.Summary{}, began: map[job.RunID]job.Run{}, told: map[job.ID]map[string]bool{},
		holds: job.Holds{}, pauses: rand.New(rand.NewPCG(seed, 2)),
	}
}

// randomHold is a pause, until a time or not. Its random numbers are its own, so that hosts that
// found a fault remain as they are until one of their jobs is paused.
func (h *history) randomHold() job.Hold {
	hold := job.Hold{By: "ann"}
	if rng := h.trials.pauses; rng.IntN(2) == 0 {
		hold.Until = h.w.now.Wall.Add(time.Duration(rng.Int64N(int64(6 * time.Hour))))
	}
	if rng := h.trials.pauses; rng.IntN(4) == 0 {
		hold.From = h.w.now.Wall.Add(time.Duration(rng.Int64N(int64(3 * time.Hour))))
	}
	hold.Skips = hold.From.IsZero() && !hold.Until.IsZero() && h.trials.pauses.IntN(3) == 0
	return hold
}

// randomBlackouts returns a blackout of the host, or none, also with random numbers of its own.
func (h *history) randomBlackouts() timetable.Blackouts {
	rng := h.trials.pauses
	if rng.IntN(3) > 0 {
		return nil
	}
	from := h.w.now.Wall.Add(time.Duration(rng.Int64N(int64(2 * time.Hour))))
	return timetable.Blackouts{{Name: "upgrade", From: from, Until: from.Add(time.Duration(1 + rng.Int64N(int64(6*time.Hour))))}}
}

// paused checks invariant 33 for a record: while a job is paused its scheduled occurrences are
// skipped, also if they came due in a pause that is over, and a pause ends at its time.
func (h *history) paused(r job.Record) {
	switch r.Kind {
	case job.Paused:
		h.trials.holds.Put(r.Job, *r.Hold)
	case job.Resumed:
		if hold, _ := h.trials.holds.Of(r.Job, r.User); !strings.HasPrefix(r.Detail.Words(), "by ") && (hold.Until.IsZero() || r.At.Before(hold.Until)) {
			h.w.t.Errorf("invariant 33: %s was resumed at %s, before %s", r.Job, r.At, hold.Until)
		}
		h.trials.holds.Lift(r.Job, r.User)
	case job.Decided:
		slot, ok := h.find(r.Job)
		if !ok {
			return
		}
		hold, paused := h.trials.holds.Of(r.Job, h.jobs.Entry(slot).User())
		came := (hold.Skips || !h.jobs.Options(slot).PauseCounts) && hold.Covers(r.Due) && r.Due.After(hold.Since)
		paused = paused && (came || !hold.Skips && hold.Covers(r.At))
		byClock := r.Run != nil && r.Run.Trigger == job.TriggerClock && r.Run.Attempt == 1
		if paused && byClock || !paused && r.Reason == job.IsPaused {
			h.w.t.Errorf("invariant 33: %s at %s, paused %v until %s: %s %s", r.Job, r.At, paused, hold.Until, r.Decision, r.Reason)
		}
	}
}

// expected checks the other half of invariant 19: channels are notified if a job had no success
// within expect=. The notification is late by no more than the clock was set forward.
func (h *history) expected() {
	if !h.sleeps() {
		return
	}
	for slot, id := range h.ids {
		o := h.jobs.Options(slot)
		if o.Expect == 0 || !o.Enabled || !catalog.IsHere(o, h.w.engine.node) {
			continue
		}
		l := h.w.store.Summaries[job.Owned{Job: id, User: h.jobs.Entry(slot).User()}]
		since := l.Success
		if l.Watched.After(since) {
			since = l.Watched
		}
		if late := h.w.now.Wall.Sub(since) - h.trials.ahead; late > o.Expect && l.Notified&job.NotifiedExpect == 0 {
			h.w.t.Errorf("invariant 19: no notification about %s, which had no success since %s with expect=%s", id, since, o.Expect)
		}
	}
}

// randomPolicies are options about failures; the first one of each key is used.
var randomPolicies = []string{
	"ok=0,2", "skip-code=1", "retry=1 backoff=5m", "retry=3 backoff=1s..10m", "retry-on=1,lost", "no-retry-on=2",
	"breaker=1/40m", "breaker=2/3h", "on-exhausted=dead", "on-exhausted=pause", "on-exhausted=continue",
	"retry-for=10m retry=3 backoff=1s..10m", "if-lost=rerun", "if-lost=leave", "stop-signal=INT", "stop-grace=1m", "watchdog=20m", "watchdog=2h retry=2 backoff=5m", "max-late=10m", "max-run=20m", "expect=5h",
	"notify=ops", "max-late=10m max-run=20m expect=5h notify=ops notify-on=late,missed,recover,held",
	"retry=1 backoff=1s..10m breaker=2/40m on-exhausted=dead notify=ops notify-on=dead,lost,recover,success,start",
	"if-lost=rerun retry=1 retry-on=1,lost backoff=5m", "breaker=1/1h overlap=allow notify=ops",
}

// retryFor returns the limit of an attempt whose job is installed and whose entry was the same when
// it failed; 0: none, or unknown.
func (h *history) retryFor(r *job.Run) time.Duration {
	if slot, ok := h.w.engine.jobs.Find(r.Job); ok && !r.First.IsZero() {
		return h.w.engine.jobs.Options(slot).RetryFor
	}
	return 0
}

// mostRetries is the largest retry= among the random options.
const mostRetries = 3

// randomEnd returns how a process ends. If a later daemon watches it, it is not lost: a
// separate invariant covers that.
func (h *history) randomEnd(rng *rand.Rand, id job.RunID) job.Outcome {
	switch n := rng.IntN(12); {
	case n == 0:
		return job.Outcome{Kind: job.Signalled, Signal: 11}
	case n == 1:
		return job.Outcome{Kind: job.NotStarted, Error: "simulated"}
	case n == 2 && !h.adopted[id]:
		return job.Outcome{Kind: job.Lost, Error: "simulated"}
	}
	return job.Outcome{Kind: job.Exited, Code: rng.IntN(3)}
}

// randomLetter makes a request about a dead letter, if there is one.
func (h *history) randomLetter(rng *rand.Rand) event.Event {
	letters := slices.Sorted(maps.Keys(h.w.store.Dead))
	if len(letters) == 0 {
		return event.Tick{}
	}
	id := letters[rng.IntN(len(letters))]
	if dead := h.w.store.Dead[id]; rng.IntN(3) > 0 {
		return event.Redrive{Dead: dead, By: "ann"}
	}
	return event.Bury{Dead: h.w.store.Dead[id], By: "ann"}
}

// failures checks the invariants about failures for one step.
func (h *history) failures(effects []effect.Effect) {
	loaded := loads(effects)
	for i, eff := range effects {
		switch eff := eff.(type) {
		case effect.Fact:
			if h.paused(eff.Record); !loaded {
				h.counted(eff.Record)
			}
			h.judged(eff.Record, effects[i+1:])
		case effect.Start:
			h.tried(eff)
		case effect.Summary:
			h.trials.summaries[job.Owned{Job: eff.Summary.Job, User: eff.Summary.User}] = eff.Summary
		case effect.Notify:
			h.toldOnce(eff.Notice)
		}
	}
	if e := h.w.engine; !maps.Equal(e.summaries, h.w.store.Summaries) {
		h.w.t.Errorf("invariant 18: the engine remembers %v, and the store %v", e.summaries, h.w.store.Summaries)
	}
}

// judged checks invariants 15 and 16 at the end of a run; rest contains the following
// effects of the step.
func (h *history) judged(r job.Record, rest []effect.Effect) {
	t := h.w.t
	if r.Kind == job.Redrove {
		again := *r.Run
		again.Backfill = 0 // a run of a backfill is run again on its own
		delete(h.trials.verdicts, occurrenceOf(&again))
		if !slices.ContainsFunc(slices.Collect(maps.Keys(h.kin.live[r.Job])), func(id job.RunID) bool {
			return id != r.Run.ID && h.kin.runs[id].Invocation == r.Run.Invocation
		}) {
			t.Errorf("invariant 16: run %d is run again, and no run is of its occurrence", r.Run.ID)
		}
	}
	if r.Run == nil || r.Kind == job.Redrove || r.Kind == job.Buried {
		return
	}
	if r.Kind == job.Started {
		h.trials.began[r.Run.ID] = *r.Run
	}
	if r.Kind == job.Queued && (r.Run.Attempt > mostRetries+1+job.MaxReruns || r.Run.Lost > job.MaxReruns || r.Run.Attempt-r.Run.Lost > mostRetries+1) {
		t.Errorf("invariant 15: run %d is attempt %d, after %d that were lost", r.Run.ID, r.Run.Attempt, r.Run.Lost)
	}
	if limit := h.retryFor(r.Run); limit > 0 && r.Kind == job.Queued && r.Run.WaitsOn() == job.WaitsOnRetry && r.Run.Lost == 0 &&
		r.Run.NotBefore.Sub(r.Run.First) > limit {
		t.Errorf("invariant 34: run %d, attempt %d, waits until %s, and the first attempt began at %s", r.Run.ID, r.Run.Attempt, r.Run.NotBefore, r.Run.First)
	}
	if r.Run.State.Live() {
		return
	}
	delete(h.trials.began, r.Run.ID)
	if r.Kind == job.Ended && r.Run.Verdict == "" {
		t.Errorf("invariant 16: run %d ended without a verdict", r.Run.ID)
	}
	if r.Kind == job.Dropped && r.Run.Attempt > 1 && !r.Run.Verdict.Final() {
		t.Errorf("invariant 16: run %d was the next attempt, was dropped, and leaves the occurrence open", r.Run.ID)
	}
	h.over(r.Run)
	if r.Run.Verdict == job.VerdictRetry && !slices.ContainsFunc(rest, func(e effect.Effect) bool {
		f, ok := e.(effect.Fact)
		return ok && f.Record.Kind == job.Queued && f.Record.Run.Attempt == r.Run.Attempt+1 && f.Record.Run.Invocation == r.Run.Invocation
	}) {
		t.Errorf("invariant 16: run %d is to be tried again, and is not", r.Run.ID)
	}
	if r.Run.Verdict == job.VerdictOK && r.Run.Backfill == 0 {
		h.trials.told[r.Job] = map[string]bool{"late": r.Run.By != "" && h.trials.told[r.Job]["late"]}
	}
}

// over stores the final verdict on an occurrence.
func (h *history) over(r *job.Run) {
	if !r.Verdict.Final() {
		return
	}
	key := occurrenceOf(r)
	if before, ok := h.trials.verdicts[key]; ok && before != r.ID {
		h.w.t.Errorf("invariant 16: run %d is the last of %s at %s, as was run %d", r.ID, r.Job, r.Due, before)
	}
	h.trials.verdicts[key] = r.ID
}

// invoked identifies an occurrence of a schedule or a backfill.
type invoked struct {
	invocation string
	backfill   int64
}

func occurrenceOf(r *job.Run) invoked { return invoked{r.Invocation, r.Backfill} }

// tried checks invariant 17: what breaker= allows to start.
func (h *history) tried(s effect.Start) {
	r, now := s.Run, h.w.now.Wall
	l := h.trials.summaries[job.Owned{Job: r.Job, User: r.User}]
	if s.Entry.Options().Breaker.Failures == 0 || r.Attempt > 1 || r.By != "" || r.Backfill != 0 || l.Open.IsZero() {
		return
	}
	if now.Before(l.Open) {
		h.w.t.Errorf("invariant 17: run %d starts, and the breaker holds until %s", r.ID, l.Open)
	}
	for _, other := range h.trials.began {
		if other.Job == r.Job && other.User == r.User && !other.Started.Before(l.Open) {
			h.w.t.Errorf("invariant 17: run %d starts as a probe beside run %d", r.ID, other.ID)
		}
	}
}

// toldOnce checks invariant 19: channels are notified once of a trouble, and of its end
// only if they were notified of it.
func (h *history) toldOnce(n job.Notice) {
	if n.Ping != "" {
		return // each start and end is sent
	}
	what := map[job.NoticeOn]string{job.OnFail: "failure", job.OnDead: "failure", job.OnLost: "failure", job.OnMissed: "missed", job.OnLate: "late"}[n.On]
	if n.On == job.OnLate && n.Run == nil {
		what = "unseen"
	}
	if len(n.Channels) == 0 || n.Text == "" {
		h.w.t.Errorf("invariant 19: nobody is told, or nothing: %+v", n)
	}
	known := h.trials.told[n.Job]
	if known == nil {
		known = map[string]bool{}
		h.trials.told[n.Job] = known
	}
	switch {
	case what == "":
	case known[what]:
		h.w.t.Errorf("invariant 19: %s told again of %s: %s", n.On, n.Job, n.Text)
	default:
		known[what] = true
	}
}

// restart checks the other half of invariant 18: the summaries of a daemon equal those of its
// predecessor.
func (h *history) restart() {
	h.trials.began = map[job.RunID]job.Run{}
	for id := range h.w.running {
		if r, ok := h.w.store.Live[id]; ok && h.w.adopted {
			h.trials.began[id] = r
		}
	}
	h.trials.summaries = maps.Clone(h.w.store.Summaries)
}

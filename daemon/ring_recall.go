package daemon

import (
	"context"
	"time"

	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store"
)

// What a daemon that starts tells the ring of: what this host took in the last
// day, newest first. Where all members start at once nobody else knows.
const (
	recallTime = 24 * time.Hour
	recallMost = 100_000
)

// recall tells the other members what this host took before its daemon started:
// first what goes on, of which it knows the attempts.
func (r *ring) recall(ctx context.Context, v *engine.View, history *store.Store) {
	var shared []job.ID
	keys := map[job.ID]job.Key{}
	for i, h := range v.Holdings() {
		shared = append(shared, v.ID(i))
		keys[v.ID(i)] = h.Key
	}
	if len(shared) == 0 {
		return
	}
	now := v.Now().Wall
	var progress []engine.Progress
	left := map[engine.Occurrence]bool{}
	add := func(run *job.Run) {
		o := engine.Occurrence{Key: keys[run.Job], Due: run.Due.UTC()}
		if run.Reason == job.HandedOver { // its attempts before that are the others' to know of
			left[o] = true
		}
		if p, ok := progressOf(run); ok && !left[o] {
			p.Key = o.Key
			progress = append(progress, p)
		}
	}
	for _, run := range v.Runs() {
		if _, shared := keys[run.Job]; shared {
			add(&run)
		}
	}
	err := history.Between(ctx, shared, now.Add(-recallTime), now.Add(time.Minute), recallMost, func(run *job.Run) {
		if !run.State.Live() {
			add(run)
		}
	})
	if err == nil {
		err = history.Skips(ctx, shared, now.Add(-recallTime), now.Add(time.Minute), 1, func(s job.Record) {
			progress = append(progress, engine.Progress{
				Occurrence: engine.Occurrence{Key: keys[s.Job], Due: s.Due}, Phase: engine.Over, Verdict: job.VerdictSkip,
			})
		})
	}
	if err != nil {
		r.log.Error("the other members cannot be told what this host took before", "error", err)
	}
	if len(progress) > 0 {
		r.members.Progress(progress...)
	}
}

// progressOf is how far the occurrence of a run is by it. A person's run is none of
// the ring's, and what another member took is that one's.
func progressOf(run *job.Run) (p engine.Progress, ok bool) {
	switch run.Trigger {
	case job.TriggerClock, job.TriggerCatchup, job.TriggerRetry:
	default:
		return p, false
	}
	if run.By != "" || run.Backfill != 0 || run.Reason == job.OtherMember || run.Reason == job.HandedOver {
		return p, false
	}
	p = engine.Progress{
		Occurrence: engine.Occurrence{Due: run.Due.UTC()}, Run: run.ID, Attempt: run.Attempt, Lost: run.Lost, Verdict: run.Verdict,
	}
	switch {
	case run.State == job.RunQueued || run.State == job.RunWaiting:
		p.Phase = engine.Taken
	case run.State.Live():
		p.Phase = engine.Begun
	case run.Verdict == job.VerdictRetry: // the next attempt says how far it is
		p.Phase = engine.Begun
	default:
		p.Phase = engine.Over
	}
	if run.State == job.RunDropped {
		p.Run = 0
	}
	if run.Outcome.Kind == job.Lost {
		p.Verdict = job.VerdictLost
	}
	return p, true
}

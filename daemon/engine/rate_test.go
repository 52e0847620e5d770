package engine

import (
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/slots"
	"github.com/cronring/cronring/daemon/job"
)

// TestRateThatNobodyWaitsFor checks that the engine does not request immediate steps
// repeatedly after the last run that waited for a pool's rate is gone.
func TestRateThatNobodyWaitsFor(t *testing.T) {
	w := newWorld(t, extremeStart, time.UTC)
	w.limits = slots.Limits{Pools: map[string]slots.Pool{"api": {Size: 5, Rate: 1, Per: time.Minute, Users: []string{"*"}}}}
	w.crontabs = []*crontab.File{w.crontab("t", "#@ name=a pool=api\n0 3 * * * a\n#@ name=b pool=api\n0 3 * * * b\n")}
	w.start()
	w.advance(extremeStart.Add(30 * time.Second))
	w.settle()
	w.step(event.Stop{Job: "b", By: "ann", Token: 1})
	for id := range w.running {
		w.end(id, job.Outcome{Kind: job.Exited})
	}
	w.settle()
	w.pass(2 * time.Minute)
	w.step(event.Tick{})
	if wake := w.engine.Wake(); !wake.IsZero() && !wake.After(w.now.Wall) {
		t.Errorf("after the step at %s the engine wants the next one at %s", w.now.Wall, wake)
	}
}

// A load with other limits does not reset the rate, even if nothing runs or waits.
func TestRateOutlivesOtherLimits(t *testing.T) {
	w := newWorld(t, noon, time.UTC)
	w.limits = slots.Limits{Pools: map[string]slots.Pool{"api": {Size: 5, Rate: 1, Per: time.Hour, Users: []string{"*"}}}}
	w.crontabs = []*crontab.File{w.crontab("t", "#@ name=a pool=api\n1,10 12 * * * a\n")}
	w.start()
	w.advance(noon.Add(5 * time.Minute))
	for _, id := range runningRuns(w) {
		w.end(id, job.Outcome{Kind: job.Exited})
	}
	w.settle()
	w.limits.QueueMax = 100
	w.step(w.load())
	w.advance(noon.Add(30 * time.Minute))
	if n := len(w.running); n != 0 {
		t.Errorf("%d runs go on at 12:30, after the one of 12:01; want none before 13:01", n)
	}
	w.advance(noon.Add(61 * time.Minute))
	if n := len(w.running); n != 1 {
		t.Errorf("%d runs go on at 13:01, want 1", n)
	}
}

// A short crash counts as short, even if the daemon's last stored record is old.
func TestRunThatWaitsSurvivesAShortCrash(t *testing.T) {
	for away, want := range map[time.Duration]int{30 * time.Second: 1, 5 * time.Minute: 1, 7 * time.Minute: 0} {
		w := newWorld(t, noon, time.UTC)
		w.crontabs = []*crontab.File{w.crontab("t", "#@ name=a overlap=queue\n*/30 * * * * a\n")}
		w.start()
		w.advance(noon.Add(61 * time.Minute)) // one run continues, and another one waits
		w.state.LastSeen = w.now.Wall         // as stored by SignOfLife
		w.pass(away)
		w.adopted = true
		w.start()
		for _, id := range runningRuns(w) {
			w.end(id, job.Outcome{Kind: job.Exited})
		}
		w.settle()
		if got := len(w.running); got != want {
			t.Errorf("away for %s: %d runs that had waited start, want %d", away, got, want)
		}
	}
}

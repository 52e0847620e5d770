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
	h := newSimHost(t, extremeStart, time.UTC)
	h.limits = slots.Limits{Pools: map[string]slots.Pool{"api": {Size: 5, Rate: 1, Per: time.Minute, Users: []string{"*"}}}}
	h.crontabs = []*crontab.File{h.crontab("t", "#@ name=a pool=api\n0 3 * * * a\n#@ name=b pool=api\n0 3 * * * b\n")}
	h.start()
	h.advance(extremeStart.Add(30 * time.Second))
	h.settle()
	h.step(event.Asked{Question: event.Stop{Job: "b", By: "ann"}, Token: 1})
	for id := range h.running {
		h.end(id, job.Outcome{Kind: job.Exited})
	}
	h.settle()
	h.pass(2 * time.Minute)
	h.step(event.Tick{})
	if wake := h.engine.Wake(); !wake.IsZero() && !wake.After(h.now.Wall) {
		t.Errorf("after the step at %s the engine wants the next one at %s", h.now.Wall, wake)
	}
}

// A load with other limits does not reset the rate, even if nothing runs or waits.
func TestRateOutlivesOtherLimits(t *testing.T) {
	h := newSimHost(t, noon, time.UTC)
	h.limits = slots.Limits{Pools: map[string]slots.Pool{"api": {Size: 5, Rate: 1, Per: time.Hour, Users: []string{"*"}}}}
	h.crontabs = []*crontab.File{h.crontab("t", "#@ name=a pool=api\n1,10 12 * * * a\n")}
	h.start()
	h.advance(noon.Add(5 * time.Minute))
	for _, id := range runningRuns(h) {
		h.end(id, job.Outcome{Kind: job.Exited})
	}
	h.settle()
	h.limits.QueueMax = 100
	h.step(h.load())
	h.advance(noon.Add(30 * time.Minute))
	if n := len(h.running); n != 0 {
		t.Errorf("%d runs go on at 12:30, after the one of 12:01; want none before 13:01", n)
	}
	h.advance(noon.Add(61 * time.Minute))
	if n := len(h.running); n != 1 {
		t.Errorf("%d runs go on at 13:01, want 1", n)
	}
}

// A short crash counts as short, even if the daemon's last stored record is old.
func TestRunThatWaitsSurvivesAShortCrash(t *testing.T) {
	for away, want := range map[time.Duration]int{30 * time.Second: 1, 5 * time.Minute: 1, 7 * time.Minute: 0} {
		h := newSimHost(t, noon, time.UTC)
		h.crontabs = []*crontab.File{h.crontab("t", "#@ name=a overlap=queue\n*/30 * * * * a\n")}
		h.start()
		h.advance(noon.Add(61 * time.Minute)) // one run continues, and another one waits
		h.lastSeen = h.now.Wall               // as stored by SignOfLife
		h.pass(away)
		h.adopted = true
		h.start()
		for _, id := range runningRuns(h) {
			h.end(id, job.Outcome{Kind: job.Exited})
		}
		h.settle()
		if got := len(h.running); got != want {
			t.Errorf("away for %s: %d runs that had waited start, want %d", away, got, want)
		}
	}
}

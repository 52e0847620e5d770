package engine

import (
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// TestRateThatNobodyWaitsFor holds that the engine does not want to step at
// once, again and again, after the last run that waited for a pool's rate is
// gone.
func TestRateThatNobodyWaitsFor(t *testing.T) {
	w := newWorld(t, extremeStart, time.UTC)
	w.limits = Limits{Pools: map[string]Pool{"api": {Size: 5, Rate: 1, Per: time.Minute, Users: []string{"*"}}}}
	w.tables = []*crontab.Table{w.table("t", "#@ name=a pool=api\n0 3 * * * a\n#@ name=b pool=api\n0 3 * * * b\n")}
	w.start()
	w.advance(extremeStart.Add(30 * time.Second))
	w.settle()
	w.step(Stop{Job: "b", By: "ann", Token: 1})
	for id := range w.running {
		w.end(id, job.Outcome{Kind: job.Exited})
	}
	w.settle()
	w.pass(2 * time.Minute)
	w.step(Tick{})
	if wake := w.engine.Wake(); !wake.IsZero() && !wake.After(w.now.Wall) {
		t.Errorf("after the step at %s the engine wants the next one at %s", w.now.Wall, wake)
	}
}

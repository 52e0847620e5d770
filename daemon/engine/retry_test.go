package engine

import (
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// An entry without a wait between its attempts, or whose spread makes it nearly zero,
// does not keep the daemon fully busy.
func TestRetryLeavesASecondBetweenAttempts(t *testing.T) {
	for _, options := range []string{"backoff=0s", "backoff=0s..0s", "backoff=0s retry-jitter=100%", "backoff=1s retry-jitter=100%"} {
		h := newSimHost(t, time.Date(2026, 11, 20, 2, 59, 0, 0, time.UTC), time.UTC)
		h.crontabs = []*crontab.File{h.crontab("flaky", "#@ retry=1000 "+options+"\n0 3 * * * x\n")}
		h.start()
		h.advance(time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC))
		for attempt := range 20 {
			running := runningRuns(h)
			if len(running) != 1 {
				t.Fatalf("%s: attempt %d: %d runs, want one", options, attempt+1, len(running))
			}
			failed := h.now.Wall
			h.end(running[0], job.Outcome{Kind: job.Exited, Code: 1})
			h.step()
			if again := runningRuns(h); len(again) != 0 {
				t.Fatalf("%s: run %d starts at the end of the one before", options, again[0])
			}
			next := h.engine.Wake()
			if wait := next.Sub(failed); wait < time.Second || wait > 2*time.Second {
				t.Fatalf("%s: the attempt after %d comes %s later, want 1s to 2s", options, attempt+1, wait)
			}
			h.advance(next)
		}
	}
}

package jobs

import (
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// The next occurrence of a late job is not the one that it is late with.
func TestStatusShowsWhatALateJobWaitsFor(t *testing.T) {
	j := job.Status{Job: job.Job{ID: "etl"}, State: job.StateLate, Next: time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC), Why: "an earlier run is still running"}
	if got, want := problemOf(nil, j, time.UTC), "an earlier run is still running    cronring why etl"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

package jobs

import (
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// The next occurrence of a late job is not the one that it is late with.
func TestStatusShowsWhatALateJobWaitsFor(t *testing.T) {
	next := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
	for _, j := range []job.Status{
		{Why: "an earlier run is still running"},
		{Problem: "an earlier run is still running"}, // from a daemon of an older version
	} {
		j.Job.ID, j.State, j.Next = "etl", job.StateLate, next
		if got, want := problemOf(nil, j, time.UTC), "an earlier run is still running    cronring why etl"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

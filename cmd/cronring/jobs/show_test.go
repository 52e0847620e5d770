package jobs

import (
	"bufio"
	"bytes"
	"testing"
	"time"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/job"
)

func TestShowTellsWhatARunWaitsFor(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		run  job.Run
		want string
	}{
		{job.Run{ID: 1, State: job.RunRunning, Started: now.Add(-90 * time.Second), PID: 77}, "  running   run 1, for 1m30s, pid 77\n"},
		{job.Run{ID: 2, State: job.RunDecided}, "  starting  run 2, now\n"},
		{job.Run{ID: 3, State: job.RunWaiting, Reason: job.WaitsForDelay, NotBefore: now.Add(5 * time.Minute)},
			"  waiting   run 3, until Sun 2026-11-22 12:05:00 +00:00, in 5m00s    It is due, and is waiting for the delay or the hours in its entry, or for runs that are caught up before it.\n"},
		{job.Run{ID: 4, State: job.RunQueued, Reason: job.WaitsForRun}, "  waiting   run 4    It is waiting for an earlier run of the same job to end.\n"},
	} {
		var out bytes.Buffer
		a := &cli.App{Printer: cli.Printer{Out: bufio.NewWriter(&out)}, Now: func() time.Time { return now }}
		printLive(a, &tc.run, time.UTC)
		a.Out.Flush()
		if got := out.String(); got != tc.want {
			t.Errorf("show a run that is %s: got %q, want %q", tc.run.State, got, tc.want)
		}
	}
}

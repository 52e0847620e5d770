package runs

import (
	"testing"

	"github.com/cronring/cronring/daemon/job"
)

func TestExitOfRun(t *testing.T) {
	for _, tc := range []struct {
		state   job.RunState
		outcome job.Outcome
		want    int
	}{
		{job.RunEnded, job.Outcome{Kind: job.Exited}, 0},
		{job.RunEnded, job.Outcome{Kind: job.Exited, Code: 3}, 3},
		{job.RunEnded, job.Outcome{Kind: job.Signalled, Signal: 9}, 137},
		{job.RunEnded, job.Outcome{Kind: job.TimedOut, Signal: 15}, 143},
		{job.RunEnded, job.Outcome{Kind: job.NotStarted, Error: "no such user"}, 125},
		{job.RunEnded, job.Outcome{Kind: job.Lost}, 125},
		{job.RunDropped, job.Outcome{}, 125},
	} {
		if got := exitOf(&job.Run{State: tc.state, Outcome: tc.outcome}); got != tc.want {
			t.Errorf("exit code of a run that is %s, %s: got %d, want %d", tc.state, tc.outcome, got, tc.want)
		}
	}
}

func TestRunRefOfJob(t *testing.T) {
	for ref, want := range map[string]string{
		"17": "17", "backup": "backup@last", "backup@-2": "backup@-2", "/etc/crontab:17": "/etc/crontab:17@last",
	} {
		if got := runRef(ref); got != want {
			t.Errorf("run that %q names: got %q, want %q", ref, got, want)
		}
	}
}

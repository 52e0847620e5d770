package runs

import (
	"bufio"
	"bytes"
	"testing"
	"time"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/job"
)

func TestPrintRunsThatHaveEnded(t *testing.T) {
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	runs := []job.Run{
		{ID: 1, Job: "a", State: job.RunEnded, Started: noon, Ended: noon.Add(time.Minute), Outcome: job.Outcome{Kind: job.Exited}},
		{ID: 2, Job: "a", State: job.RunEnded, Ended: noon, Outcome: job.Outcome{Kind: job.NotStarted, Error: "no such user"}},
	}
	var out bytes.Buffer
	a := &cli.App{Printer: cli.Printer{Out: bufio.NewWriter(&out), Color: cli.OneOf("never")}}
	if err := printRuns(a, runs, &cli.Output{}, (*job.Run).ResultOrState); err != nil {
		t.Fatal(err)
	}
	a.Out.Flush()
	const want = "run 1  a  ok in 1m00s    cronring logs 1\nrun 2  a  not started: no such user    cronring logs 2\n"
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

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

package jobs

import (
	"slices"
	"testing"
	"time"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/job"
)

func TestSortJobs(t *testing.T) {
	at := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	run := func(began, took time.Duration) *job.Run {
		return &job.Run{Started: at.Add(began), Ended: at.Add(began + took)}
	}
	jobs := []job.Status{
		{Job: job.Job{ID: "c", Crontab: "/b", Line: 10, User: "z"}, State: job.StateFailing, Next: at.Add(2), Last: run(-time.Hour, time.Minute)},
		{Job: job.Job{ID: "a", Crontab: "/b", Line: 9, User: "y"}, State: job.StateRunning, Last: run(-time.Minute, time.Second)},
		{Job: job.Job{ID: "b", Crontab: "/a", Line: 11, User: "y"}, State: job.StateNew, Next: at.Add(1)},
	}
	for by, want := range map[string]string{
		"state": "cab", "job": "abc", "next": "bca", "last": "acb", "took": "cab", "user": "abc", "source": "bac",
	} {
		sorted := slices.Clone(jobs)
		sortJobs(sorted, by)
		got := ""
		for _, j := range sorted {
			got += string(j.Job.ID)
		}
		if got != want {
			t.Errorf("by %s: got %s, want %s", by, got, want)
		}
	}
}

// A failure that a user has acknowledged does not look like a success.
func TestListShowsAcknowledgedFailures(t *testing.T) {
	r := jobRow{Status: &job.Status{State: job.StateOK, Ack: &job.Ack{By: "ann"}}}
	if got, want := r.stateCell(), (cli.Cell{Text: "✗ ack", Tone: cli.Faint}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

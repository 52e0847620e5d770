package main

import (
	"slices"
	"strings"
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
		{Job: job.Job{ID: "c", Table: "/b", Line: 10, User: "z"}, State: job.StateFailing, Next: at.Add(2), Last: run(-time.Hour, time.Minute)},
		{Job: job.Job{ID: "a", Table: "/b", Line: 9, User: "y"}, State: job.StateRunning, Last: run(-time.Minute, time.Second)},
		{Job: job.Job{ID: "b", Table: "/a", Line: 11, User: "y"}, State: job.StateNew, Next: at.Add(1)},
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

func TestListFlagsThatMakeNoSense(t *testing.T) {
	for _, args := range [][]string{
		{"list", "--sort", "age"}, {"list", "--fields=nothing"}, {"list", "-o", "custom-columns=X"}, {"list", "-o", "custom-columns=X:nothing"},
		{"list", "-o", "json", "--fields=job"}, {"list", "-o", "name", "--fields=job"}, {"list", "-w", "-o", "json"}, {"list", "-w", "--json=state"},
		{"list", "-w", "--jq", "."}, {"status", "-w", "--check"}, {"status", "-w", "-o", "json"},
	} {
		if stdout, stderr, code := called(t, "", append(args, "--socket", "/no/such/socket")...); code != cli.ExitUsage || stdout != "" {
			t.Errorf("cronring %q: got exit %d, %q and %q, want 2", args, code, stdout, stderr)
		}
	}
	stdout, _, code := called(t, "", "list", "--fields", "--socket", "/no/such/socket")
	if names := strings.Fields(stdout); code != cli.ExitDone || !slices.Equal(names, jobFields()) || !slices.Contains(names, "last.outcome.code") {
		t.Errorf("cronring list --fields: got exit %d and %q, want the names", code, stdout)
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/clitest"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// waitedFor serves a run and a backfill that do not end. reached receives a value when a
// command waits for one of them.
func waitedFor(t *testing.T) (socket string, reached <-chan struct{}) {
	t.Helper()
	waits := make(chan struct{}, 1)
	run := job.Run{ID: 7, Job: "backup", State: job.RunRunning, Trigger: job.TriggerManual}
	plan := api.Backfill{V: 1, Backfill: job.Backfill{Job: "backup"}, Plan: &api.BackfillPlan{Count: 8}}
	active := job.Backfill{ID: 3, Job: "backup", Started: 6, Failed: 1}
	return clitest.Served(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		var answer any
		switch r.Method + " " + r.URL.Path {
		case "GET /v1/runs":
			answer = api.Runs{V: 1}
			if r.URL.Query().Has("live") {
				answer = api.Runs{V: 1, Runs: []job.Run{run}}
			}
		case "GET /v1/jobs":
			answer = api.Jobs{V: 1, Jobs: []job.Status{{Job: job.Job{ID: "backup"}}}}
		case "GET /v1/backfills":
			answer = api.Backfills{V: 1, Backfills: []job.Backfill{active}}
		case "POST /v1/backfill":
			if bytes.Contains(body, []byte(`"dry_run":true`)) {
				answer = plan
			}
		case "POST /v1/run":
			if !bytes.Contains(body, []byte(`"wait":true`)) {
				answer = api.Runs{V: 1, Runs: []job.Run{run}}
			}
		}
		if answer == nil {
			waits <- struct{}{}
			<-r.Context().Done()
			return
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}), waits
}

// TestInterruptReportsWhatContinues interrupts commands that wait, as Ctrl-C does: each one
// reports what continues and how to follow it, and exits 130.
func TestInterruptReportsWhatContinues(t *testing.T) {
	socket, reached := waitedFor(t)
	const run = "run 7 of backup continues    follow it: cronring logs --follow 7\n"
	for line, want := range map[string]string{
		"run backup --wait":                             run,
		"retry backup --wait":                           run,
		"run backup --wait --quiet":                     "",
		"run backup --follow":                           "the run continues    follow it: cronring logs --follow 7\n",
		"logs 7 --follow":                               "the run continues    follow it: cronring logs --follow 7\n",
		"logs backup --wait":                            "the run continues    follow it: cronring logs --follow backup@last\n",
		"backfill backup 2026-03-01..2026-03-08 --wait": "backfill 3 of backup continues    see it: cronring backfill list    stop it: cronring backfill stop 3\n",
		"report events":                                 "",
	} {
		cmd := exec.Command("cronring", append(strings.Fields(line), "--socket", socket)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		<-reached
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // the exit code is compared below
		if got, code := stderr.String(), cmd.ProcessState.ExitCode(); got != want || code != cli.ExitInterrupted {
			t.Errorf("cronring %s, interrupted: got exit %d and %q, want %d and %q", line, code, got, cli.ExitInterrupted, want)
		}
	}
}

// TestBackfillShowsProgress waits for a backfill on a terminal: a line shows how far it is.
func TestBackfillShowsProgress(t *testing.T) {
	t.Setenv("CRONRING_GLYPHS", "ascii")
	socket, reached := waitedFor(t)
	outside, inside := clitest.OpenTerminal(t)
	cmd := exec.Command("cronring", "backfill", "backup", "2026-03-01..2026-03-08", "--wait", "--socket", socket)
	cmd.Stderr = inside
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	<-reached
	if err := outside.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	const want = "\rbackfill 3 of backup  [##################......]   75 %  6 of 8 started, 1 failed"
	var text []byte
	for part := make([]byte, 1024); !bytes.Contains(text, []byte(want)); {
		n, err := outside.Read(part)
		if text = append(text, part[:n]...); err != nil {
			t.Fatalf("cronring backfill --wait on a terminal: got %q, %v, want %q", text, err, want)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
}

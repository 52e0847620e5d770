package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// Every one of the strangest valid lines runs, and does what the same command
// does under the same shell with the same input.
func TestStrangeLinesRun(t *testing.T) {
	const file = "../../testdata/crontab/strange.crontab"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	entries, _ := crontab.Parse(file, string(text), crontab.Config{Zone: time.LoadLocation})
	if n := len(entries.Entries); n < 50 {
		t.Fatalf("%d strange lines, want 50 or more", n)
	}
	d := launch(t, t.TempDir(), file)
	ctx := context.Background()
	jobs, err := d.client.List(ctx, api.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if len(jobs) != len(entries.Entries) {
		t.Fatalf("%d jobs of %d entries", len(jobs), len(entries.Entries))
	}
	byLine := map[int]*crontab.Entry{}
	for i := range entries.Entries {
		byLine[entries.Entries[i].Line()] = &entries.Entries[i]
	}
	for _, j := range jobs {
		runs, err := d.client.Run(ctx, api.RunRequest{Refs: []string{string(j.Job.ID)}, Force: true, Wait: true})
		if err != nil || len(runs) != 1 {
			t.Errorf("line %d: %d runs, %v", j.Job.Line, len(runs), err)
			continue
		}
		e := byLine[j.Job.Line]
		wantOutcome, wantOutput := underShell(t, e)
		if runs[0].Outcome != wantOutcome {
			t.Errorf("line %d: %s: %v, want %v", e.Line(), e.Raw(), runs[0].Outcome, wantOutcome)
		}
		if got := outputOf(t, d, runs[0].ID); got != wantOutput && !strings.Contains(e.Raw(), "date") {
			t.Errorf("line %d: %s\ngot  %q\nwant %q", e.Line(), e.Raw(), got, wantOutput)
		}
	}
}

func underShell(t *testing.T, e *crontab.Entry) (job.Outcome, string) {
	t.Helper()
	stdin, _ := e.Stdin()
	cmd := exec.Command("/bin/sh", "-c", e.Command())
	cmd.Stdin = strings.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout = &out
	cmd.Run()
	return job.Outcome{Kind: job.Exited, Code: cmd.ProcessState.ExitCode()}, out.String()
}

func outputOf(t *testing.T, d *running, id job.RunID) string {
	t.Helper()
	var out strings.Builder
	for e, err := range d.client.Output(context.Background(), id.String(), false) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Chunk != nil && e.Chunk.Stream == job.Stdout {
			out.Write(e.Chunk.Data)
		}
	}
	return out.String()
}

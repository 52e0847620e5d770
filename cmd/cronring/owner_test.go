package main

import (
	"bufio"
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/clitest"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// ownerNow is the present of the test.
var ownerNow = time.Date(2026, 11, 20, 18, 3, 11, 0, time.UTC)

// TestOwnersAreNamed looks at what people read of jobs of a ring.
func TestOwnersAreNamed(t *testing.T) {
	t.Setenv("CRONRING_GLYPHS", "ascii")
	t.Setenv("TZ", "UTC")
	at := ownerNow.Add(time.Hour)
	status := job.Status{
		Job: job.Job{ID: "etl", Schedule: "3 * * * *", User: "ann"}, State: job.StateOK, Next: at, Node: "db-02",
		Elsewhere: &job.Elsewhere{Node: "db-03", Due: ownerNow.Add(-time.Hour)},
	}
	socket := clitest.Scripted(t, map[string][]any{
		"GET /v1/next":   {api.Coming{V: 1, Jobs: 2, Runs: []api.ComingRun{{At: at, Job: "etl", Node: "db-02"}, {At: at, Job: "own"}}}},
		"GET /v1/status": {api.Status{Now: ownerNow, Jobs: 1, Next: &api.Upcoming{Job: "etl", At: at, Node: "db-02"}}},
		"GET /v1/jobs":   {api.Jobs{V: 1, Jobs: []job.Status{status}}},
		"GET /v1/job":    {api.Job{V: 1, Status: status, Upcoming: []time.Time{at, at.Add(time.Hour)}}},
	})
	for line, want := range map[string]string{
		"next":          "2026-11-20 19:03:11 +00:00  in 1h00m  etl  on db-02\n2  Fri 2026-11-20 19:03:11 +00:00  in 1h00m  own\n",
		"next -o plain": "\tetl\tdb-02\n2026-11-20T19:03:11Z\town\t\n",
		"next -o jsonl": `"job":"etl","member":"db-02"}`,
		"next etl":      "on db-02\n",
		"status":        "in 1h00m on db-02\n",
		"list -o table": "1h00m on db-02  1h00m on db-03",
		"show etl":      "db-03 took the occurrence of Fri 2026-11-20 17:03:11 +00:00    cronring history --member db-03 etl\n",
	} {
		var out bytes.Buffer
		a := cli.New(strings.NewReader(""), os.Stdout, os.Stderr)
		a.Now, a.Out = func() time.Time { return ownerNow }, bufio.NewWriter(&out)
		if code := runApp(a, append(strings.Fields(line), "--socket", socket, "--tz", "UTC")); code != 0 || !strings.Contains(out.String(), want) {
			t.Errorf("%s: code %d, %q; want %q in it", line, code, out.String(), want)
		}
	}
}

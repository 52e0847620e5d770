package runs

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

// printed returns what "cronring history" prints on a terminal of a width, 0: no limit.
func printed(t *testing.T, form string, width int, runs ...job.Run) string {
	t.Helper()
	t.Setenv("CRONRING_SOCKET", clitest.Scripted(t, map[string][]any{"GET /v1/runs": {api.Runs{V: api.Version, Runs: runs}}}))
	var out bytes.Buffer
	a := cli.New(strings.NewReader(""), os.Stdout, os.Stderr)
	a.Out, a.Width = bufio.NewWriter(&out), width
	cmd := NewHistory(a)
	cmd.SetArgs([]string{"--utc", "-o", form})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.Out.Flush()
	return out.String()
}

// If an occurrence ran on two members of the ring, each form of the history shows the other one.
func TestHistoryShowsDoubles(t *testing.T) {
	due := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	run := func(id job.RunID, doubled string) job.Run {
		return job.Run{ID: id, Job: "nightly", Due: due, Started: due, Ended: due.Add(2 * time.Second), Attempt: 1, Trigger: job.TriggerClock,
			State: job.RunEnded, Outcome: job.Outcome{Kind: job.Exited}, Stop: &job.Stop{By: "ann"}, Doubled: doubled}
	}
	single, double := run(7, ""), run(421700, "ran on elm.example.org too, as run 9")
	double.Job, double.Outcome = "ann/nightly-database-dump", job.Outcome{Kind: job.Exited, Code: 1}
	const line = "\nrun 421700 of ann/nightly-database-dump ran on elm.example.org too, as run 9\n"
	for name, test := range map[string]struct {
		got, want string
		count     int
	}{
		"the table for 80 columns":   {printed(t, "table", 80, double, single), line, 1},
		"the table for 100 columns":  {printed(t, "table", 100, double, single), "exit 1, doubled", 1},
		"the wide table":             {printed(t, "wide", 0, double, single), "; ran on elm.example.org too, as run 9\n", 2},
		"plain":                      {printed(t, "plain", 0, double, single), "\tstopped by ann; ran on elm.example.org too, as run 9\n", 1},
		"JSON":                       {printed(t, "json", 0, double, single), `"doubled": "ran on elm.example.org too, as run 9"`, 1},
		"lines of JSON":              {printed(t, "jsonl", 0, double, single), `"doubled":"ran on elm.example.org too, as run 9"`, 1},
		"the wide table without one": {printed(t, "wide", 0, single), "OUTCOME  TOOK ", 0},
	} {
		if !strings.Contains(test.got, test.want) || strings.Count(test.got, "elm.") != test.count {
			t.Errorf("%s: got\n%s\nwant %q, and the other member %d times", name, test.got, test.want, test.count)
		}
	}
}

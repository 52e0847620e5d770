package runs

import (
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

var progressStart = time.Date(2026, 11, 20, 18, 3, 11, 0, time.UTC)

func TestProgressText(t *testing.T) {
	t.Setenv("CRONRING_GLYPHS", "ascii")
	running := job.Run{ID: 4231, Job: "pg-backup", State: job.RunRunning, PID: 90533, Started: progressStart}
	queued := job.Run{ID: 4232, Job: "x\x1b[2J", State: job.RunQueued, Reason: job.WaitsForRun}
	usual := map[string]time.Duration{"pg-backup": 62 * time.Second}
	for _, tc := range []struct {
		name  string
		runs  []job.Run
		drawn bool
		usual map[string]time.Duration
		after time.Duration
		want  string
	}{
		{"a bar", []job.Run{running}, true, usual, 38 * time.Second, "run 4231 of pg-backup  pid 90533  [##############..........]   61 %  38s of about 1m02s"},
		{"longer than usual", []job.Run{running}, true, usual, time.Hour, "run 4231 of pg-backup  pid 90533  [########################]   99 %  1h00m of about 1m02s"},
		{"nothing is usual yet", []job.Run{running}, true, nil, 38 * time.Second, "run 4231 of pg-backup  pid 90533  38s"},
		{"the clock was set back", []job.Run{running}, true, nil, -time.Hour, "run 4231 of pg-backup  pid 90533  0s"},
		{"a line", []job.Run{running}, false, usual, 38 * time.Second, "run 4231 of pg-backup: running for 38s of about 1m02s"},
		{"not begun", []job.Run{queued}, false, nil, 0, "run 4232 of x�[2J: queued. " + job.WaitsForRun.Sentence()},
		{"several", []job.Run{running, queued}, true, usual, 0, "2 runs, 1 running, 1 queued"},
	} {
		p := &progress{usual: tc.usual, line: &cli.ProgressLine{Shown: tc.drawn}}
		got := p.text(tc.runs, progressStart.Add(tc.after))
		if strings.Contains(got, "\x1b") || tc.name != "not begun" && got != tc.want || !strings.HasSuffix(got, tc.want[len(tc.want)-10:]) {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}

// Progress shows only operations of the user who waits. Each step replaces the previous one, and
// the last step is erased.
func TestProgressStepsInPlace(t *testing.T) {
	t.Setenv("CRONRING_GLYPHS", "ascii")
	run := func(id job.RunID, trigger job.Trigger) job.Run {
		return job.Run{ID: id, Job: "j", Trigger: trigger, State: job.RunRunning, PID: 7, Started: progressStart}
	}
	socket := clitest.Scripted(t, map[string][]any{
		"GET /v1/runs":  {api.Runs{Runs: []job.Run{run(12, job.TriggerManual), run(11, job.TriggerClock), run(10, job.TriggerManual)}}},
		"GET /v1/stats": {api.Stats{Groups: []api.StatsGroup{{Name: "j", P95: 20 * time.Second}}}},
	})
	for _, drawn := range []bool{true, false} {
		var message bytes.Buffer
		a := cli.New(strings.NewReader(""), os.Stdout, os.Stderr)
		a.Err, a.Socket = &message, socket
		client := a.Daemon()
		p := &progress{app: a, client: client, refs: []string{"j"}, after: 10, line: &cli.ProgressLine{Printer: &a.Printer, Shown: drawn}}
		for _, after := range []time.Duration{5, 10} {
			a.Now = func() time.Time { return progressStart.Add(after * time.Second) }
			p.step(t.Context())
		}
		p.line.Put("")
		client.Close()
		first, second := "run 12 of j  pid 7  [######..................]   25 %  5s of about 20s", "run 12 of j  pid 7  [############............]   50 %  10s of about 20s"
		want := "\r" + first + "\r" + second + "\r" + strings.Repeat(" ", len(second)) + "\r"
		if !drawn {
			want = "run 12 of j: running for 5s of about 20s\nrun 12 of j: running for 10s of about 20s\n"
		}
		if got := message.String(); got != want {
			t.Errorf("drawn %v: got %q, want %q", drawn, got, want)
		}
	}
}

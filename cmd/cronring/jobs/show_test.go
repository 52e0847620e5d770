package jobs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"testing"
	"time"
	"unicode"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
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

func TestShowOfARunThatHasEnded(t *testing.T) {
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		run  job.Run
		want string
	}{
		{job.Run{ID: 1, State: job.RunEnded, Started: noon, Ended: noon.Add(time.Minute), Outcome: job.Outcome{Kind: job.Exited, Code: 3}},
			"run 1  Sun 2026-11-22 12:00:00 +00:00  exit 3 in 1m00s"},
		{job.Run{ID: 2, State: job.RunEnded, Ended: noon, Outcome: job.Outcome{Kind: job.NotStarted, Error: "no such user"}},
			"run 2  Sun 2026-11-22 12:00:00 +00:00  not started: no such user"},
		{job.Run{ID: 3, State: job.RunEnded, Started: noon, Ended: noon}, "run 3  Sun 2026-11-22 12:00:00 +00:00  started"},
	} {
		if got := recentText(&cli.App{}, &tc.run, time.UTC); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}

func TestShowQuotesOptions(t *testing.T) {
	options := map[string]string{"if": `test -e "/tmp/a b"`, "cwd": "/tmp/a b", "env": "A=b", "desc": "it's late"}
	const want = `cwd="/tmp/a b"  desc="it's late"  env=A=b  if='test -e "/tmp/a b"'`
	if got := optionText(options); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// FuzzWhy prints any explanation of a hostile daemon on another host.
func FuzzWhy(f *testing.F) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for _, w := range []api.Why{
		{V: api.Version, Job: "etl", At: at, Zone: "UTC", Ran: true, Verdict: "It ran.", Run: &job.Run{ID: 7},
			Steps: []api.Step{{Name: job.StepSchedule, State: api.Passed, Fact: "due"}}, Facts: []string{"x"}, Remedies: []api.Remedy{{What: "run it", Command: "cronring run etl"}}},
		{Job: "\x1b[31m", Verdict: "a\nb\x1b", Steps: []api.Step{{Name: "\x1b]0;x\a\n", State: "\x1b[31m", Fact: "\x9b"}}, Facts: []string{"\x1b"}, Remedies: []api.Remedy{{What: "\r", Command: "\x00"}}},
	} {
		text, err := json.Marshal(w)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var w api.Why
		if json.Unmarshal(text, &w) != nil {
			return
		}
		var out bytes.Buffer
		a := &cli.App{Printer: cli.Printer{Out: bufio.NewWriter(&out), Color: cli.OneOf("never")}}
		printWhy(a, w, time.UTC)
		a.Out.Flush()
		if bytes.ContainsFunc(out.Bytes(), func(r rune) bool { return unicode.IsControl(r) && r != '\n' }) {
			t.Errorf("%s is printed as %q", text, out.Bytes())
		}
		if lines := bytes.Count(out.Bytes(), []byte("\n")); lines > 6+len(w.Steps)+len(w.Facts)+len(w.Remedies) {
			t.Errorf("%s is printed as %d lines", text, lines)
		}
	})
}

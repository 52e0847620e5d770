package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/clitest"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// hostileJob has what can steer a terminal in all that its owner chooses.
func hostileJob() job.Status {
	const evil = "x\x1b[2J\u202e\x07\ny"
	end := time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)
	last := job.Run{ID: 7, Job: evil, State: job.RunEnded, Started: end, Ended: end, Outcome: job.Outcome{Kind: job.NotStarted, Error: evil}, By: evil}
	return job.Status{
		Job:   job.Job{ID: evil, Crontab: evil, Command: evil, User: evil, Schedule: evil, Stdin: evil, Env: []string{evil}, Held: evil, Options: map[string]string{"name": evil}},
		State: job.StateFailing, Last: &last, Recent: []job.Run{last}, Hold: &job.Hold{By: evil, Reason: evil},
	}
}

func TestDaemonTextIsCleaned(t *testing.T) {
	j := hostileJob()
	evil := string(j.Job.ID)
	chunk := job.Chunk{Run: 7, Stream: job.Stdout, Data: []byte("out\x1b[31m \x1b]0;t\x07" + evil)}
	socket := clitest.Scripted(t, map[string][]any{
		"GET /v1/status": {api.Status{Health: api.Health{V: 1, Host: evil, Problems: []api.Problem{{What: evil, Why: evil, Fix: evil}}}, Next: &api.Upcoming{Job: j.Job.ID}, States: map[job.State]int{job.StateFailing: 1}}},
		"GET /v1/jobs":   {api.Jobs{V: 1, Jobs: []job.Status{j}}},
		"GET /v1/job":    {api.Job{V: 1, Status: j, Meaning: evil}},
		"GET /v1/next":   {api.Coming{V: 1, Jobs: 1, Runs: []api.ComingRun{{Job: j.Job.ID}}}},
		"GET /v1/explain": {api.Explanation{V: 1, Job: j.Job.ID, Schedule: evil, Meaning: evil, Zone: evil, User: evil, Command: evil, Crontab: evil, Line: 1,
			Held: evil, Hold: j.Hold, Options: []api.OptionMeaning{{Key: evil, Value: evil, Meaning: evil}}, Shared: 1, Clashes: []api.Clash{{Starts: 2, Jobs: []job.ID{j.Job.ID}}},
			Changes: []api.ZoneChange{{Before: evil, After: evil, Effect: evil}}, Diagnostics: []api.Diagnostic{{Severity: "error", Message: evil, Fix: evil}}}},
		"GET /v1/runs":   {api.Runs{V: 1, Runs: j.Recent, Skipped: []job.Record{{Job: j.Job.ID, Detail: job.Text(evil)}}}},
		"GET /v1/why":    {api.Why{V: 1, Job: j.Job.ID, Verdict: evil, Steps: []api.Step{{Name: job.StepEntry, State: api.Crossed, Fact: evil}}, Facts: []string{evil}, Remedies: []api.Remedy{{What: evil, Command: evil}}}},
		"GET /v1/output": {api.Event{Chunk: &chunk}},
		"GET /v1/events": {api.Event{Chunk: &chunk}, api.Event{Record: &job.Record{Kind: job.Ended, Job: j.Job.ID, Run: j.Last, Detail: job.Text(evil)}},
			api.Event{Notice: &job.Notice{On: job.OnFail, Job: j.Job.ID, Text: evil}}},
		"POST /v1/notify": {api.Notified{V: 1, Channel: evil}},
		"POST /v1/run":    {api.Runs{V: 1, Runs: j.Recent}},
		"POST /v1/pause":  {api.Changed{V: 1, Jobs: []job.ID{j.Job.ID}}},
		"POST /v1/reload": {api.Diagnostics{V: 1, Diagnostics: []api.Diagnostic{
			{File: evil, Line: 1, Severity: "error", Message: evil}}}},
	})
	for _, line := range []string{
		"status", "list", "list -o table", "list -o wide", "list -o name", "list -o json", "show x", "history", "history -o table",
		"history --skipped", "why x", "logs 7", "logs 7 -t", "report events", "run x", "pause x", "reload", "config notify x", "next x", "next x*", "next x* -o plain", "explain x",
	} {
		stdout, stderr, code := Called(t, "", append(strings.Fields(line), "--socket", socket)...)
		all := stdout + stderr
		if code != cli.ExitDone || !strings.Contains(all, "x") {
			t.Errorf("cronring %s: got exit %d and %q, want 0 and a result", line, code, all)
		}
		if strings.ContainsAny(all, "\x1b\x07") || strings.Contains(all, "\u202e") && !strings.Contains(line, "json") {
			t.Errorf("cronring %s: got what can steer a terminal: %q", line, all)
		}
	}
}

// TestExportOnATerminalIsCleaned: root exports the entries of all users.
func TestExportOnATerminalIsCleaned(t *testing.T) {
	const file = "/var/spool/cron/crontabs/ann"
	const text = "#@ name=x\n0 5 * * * echo \u202e\u009b2Jy\n"
	socket := clitest.Scripted(t, map[string][]any{
		"GET /v1/health": {api.Health{V: 1}},
		"GET /v1/jobs":   {api.Jobs{V: 1, Jobs: []job.Status{{Job: job.Job{ID: "ann/x", Crontab: file, Line: 2, User: "ann", Command: "echo \u202e\u009b2Jy"}}}}},
		"GET /v1/crontab": {api.CrontabText{
			V: 1, CrontabFile: api.CrontabFile{File: file, Entries: 1}, Text: []byte(text), Format: api.FormatUser, Family: api.FamilyDebian, Account: "ann", Zone: "UTC",
		}},
	})
	for _, format := range []string{"crontab", "systemd", "kubernetes", "nomad", "json", "ical"} {
		outside, inside := clitest.OpenTerminal(t)
		c := &conversation{t, outside, inside}
		code := c.begin("export", format, "ann/x", "--socket", socket)
		go func() { fmt.Fprintf(inside, "exit %d", <-code) }()
		got := c.expect("exit ")
		if !strings.Contains(got, "2Jy") || strings.ContainsAny(got, "\u202e\u009b") {
			t.Errorf("%s: got %q, want the entry without what can steer a terminal", format, got)
		}
	}
}

// TestReloadReportsOtherFiles: if one file is refused, the lines of the others are reported too.
func TestReloadReportsOtherFiles(t *testing.T) {
	socket := clitest.Served(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/reload" {
			w.WriteHeader(http.StatusInternalServerError)
			json.NewEncoder(w).Encode(api.Error{V: 1, Kind: api.Internal, What: "not everything in the files is in force", Why: "/a is not read"})
			return
		}
		json.NewEncoder(w).Encode(api.Diagnostics{V: 1, Diagnostics: []api.Diagnostic{{File: "/b", Line: 1, Severity: "error", Message: "bad hour"}}})
	})
	stdout, stderr, code := Called(t, "", "reload", "--socket", socket)
	if code == cli.ExitDone || !strings.Contains(stdout, "bad hour") || !strings.Contains(stderr, "not everything in the files is in force") {
		t.Errorf("got exit %d, %q and %q, want an error and the diagnostic of /b", code, stdout, stderr)
	}
}

// TestStatusNamesACommandForErrors: users without the role admin must not reload.
func TestStatusNamesACommandForErrors(t *testing.T) {
	for denied, want := range map[string]string{"": "crontab files: 1 error, 0 warnings    cronring reload", "no": "your crontab: 1 error, 0 warnings    crontab -l | cronring lint -"} {
		socket := clitest.Scripted(t, map[string][]any{
			"GET /v1/status": {api.Status{Errors: 1, Denied: api.Denied{Reload: denied}}}, "GET /v1/jobs": {api.Jobs{}},
		})
		if stdout, stderr, _ := Called(t, "", "status", "--socket", socket); !strings.Contains(stdout, want) {
			t.Errorf("got %q and %q, want %q", stdout, stderr, want)
		}
	}
}

func TestDaemonExitCodes(t *testing.T) {
	failed := job.Run{ID: 1, State: job.RunEnded, Outcome: job.Outcome{Kind: job.Exited, Code: 42}}
	socket := clitest.Scripted(t, map[string][]any{
		"GET /v1/status": {api.Status{}},
		"GET /v1/jobs":   {api.Jobs{Jobs: []job.Status{{State: job.StateRunning}, {State: job.StateFailing}}}},
		"POST /v1/run":   {api.Runs{Runs: []job.Run{{State: job.RunEnded, Outcome: job.Outcome{Kind: job.Exited}}, failed}}},
	})
	for line, want := range map[string]int{
		"status": cli.ExitDone, "status --check": cli.ExitProblems, "run x": cli.ExitDone, "run x --wait": 42, "stop x": 3, "show x": 3,
	} {
		if stdout, stderr, code := Called(t, "", append(strings.Fields(line), "--socket", socket)...); code != want {
			t.Errorf("cronring %s: got exit %d (%s%s), want %d", line, code, stdout, stderr, want)
		}
	}
}

// TestMissingJobIsReportedForTheCommand: these commands request a list of the jobs first.
func TestMissingJobIsReportedForTheCommand(t *testing.T) {
	fix := ""
	socket := clitest.Served(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/health" {
			json.NewEncoder(w).Encode(api.Health{V: 1})
			return
		}
		w.WriteHeader(http.StatusNotFound)
		json.NewEncoder(w).Encode(api.Error{V: 1, Kind: api.NotFound, What: `cannot list "x": no such job`, Fix: fix})
	})
	t.Setenv("CRONRING_SOCKET", socket)
	const other = "    or list: cronring list"
	for _, tc := range []struct{ line, fix, what, want string }{
		{"export systemd x", "cronring list xy" + other, `cannot export "x"`, "cronring export systemd xy" + other},
		{"export json x", "cronring list xy" + other, `cannot export "x"`, "cronring export json xy" + other},
		{"export json x", "cronring list --file /t", `cannot export "x"`, "cronring list --file /t"},
		{"rm x", "cronring list root/x", `cannot remove "x"`, "cronring rm root/x"},
		{"rm x", "cronring list", `cannot remove "x"`, "cronring list"},
		{"set x nice=5", "cronring list xy" + other, `cannot change "x"`, "cronring set xy nice=5" + other},
		{"rm x --comment-out", "cronring list xy" + other, `cannot remove "x"`, "cronring list xy" + other}, // without the flag, rm would delete it
		{"rm x --dry-run", "cronring list xy" + other, `cannot remove "x"`, "cronring list xy" + other},
		{"rm x --socket " + socket, "cronring list xy" + other, `cannot remove "x"`, "cronring list xy" + other}, // another daemon may have xy, too
		{"rm y x", "cronring list xy" + other, `cannot remove "x"`, "cronring list xy" + other},
		{"set x nice=5 --dry-run", "cronring list xy" + other, `cannot change "x"`, "cronring list xy" + other},
		{"export systemd x --dir units", "cronring list xy" + other, `cannot export "x"`, "cronring list xy" + other},
		{"export json x y", "cronring list xy" + other, `cannot export "x"`, "cronring list xy" + other},
	} {
		fix = tc.fix
		if _, stderr, _ := Called(t, "", strings.Fields(tc.line)...); !strings.Contains(stderr, tc.what+": no such job") || !strings.Contains(stderr, "  fix   "+tc.want+"\n") {
			t.Errorf("cronring %s: got %q, want %s and the fix %q", tc.line, stderr, tc.what, tc.want)
		}
	}
}

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/clitest"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
)

// typedAhead is a terminal at which a person has typed a line already, and is
// heard no more.
func typedAhead(t *testing.T, line string) (inside *os.File) {
	t.Helper()
	outside, inside := clitest.OpenTerminal(t)
	if _, err := outside.WriteString(line + "\n"); err != nil {
		t.Fatal(err)
	}
	for ready := []unix.PollFd{{Fd: int32(inside.Fd()), Events: unix.POLLIN}}; ; { // the kernel passes it on in its own time
		if _, err := unix.Poll(ready, -1); err == nil {
			break
		} else if err != unix.EINTR {
			t.Fatal(err)
		}
	}
	go func() { // or what is said would fill the terminal up
		for part := make([]byte, 4096); ; {
			if _, err := outside.Read(part); err != nil {
				return
			}
		}
	}()
	return inside
}

// unread returns the number of typed bytes that were not read.
func unread(t *testing.T, inside *os.File) int {
	t.Helper()
	n, err := unix.IoctlGetInt(int(inside.Fd()), unix.TIOCINQ)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// asking is a daemon whose crontabs and jobs make each command ask that can.
func asking(t *testing.T) (socket string) {
	t.Helper()
	const one, two = "/etc/cron.d/one", "/etc/cron.d/two"
	text := "#@ name=a protect=yes\n0 5 * * * root true\n#@ name=b\n0 6 * * * root true\n"
	file := api.CrontabText{
		V: 1, CrontabFile: api.CrontabFile{File: one, Entries: 2}, Text: []byte(text), Sum: "1", Format: api.FormatSystem,
		Family: api.FamilyDebian, Account: "root", Zone: "UTC",
	}
	jobs := api.Jobs{V: 1, Jobs: []job.Status{
		{Job: job.Job{ID: "a", Crontab: one, Line: 2, User: "root", Command: "true", Options: map[string]string{"protect": "yes"}}},
		{Job: job.Job{ID: "b", Crontab: one, Line: 4, User: "root", Command: "true"}},
	}}
	return clitest.Scripted(t, map[string][]any{
		"GET /v1/health":           {api.Health{V: 1}},
		"GET /v1/jobs":             {jobs},
		"GET /v1/crontab":          {file},
		"GET /v1/crontabs":         {api.CrontabFiles{V: 1, Places: &api.Places{Crontab: "/etc/crontab", CronD: "/etc/cron.d"}, Crontabs: []api.CrontabFile{{File: one, Entries: 2}, {File: two, Entries: 2}}}},
		"POST /v1/crontab/install": {api.Installed{V: 1, File: one}},
		"POST /v1/backfill": {api.Backfill{V: 1, Backfill: job.Backfill{Job: "a"},
			Plan: &api.BackfillPlan{Count: 40, First: []time.Time{time.Unix(0, 0)}}}},
	})
}

// TestNoInputAsksNothing goes through the commands that ask a person, at a
// terminal where an answer waits: they take it, and with --no-input leave it.
func TestNoInputAsksNothing(t *testing.T) {
	socket := asking(t)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "cron.d"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TERM", "xterm")
	for _, args := range [][]string{
		{"rm", "a"},
		{"rm", "a", "b"},
		{"apply", "--prune", dir},
		{"edit", "--editor", "echo '0 7 * * * root true' >>", "/etc/cron.d/one"},
		{"edit", "--editor", "echo '61 7 * * * root true' >>", "/etc/cron.d/one"},
		{"backfill", "a", "2026-03-01..2026-03-31"},
		{"top", "--plain"},
	} {
		args = append(args, "--socket", socket)
		if args[0] != "top" { // top reads until the end of the input
			inside := typedAhead(t, "give up")
			runApp(cli.New(inside, inside, inside), args)
			if n := unread(t, inside); n != 0 {
				t.Errorf("cronring %q: got %d bytes of the answer left, want that it was taken", args, n)
			}
		}
		for _, forbid := range []func() []string{
			func() []string { return append(slices.Clone(args), "--no-input") },
			func() []string { t.Setenv("CRONRING_NO_INPUT", "1"); return args },
		} {
			inside := typedAhead(t, "give up")
			runApp(cli.New(inside, inside, inside), forbid())
			if n := unread(t, inside); n != len("give up\n") {
				t.Errorf("cronring %q with --no-input: got %d bytes of the answer left, want all", args, n)
			}
		}
		os.Unsetenv("CRONRING_NO_INPUT")
	}
}

// TestNoInputReadsNothing goes through all commands that have the flag.
func TestNoInputReadsNothing(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("EDITOR", "true")
	t.Setenv("VISUAL", "")
	t.Chdir(t.TempDir()) // ring keygen writes a file
	socket := clitest.Scripted(t, nil)
	var through func(c *cobra.Command, words []string)
	through = func(c *cobra.Command, words []string) {
		for _, below := range c.Commands() {
			through(below, append(slices.Clone(words), below.Name()))
		}
		if !c.Runnable() || c.Flags().Lookup("no-input") == nil {
			return
		}
		for _, operands := range [][]string{nil, {"x"}, {"x", "y=z"}} {
			inside := typedAhead(t, "yes")
			args := slices.Concat(words, operands, []string{"--no-input", "--socket", socket})
			if c.Flags().Lookup("config") != nil { // ring init would write this host's
				args = append(args, "--config", t.TempDir())
			}
			runApp(cli.New(inside, inside, inside), args)
			if n := unread(t, inside); n != len("yes\n") {
				t.Errorf("cronring %s: got %d bytes of what was typed left, want all", strings.Join(args, " "), n)
			}
		}
	}
	through(tree(t), nil)
}

// TestYesExistsWhereAQuestionExists goes through all commands at a terminal where an answer
// waits: exactly the commands with --yes take it, and none of them does with --yes.
func TestYesExistsWhereAQuestionExists(t *testing.T) {
	hosttest.Root(t, "only root can be asked whether to change files without the host's daemon")
	if _, err := os.Lstat(api.SystemSocket); err == nil {
		hosttest.Missing(t, "a daemon of this host runs")
	}
	daemon := []string{"--socket", asking(t)}
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TERM", "xterm")
	t.Setenv("CRONRING_SOCKET", "")
	t.Setenv("CRONRING_NO_INPUT", "")
	t.Chdir(t.TempDir()) // ring keygen writes a file
	questions := map[string][]string{
		"add":      {"@daily", "true"}, // without a daemon: change the files?
		"set":      {"a", "retry=1"},
		"rm":       append([]string{"a", "b"}, daemon...),
		"apply":    append([]string{"--prune", t.TempDir()}, daemon...),
		"edit":     append([]string{"--editor", "echo '0 7 * * * root true' >>", "/etc/cron.d/one"}, daemon...),
		"backfill": append([]string{"a", "2026-03-01..2026-03-31"}, daemon...),
	}
	if err := os.Mkdir(filepath.Join(questions["apply"][1], "cron.d"), 0o755); err != nil {
		t.Fatal(err)
	}
	left := func(args []string) int {
		inside := typedAhead(t, "give up")
		runApp(cli.New(inside, inside, inside), args)
		return unread(t, inside)
	}
	each(tree(t), func(c *cobra.Command) {
		name := strings.TrimPrefix(c.CommandPath(), "cronring ")
		if !c.Runnable() || slices.Contains([]string{"cronring", "top", "demo", "bridge"}, name) { // which read, but ask nothing
			return
		}
		args, asks := questions[name]
		words := strings.Fields(name)
		if asks {
			words = append(words, args...)
		} else if words = append(words, "x"); c.Flags().Lookup("config") != nil { // ring init would write this host's
			words = append(words, "--config", t.TempDir())
		}
		if !asks && c.Annotations[cli.UsesDaemon] != "" {
			words = append(words, daemon...)
		}
		n := left(words)
		if yes := c.Flags().Lookup("yes") != nil; yes != asks || asks != (n == 0) {
			t.Errorf("cronring %s: --yes %t, expected to ask %t, %d bytes of the answer left", strings.Join(words, " "), yes, asks, n)
		}
		if asks && slices.Contains(args, "--socket") && left(append(words, "--yes")) == 0 {
			t.Errorf("cronring %s --yes: the answer was taken", strings.Join(words, " "))
		}
	})
}

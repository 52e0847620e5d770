package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/clitest"
)

// TestCompletionKnowsTheTree holds completion to the tree: every verb and every
// flag of it is offered, and names of jobs where jobs are named.
func TestCompletionKnowsTheTree(t *testing.T) {
	t.Setenv("CRONRING_SOCKET", t.TempDir()+"/none")
	var verbs []string
	for _, verb := range tree(t).Commands() {
		if verb.Name() != "help" && verb.IsAvailableCommand() {
			verbs = append(verbs, verb.Name())
		}
	}
	offered := completions(t, "")
	for _, verb := range verbs {
		if !slices.Contains(offered, verb) {
			t.Errorf("cronring <tab>: got %q, want %q among them", offered, verb)
		}
	}
	for _, line := range []string{
		"list", "show", "history", "logs", "why", "report timeline", "report clashes", "report stats", "report metrics", "report graph", "report events", "run", "stop", "pause", "resume", "ack",
		"backfill", "next", "explain", "set", "rm", "retry", "config env", "export", "dead list", "dead retry", "dead drop", "config show",
	} {
		verb, rest, err := tree(t).Find(strings.Fields(line))
		if err != nil || len(rest) > 0 || verb.ValidArgsFunction == nil {
			t.Errorf("cronring %s JOB: got %v, rest %q and no completion of jobs", line, err, rest)
		}
	}
	for _, verb := range tree(t).Commands() {
		if verb.IsAvailableCommand() && verb.Name() != "help" {
			completesFlags(t, verb)
		}
	}
}

// TestCompletionOfListsOfWords offers the next value of a flag after a comma.
func TestCompletionOfListsOfWords(t *testing.T) {
	for _, tc := range []struct{ flag, want string }{
		{"--state=fail", "failing"}, {"--state=ok,", "ok,late"}, {"--fields=job,", "job,job.zone"}, {"--sort=", "took"},
	} {
		if offered := completions(t, "list", tc.flag); !slices.Contains(offered, tc.want) {
			t.Errorf("cronring list %s<tab>: got %q, want %q among them", tc.flag, offered, tc.want)
		}
	}
}

func completesFlags(t *testing.T, verb *cobra.Command) {
	t.Helper()
	offered := completions(t, verb.Name(), "--")
	verb.Flags().VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(offered, "--"+f.Name) && !slices.Contains(offered, "--"+f.Name+"=") {
			t.Errorf("cronring %s --<tab>: got %q, want --%s among them", verb.Name(), offered, f.Name)
		}
	})
}

// completions returns the candidates for the last of args.
func completions(t *testing.T, args ...string) []string {
	t.Helper()
	stdout, stderr, code := Called(t, "", append([]string{cobra.ShellCompNoDescRequestCmd}, args...)...)
	if code != cli.ExitDone {
		t.Fatalf("complete %q: got exit %d: %s", args, code, stderr)
	}
	return clitest.Submatches(stdout, `(?m)^([^:].*)$`)
}

package main

import (
	"slices"
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
	for _, name := range takesJobs {
		verb, _, err := tree(t).Find([]string{name})
		if err != nil || verb.ValidArgsFunction == nil {
			t.Errorf("%s is said to take names of jobs: got %v and no completion of them", name, err)
		}
	}
	for _, verb := range tree(t).Commands() {
		if verb.IsAvailableCommand() && verb.Name() != "help" {
			completesFlags(t, verb)
		}
	}
}

// TestCompletionOfListsOfWords offers the next word of a flag after a comma.
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

// completions are the words that are offered for the last of args.
func completions(t *testing.T, args ...string) []string {
	t.Helper()
	stdout, stderr, code := Called(t, "", append([]string{cobra.ShellCompNoDescRequestCmd}, args...)...)
	if code != cli.ExitDone {
		t.Fatalf("complete %q: got exit %d: %s", args, code, stderr)
	}
	return clitest.Submatches(stdout, `(?m)^([^:].*)$`)
}

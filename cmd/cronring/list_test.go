package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/cronring/cronring/cmd/cronring/cli"
)

func TestListFlagsThatMakeNoSense(t *testing.T) {
	for _, args := range [][]string{
		{"list", "--sort", "age"}, {"list", "--fields=nothing"}, {"list", "-o", "custom-columns=X"}, {"list", "-o", "custom-columns=X:nothing"},
		{"list", "-o", "json", "--fields=job"}, {"list", "-o", "name", "--fields=job"}, {"list", "-w", "-o", "json"}, {"list", "-w", "--json=state"},
		{"list", "-w", "--jq", "."}, {"status", "-w", "--check"}, {"status", "-w", "-o", "json"},
	} {
		if stdout, stderr, code := Called(t, "", append(args, "--socket", "/no/such/socket")...); code != cli.ExitUsage || stdout != "" {
			t.Errorf("cronring %q: got exit %d, %q and %q, want 2", args, code, stdout, stderr)
		}
	}
	stdout, _, code := Called(t, "", "list", "--fields", "--socket", "/no/such/socket")
	if names := strings.Fields(stdout); code != cli.ExitDone || names[0] != "state" || !slices.Contains(names, "command") || !slices.Contains(names, "last.outcome.code") {
		t.Errorf("cronring list --fields: got exit %d and %q, want the names", code, stdout)
	}
}

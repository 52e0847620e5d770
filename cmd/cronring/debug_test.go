package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/clitest"
	"github.com/cronring/cronring/daemon/api"
)

func TestDebugTellsOfEachRequest(t *testing.T) {
	socket := clitest.Scripted(t, map[string][]any{"GET /v1/jobs": {api.Jobs{V: 1}}})
	const took = `\d+(\.\d+)?(µs|ms|s)`
	for _, tc := range []struct {
		value, socket, want string
	}{
		{"1", socket, `^cronring: GET /v1/jobs\?user=x%1Bann: 200 after ` + took + "\n" +
			`cronring: GET /v1/jobs\?user=x%1Bann: \d+ bytes, over after ` + took + "\n$"},
		{"1", "/no/such/socket", `^cronring: GET /v1/jobs\?user=x%1Bann: no answer after ` + took + `: dial unix .*\n`},
		{"0", socket, "^$"}, {"", socket, "^$"},
	} {
		t.Setenv("CRONRING_DEBUG", tc.value)
		stdout, stderr, _ := Called(t, "", "list", "--user", "x\x1bann", "-o", "json", "--socket", tc.socket)
		if !regexp.MustCompile(tc.want).MatchString(stderr) {
			t.Errorf("CRONRING_DEBUG=%q: got %q, want %s", tc.value, stderr, tc.want)
		}
		if strings.Contains(stdout, "/v1/") {
			t.Errorf("CRONRING_DEBUG=%q: got %q among the result", tc.value, stdout)
		}
	}
}

// TestFlagsThatExcludeEachOther are errors of usage, as any other in the words
// of a command line.
func TestFlagsThatExcludeEachOther(t *testing.T) {
	for _, args := range [][]string{
		{"undo", "--user", "a", "--file", "b"}, {"pause", "x", "--for", "1h", "--until", "now"}, {"run", "x", "--wait", "--follow"},
		{"next", "* * * * *", "--tz", "UTC", "--utc"}, {"logs", "1", "--raw", "-t"},
	} {
		if stdout, stderr, code := Called(t, "", args...); code != cli.ExitUsage || stdout != "" || !strings.Contains(stderr, "  fix   cronring "+args[0]) {
			t.Errorf("cronring %q: got exit %d, %q and %q, want 2 and a way to help", args, code, stdout, stderr)
		}
	}
}

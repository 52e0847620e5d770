package main

import (
	"strings"
	"testing"

	"github.com/cronring/cronring/cmd/cronring/clitest"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

func TestSkipNamesTheOccurrences(t *testing.T) {
	changed := api.Changed{V: 1, Jobs: []job.ID{"etl"}}
	socket := clitest.Scripted(t, map[string][]any{"POST /v1/pause": {changed}})
	for _, tc := range []struct{ next, out, messages string }{
		{"1", "etl will skip its next occurrence\n", ""},
		{"2", "etl will skip its next 2 occurrences\n", ""},
		{"0", "", "invalid --next 0: expected 1 to 1000"},
		{"1001", "", "invalid --next 1001: expected 1 to 1000"},
	} {
		out, messages, _ := Called(t, "", "skip", "etl", "--next", tc.next, "--socket", socket)
		if out != tc.out || !strings.Contains(messages, tc.messages) {
			t.Errorf("--next %s: got %q and %q, want %q and %q", tc.next, out, messages, tc.out, tc.messages)
		}
	}
}

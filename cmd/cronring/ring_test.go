package main

import (
	"strings"
	"testing"

	"github.com/cronring/cronring/cmd/cronring/clitest"
	"github.com/cronring/cronring/daemon/api"
)

func TestRingReportsJobsWithoutAnOwner(t *testing.T) {
	for _, tc := range []struct {
		unowned    int
		joined     bool
		head, tail string // the end of the first line, and what follows the members
	}{
		{0, true, "  safe to lose 1 more", ""},
		{140, true, "  safe to lose 1 more", "! ring jobs that no member can run: 140\n"},
		{142, true, "", "! ring jobs that no member can run: 142\n"},
		{142, false, "  joining: ring jobs wait", ""},
	} {
		answer := api.Ring{V: 1, Name: "prod", Mode: api.RingAvailable, Joined: tc.joined, Jobs: 142, Unowned: tc.unowned, SafeLoss: 1}
		out, _, _ := Called(t, "", "ring", "-o", "table", "--socket", clitest.Scripted(t, map[string][]any{"GET /v1/ring": {answer}}))
		head, rest, _ := strings.Cut(out, "\n")
		_, tail, _ := strings.Cut(rest, "\n")
		if want := `ring "prod"  0 of 0 up  available  142 ring jobs` + tc.head; head != want || tail != tc.tail {
			t.Errorf("%d without an owner, joined %v: got %q and %q, want %q and %q", tc.unowned, tc.joined, head, tail, want, tc.tail)
		}
	}
}

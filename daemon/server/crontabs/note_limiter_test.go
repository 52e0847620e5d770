package crontabs

import (
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/server/call"
)

// A user can end requests in the reverse order of their beginnings. After the clock was set back, the user
// has lines again.
func TestLogLinesAreLimitedWhenTimesGoBack(t *testing.T) {
	var l noteLimiter
	ann, now := call.Peer{UID: 1000}, time.Date(2026, 11, 29, 3, 0, 0, 0, time.UTC)
	for i := range 2 * maxNotes {
		if n := l.count(ann, now.Add(-time.Duration(i)*time.Millisecond)); n != i+1 {
			t.Fatalf("request %d is counted as line %d of the minute, want %d", i+1, n, i+1)
		}
	}
	if n := l.count(ann, now.Add(-time.Hour)); n != 1 {
		t.Errorf("an hour earlier: line %d of the minute, want 1", n)
	}
}

// Package hosttest owns the skipping of tests that the host cannot run, how long tests wait for an
// event, and the programs that tests execute.
package hosttest

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// Patience is how long a test waits for an event before it fails. It is far more than anything
// takes, also on a machine that has much too little processor time, and no test that passes
// waits that long.
const Patience = 5 * time.Minute

// Root skips a test that is not run as root. why is the reason for which it must be.
func Root(t testing.TB, why string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED, NOT TESTED: " + why)
	}
}

// Missing skips a test because the host has no program, file or permission that the test needs.
// In CI, as root, this is an error: the host there has all of them, and otherwise nobody would
// notice that the test never runs.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Geteuid() == 0 && os.Getenv("CI") == "true" {
		t.Fatal("CI must be able to run this test: " + fmt.Sprintf(format, args...))
	}
	t.Skip("SKIPPED, NOT TESTED: " + fmt.Sprintf(format, args...))
}

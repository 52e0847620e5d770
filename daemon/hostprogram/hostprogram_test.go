package hostprogram

import (
	"testing"
	"time"
)

func TestRunKeepsToItsLimits(t *testing.T) {
	limits := Limits{Time: time.Minute, Output: 4}
	if out, status, err := Run(t.Context(), limits, "sh", "-c", "echo $LC_ALL; echo more; exit 3"); string(out) != "C\nmo" || status != 3 || err != nil {
		t.Errorf("got %q, status %d, %v; want the first four bytes, status 3", out, status, err)
	}
	if _, _, err := Run(t.Context(), limits, "/no/such/program"); err == nil {
		t.Error("a program that does not exist ran")
	}
	limits.Time = time.Nanosecond
	if _, _, err := Run(t.Context(), limits, "sleep", "60"); err == nil {
		t.Error("a program ran longer than its time")
	}
}

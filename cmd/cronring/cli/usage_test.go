package cli

import (
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

func TestUsedLeavesOutWhatIsNotKnown(t *testing.T) {
	for want, u := range map[string]job.Usage{
		"":                              {},
		"    cpu 1.250s, written 2.00M": {CPU: 1250 * time.Millisecond, Write: 2 << 20},
	} {
		if got := Used(&u); got != want {
			t.Errorf("used(%+v) = %q, want %q", u, got, want)
		}
	}
}

package main

import (
	"math"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

func TestSizeHasThreeDigits(t *testing.T) {
	for n, want := range map[int64]string{
		0: "", 1: "1", 999: "999", 1000: "0.98K", 1024: "1.00K", 10 << 10: "10.0K", 12_600: "12.3K", 100 << 10: "100K",
		999 << 10: "999K", 1000 << 10: "0.98M", 3 << 29: "1.50G", math.MaxInt64: "8.00E",
	} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestUsedLeavesOutWhatIsNotKnown(t *testing.T) {
	for want, u := range map[string]job.Usage{
		"":                              {},
		"    cpu 1.250s, written 2.00M": {CPU: 1250 * time.Millisecond, Write: 2 << 20},
	} {
		if got := used(&u); got != want {
			t.Errorf("used(%+v) = %q, want %q", u, got, want)
		}
	}
}

// Every command can be called without arguments: it complains at most.
func TestCommandsTakeNoArguments(t *testing.T) {
	for _, c := range tree(t).Commands() {
		for _, verb := range append(c.Commands(), c) {
			_ = verb.ValidateArgs(nil) // panics where there is no check
		}
	}
}

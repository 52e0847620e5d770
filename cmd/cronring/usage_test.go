package main

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

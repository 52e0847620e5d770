package ledger

import (
	"testing"
	"time"
)

// TestVoterOutOfReachIsNotSlow: after a network partition, the voters of a fast network keep the short
// heartbeat timeout. Answers that are missing now and then, or always, count as slow.
func TestVoterOutOfReachIsNotSlow(t *testing.T) {
	for _, c := range []struct {
		name             string
		missed, answered int // hellos in a row
		want             time.Duration
	}{{"partitions", 5, 3, leastBeat}, {"lost packets", 1, 3, mostBeat}, {"long round trips", 5, 0, mostBeat}} {
		var a answerTimes
		for range 3 {
			for range c.missed {
				a = a.add(helloTime, false)
			}
			for range c.answered {
				a = a.add(time.Millisecond, true)
			}
		}
		if got := (pace{"b": a, "c": a}).beatFor(3); got != c.want {
			t.Errorf("%s: got a heartbeat timeout of %s, want %s", c.name, got, c.want)
		}
	}
}

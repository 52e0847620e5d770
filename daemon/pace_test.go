package daemon

import (
	"testing"
	"time"
)

func TestStepsGrowWithTheTimeOfCommits(t *testing.T) {
	var l loop
	for _, c := range []struct {
		commit time.Duration
		want   int
	}{
		{2 * time.Millisecond, 1}, {500 * time.Millisecond, 51}, {2 * time.Millisecond, 26},
		{time.Hour, mostPace}, {25 * time.Minute, mostPace},
	} {
		if l.noteCommit(c.commit); l.pace() != c.want {
			t.Errorf("after a commit of %s: pace %d, want %d", c.commit, l.pace(), c.want)
		}
	}
}

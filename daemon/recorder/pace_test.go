package recorder

import (
	"testing"
	"time"
)

func TestStepsGrowWithTheTimeOfCommits(t *testing.T) {
	var r Recorder
	for _, c := range []struct {
		commit time.Duration
		want   int
	}{
		{2 * time.Millisecond, 1}, {500 * time.Millisecond, 51}, {2 * time.Millisecond, 26},
		{time.Hour, mostPace}, {25 * time.Minute, mostPace},
	} {
		if r.noteCommit(c.commit); r.Pace() != c.want {
			t.Errorf("after a commit of %s: pace %d, want %d", c.commit, r.Pace(), c.want)
		}
	}
}

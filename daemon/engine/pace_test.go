package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine/event"
)

func TestPaceMakesStepsLarger(t *testing.T) {
	for pace, want := range map[int]int{1: 16, 2: 32, 100: 500} {
		h := newSimHost(t, noon, time.UTC)
		h.crontabs = []*crontab.File{h.crontab("t", strings.Repeat("1 12 * * * x\n", 500))}
		h.start()
		h.engine.Pace(pace)
		h.pass(time.Minute)
		h.step(event.Tick{})
		if got := len(h.running); got != want {
			t.Errorf("pace %d: one step started %d of 500 jobs that are due, want %d", pace, got, want)
		}
	}
}

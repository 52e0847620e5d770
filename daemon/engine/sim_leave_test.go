package engine

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/engine/exchange"
)

// TestGrantOfALeavingMemberIsNotLost separates the only two members that may run a job. The
// voters grant its occurrence to one of them, but the answer is lost, and that member leaves
// before the other one sees it again.
func TestGrantOfALeavingMemberIsNotLost(t *testing.T) {
	l := newLab(t, rand.New(rand.NewPCG(15, 2)), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	l.weather.strict, l.voters = true, 3
	l.texts = []crontabText{{[]string{"sim"}, "#@ name=few sec=*/30 scope=ring need=parity:odd\n* * * * * few\n"}}
	for i := range 5 {
		l.add(i)
	}
	l.run(20 * time.Second)
	l.split(2*time.Minute, map[int]bool{1: true}, false)
	l.run(10 * time.Second)
	leaves := l.nodes[3]
	l.loses = func(n *node) bool { return n == leaves && !n.parting }
	granted := func() (o exchange.Occurrence, ok bool) {
		for o, g := range l.granted {
			if g.by == leaves.id && len(l.starts[o]) == 0 {
				return o, true
			}
		}
		return o, false
	}
	for _, ok := granted(); !ok && l.now.Sub(l.begun) < 2*time.Minute; _, ok = granted() {
		l.run(100 * time.Millisecond)
	}
	o, ok := granted()
	if !ok {
		t.Fatal("the voters granted nothing")
	}
	leaves.part()
	l.run(3 * time.Minute)
	if !leaves.left || len(l.starts[o]) != 1 {
		t.Errorf("left %t, and the occurrence ran %d times, want once\n%s", leaves.left, len(l.starts[o]), l.story.String())
	}
}

package engine

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
)

// oddMembers returns a strict ring of five members. Only m1 and m3 may run its job.
func oddMembers(t *testing.T) *lab {
	l := newLab(t, rand.New(rand.NewPCG(15, 2)), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	l.weather.strict, l.voters = true, 3
	l.texts = []crontabText{{[]string{"sim"}, "#@ name=few sec=*/30 scope=ring need=parity:odd\n* * * * * few\n"}}
	for i := range 5 {
		l.add(i)
	}
	l.run(20 * time.Second)
	return l
}

// grantWithoutAnswer waits until the voters grant an occurrence to a member that does not receive
// their answer.
func (l *lab) grantWithoutAnswer(to *node) (o exchange.Occurrence) {
	l.loses = func(n *node) bool { return n == to && !n.parting }
	for l.now.Sub(l.begun) < 3*time.Minute {
		for o, g := range l.granted {
			if g.by == to.id && len(l.starts[o]) == 0 {
				return o
			}
		}
		l.run(100 * time.Millisecond)
	}
	l.t.Fatal("the voters granted nothing")
	return o
}

// TestGrantOfALeavingMemberIsNotLost separates the only two members that may run a job. The
// voters grant its occurrence to one of them, but the answer is lost, and that member leaves
// before the other one sees it again.
func TestGrantOfALeavingMemberIsNotLost(t *testing.T) {
	l := oddMembers(t)
	leaves := l.nodes[3]
	l.split(2*time.Minute, map[int]bool{1: true}, false)
	l.run(10 * time.Second)
	o := l.grantWithoutAnswer(leaves)
	leaves.part()
	l.run(3 * time.Minute)
	if !leaves.left || len(l.starts[o]) != 1 {
		t.Errorf("left %t, and the occurrence ran %d times, want once\n%s", leaves.left, len(l.starts[o]), l.story.String())
	}
}

// TestGrantOfALeavingMemberReachesAMemberThatIsCutOff separates the only two members that may run a
// job while one of them leaves, so that it still sees the other one. That one is cut off when the
// final state is sent, and receives it from the remaining members.
func TestGrantOfALeavingMemberReachesAMemberThatIsCutOff(t *testing.T) {
	l := oddMembers(t)
	leaves := l.nodes[slices.IndexFunc(l.nodes, func(n *node) bool { return n.id == l.ownerOf("few") })]
	other := l.nodes[4-leaves.index]
	o := l.grantWithoutAnswer(leaves)
	leaves.part()
	l.run(time.Second)
	l.split(time.Minute, map[int]bool{other.index: true}, false)
	l.run(30 * time.Second)
	if !leaves.left || len(l.starts[o]) != 0 {
		t.Fatalf("left %t, and the occurrence ran %d times, want never before the partition ends\n%s", leaves.left, len(l.starts[o]), l.story.String())
	}
	l.run(2 * time.Minute)
	if len(l.starts[o]) != 1 || l.starts[o][0].node != other {
		t.Errorf("the occurrence ran %d times, want once on %s\n%s", len(l.starts[o]), other.id, l.story.String())
	}
}

// ownerOf returns the member that owns a job.
func (l *lab) ownerOf(id job.ID) string {
	v := l.nodes[0].engine.View()
	i, _ := v.Find(id)
	owner, _ := v.Owner(i, l.now)
	return owner.Members[0].ID
}

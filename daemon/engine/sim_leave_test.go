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
func oddMembers(t *testing.T) *simRing {
	s := newSimRing(t, rand.New(rand.NewPCG(15, 2)), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	s.faults.strict, s.voters = true, 3
	s.texts = []crontabText{{[]string{"sim"}, "#@ name=few sec=*/30 scope=ring need=parity:odd\n* * * * * few\n"}}
	for i := range 5 {
		s.add(i)
	}
	s.run(20 * time.Second)
	return s
}

// grantWithoutAnswer waits until the voters grant an occurrence to a member that does not receive
// their answer.
func (s *simRing) grantWithoutAnswer(to *simMember) (o exchange.Occurrence) {
	s.loses = func(n *simMember) bool { return n == to && !n.parting }
	for s.now.Sub(s.begun) < 3*time.Minute {
		for o, g := range s.granted {
			if g.by == to.id && len(s.starts[o]) == 0 {
				return o
			}
		}
		s.run(100 * time.Millisecond)
	}
	s.t.Fatal("the voters granted nothing")
	return o
}

// TestGrantOfALeavingMemberIsNotLost separates the only two members that may run a job. The
// voters grant its occurrence to one of them, but the answer is lost, and that member leaves
// before the other one sees it again.
func TestGrantOfALeavingMemberIsNotLost(t *testing.T) {
	s := oddMembers(t)
	leaves := s.nodes[3]
	s.split(2*time.Minute, map[int]bool{1: true}, false)
	s.run(10 * time.Second)
	o := s.grantWithoutAnswer(leaves)
	leaves.part()
	s.run(3 * time.Minute)
	if !leaves.left || len(s.starts[o]) != 1 {
		t.Errorf("left %t, and the occurrence ran %d times, want once\n%s", leaves.left, len(s.starts[o]), s.story.String())
	}
}

// TestGrantOfALeavingMemberReachesAMemberThatIsCutOff separates the only two members that may run a
// job while one of them leaves, so that it still sees the other one. That one is cut off when the
// final state is sent, and receives it from the remaining members.
func TestGrantOfALeavingMemberReachesAMemberThatIsCutOff(t *testing.T) {
	s := oddMembers(t)
	leaves := s.nodes[slices.IndexFunc(s.nodes, func(n *simMember) bool { return n.id == s.ownerOf("few") })]
	other := s.nodes[4-leaves.index]
	o := s.grantWithoutAnswer(leaves)
	leaves.part()
	s.run(time.Second)
	s.split(time.Minute, map[int]bool{other.index: true}, false)
	s.run(30 * time.Second)
	if !leaves.left || len(s.starts[o]) != 0 {
		t.Fatalf("left %t, and the occurrence ran %d times, want never before the partition ends\n%s", leaves.left, len(s.starts[o]), s.story.String())
	}
	s.run(2 * time.Minute)
	if len(s.starts[o]) != 1 || s.starts[o][0].node != other {
		t.Errorf("the occurrence ran %d times, want once on %s\n%s", len(s.starts[o]), other.id, s.story.String())
	}
}

// ownerOf returns the member that owns a job.
func (s *simRing) ownerOf(id job.ID) string {
	v := s.nodes[0].engine.View()
	i, _ := v.Find(id)
	owner, _ := v.Owner(i, s.now)
	return owner.Members[0].ID
}

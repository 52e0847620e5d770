package gossip

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/gossip/holders"
	"github.com/cronring/cronring/gossip/link"
	"github.com/cronring/cronring/gossip/wire"
)

func TestRingSplitAndHealed(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(20)
		small, large := r.members[:7], r.members[7:]
		r.cut(small, large)
		t.Logf("each side sees itself after %s and %s", r.agree(3*time.Minute, large), r.agree(3*time.Minute, small))
		fakeSleep(10 * time.Minute)
		r.agree(time.Second, large)
		r.agree(time.Second, small)
		r.heal()
		t.Logf("all see all after %s", r.agree(3*time.Minute, r.members))
	})
}

func TestRingMemberKilled(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(5)
		dead := r.members[4]
		dead.stop()
		t.Logf("seen after %s", r.agree(time.Minute, r.members[:4]))
		if got := r.members[0].view(dead.id).State; got != Gone {
			t.Errorf("its state is %s, want %s", got, Gone)
		}
		dead.start()
		r.agree(time.Minute, r.members)
	})
}

func TestRingMemberLeaves(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(5)
		leaver := r.members[2]
		others := append(append([]*testMember(nil), r.members[:2]...), r.members[3:]...)
		began := time.Now()
		left := make(chan error, 1)
		go func() { left <- leaver.Leave(context.Background()) }()
		r.await(Settle-500*time.Millisecond, "all others know that it drains", func() bool {
			return !slices.ContainsFunc(others, func(h *testMember) bool { m, ok := h.of(leaver.id); return !ok || !m.Draining })
		})
		if m, _ := leaver.of(leaver.id); m.Draining {
			t.Error("its own engine drains before all others know, and what is due then would be nobody's")
		}
		if err := <-left; err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < Settle {
			t.Errorf("it left after %s, want %s at least", took, Settle)
		}
		r.agree(5*time.Second, others)
		r.await(time.Second, "its own engine hears of no ring", func() bool { return len(leaver.sees()) == 0 })
		if got := others[0].view(leaver.id).State; got != Left {
			t.Errorf("its state is %s, want %s", got, Left)
		}
		if err := leaver.Join(context.Background()); err != nil {
			t.Fatal(err)
		}
		r.agree(time.Minute, r.members)
		for _, h := range others {
			r.await(time.Second, h.id+": it takes part again", func() bool { m, ok := h.of(leaver.id); return ok && !m.Draining })
		}
	})
}

func TestRingRejoinsFromDisk(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(4)
		fakeSleep(5 * time.Second) // the peers are on disk
		for _, h := range r.members {
			h.stop()
			h.seeds = nil
		}
		for _, h := range r.members {
			h.start()
		}
		r.agree(time.Minute, r.members)
	})
}

// TestNewestSurvivesOnDisk: members that were all down still know what a member took that stays
// down, whether they were stopped or killed.
func TestNewestSurvivesOnDisk(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(3)
		o, later := occurrence(7), occurrence(8)
		take := func(o exchange.Occurrence) {
			r.members[2].Take(holders.Claim{Occurrence: o})
			r.await(time.Second, "others hear of it", func() bool { return r.members[0].heardOthers(o) && r.members[1].heardOthers(o) })
		}
		take(o)
		fakeSleep(newestTime + time.Second)
		file := filepath.Join(r.members[1].dir, "ring-newest")
		killed, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		take(later)
		for _, h := range r.members {
			h.stop()
		}
		filetest.Write(t, file, string(killed), 0o600)
		for _, h := range r.members[:2] {
			h.seeds, h.newest = nil, nil
		}
		knows := func(h *testMember) (both [2]bool) {
			h.mu.Lock()
			defer h.mu.Unlock()
			return [2]bool{h.newest[o.Key].Equal(o.Time()), h.newest[later.Key].Equal(later.Time())}
		}
		r.members[1].start()
		r.await(time.Minute, "it knows what it wrote before it was killed", func() bool { return knows(r.members[1]) == [2]bool{true, false} })
		r.members[1].stop()
		r.members[0].start()
		r.await(time.Minute, "it knows what it wrote when it was stopped", func() bool { return knows(r.members[0]) == [2]bool{true, true} })
		r.members[0].stop()
		filetest.Write(t, filepath.Join(r.members[0].dir, "ring-newest"), "damaged", 0o600)
		r.members[0].start()
		r.await(time.Minute, "a damaged file is reported", func() bool { return strings.Contains(r.members[0].log.String(), "read what the ring ran") })
	})
}

func TestRingSeedsDoNotAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		h := r.add()
		h.seeds = []string{"10.9.9.9:7946"}
		h.start()
		r.net.part(func(string) int { return 1 }) // packets and dials get lost
		took := r.await(time.Minute, "it goes on alone", func() bool { return len(h.sees()) == 1 })
		if took > joinWait+time.Second {
			t.Errorf("it waited %s, want at most %s", took, joinWait)
		}
	})
}

func TestRingDrained(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(3)
		h := r.members[1]
		if err := h.Drain(context.Background()); err != nil {
			t.Fatal(err)
		}
		r.await(2*time.Second, "others know", func() bool {
			m, _ := r.members[0].of(h.id)
			return m.Draining
		})
		fakeSleep(time.Minute)
		r.agree(time.Second, r.members)
		if err := h.Join(context.Background()); err != nil {
			t.Fatal(err)
		}
		r.await(2*time.Second, "others know that it is back", func() bool {
			m, _ := r.members[0].of(h.id)
			return !m.Draining
		})
	})
}

func TestRingStrangersOfOtherNameOrKey(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(3)
		other := r.add()
		other.ring = "another"
		other.start()
		locked := r.add()
		locked.keys = [][]byte{key(9)}
		locked.start()
		fakeSleep(2 * time.Minute)
		r.agree(time.Second, r.members[:3])
		for _, h := range []*testMember{other, locked} {
			if got := h.sees(); len(got) != 1 {
				t.Errorf("%s sees %v, want itself", h.ring, got)
			}
		}
	})
}

func TestRingLossyNetwork(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.net.lose(0.1)
		r.ring(8)
		r.await(5*time.Minute, "all agree for a moment", func() bool {
			for _, h := range r.members {
				if len(h.sees()) != 8 {
					return false
				}
			}
			return true
		})
	})
}

// TestRingStartedAtOnce: members that start together are the case in which gossip most often
// misses a member.
func TestRingStartedAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		for range 20 {
			r.add().start()
		}
		t.Logf("all see all after %s", r.agree(15*time.Second, r.members))
	})
}

// A member that left and joined again must not believe its earlier memberlist, whose
// suspicions end in a report of a dead member after it was shut down.
func TestJoinForgetsWhatWasSuspectedBefore(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(5)
		h := r.members[0]
		r.cut(r.members[:1], r.members[1:])
		r.await(20*time.Second, "it suspects another member", func() bool { return strings.Contains(h.log.String(), "Suspect ") })
		_ = h.Leave(t.Context()) // no member receives it
		r.heal()
		if err := h.Join(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.agree(5*time.Minute, r.members)
		fakeSleep(time.Minute)
		synctest.Wait()
		r.agree(0, r.members)
	})
}

// A final state that arrives after its sender has joined again does not end the new membership.
func TestFinalStateOfAnEarlierMembership(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(2)
		h, other := r.members[0], r.members[1]
		before := other.view(h.id).Since
		if err := h.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := h.Join(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.agree(time.Minute, r.members)
		final, _ := holders.AppendMarks(wire.AppendTime(nil, before), nil, packetRoom)
		to := link.Peer{ID: other.id, Addr: other.addr.String()}
		if _, err := h.o.Link.Ask(t.Context(), to, verbConfirm, final); err != nil {
			t.Fatal(err)
		}
		if got := other.view(h.id).State; got != Alive {
			t.Errorf("it is %s, want %s", got, Alive)
		}
	})
}

// TestLeaveAlone leaves a ring of one member, without waiting.
func TestLeaveAlone(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		h := r.add().start()
		r.await(time.Minute, "it has a ring of its own", func() bool { return h.Snapshot().Joined })
		began := time.Now()
		if err := h.Leave(context.Background()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took >= Settle {
			t.Errorf("it took %s, want it to be at once", took)
		}
	})
}

// TestRunsOfMembersAreShown: each member reports its number of runs to members that probe it.
func TestRunsOfMembersAreShown(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(3)
		r.agree(10*time.Second, r.members)
		busy := r.members[0]
		busy.SetLoad(7)
		for _, h := range r.members {
			r.await(30*time.Second, "the runs of "+busy.id+" are shown", func() bool { return h.view(busy.id).Load == 7 })
		}
	})
}

// Members that leave together do not warn of each other.
func TestMembersLeaveTogether(t *testing.T) {
	for _, leavers := range []int{2, 3, 5} {
		t.Run(fmt.Sprint(leavers), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *testRing) {
				r.ring(5)
				var all sync.WaitGroup
				for _, h := range r.members[:leavers] {
					all.Go(func() {
						fakeSleep(rand.N(time.Second))
						if err := h.Leave(t.Context()); err != nil {
							t.Errorf("%s: %v", h.id, err)
						}
						h.stop() // as the daemon does when its host stops
					})
				}
				all.Wait()
				r.agree(5*time.Second, r.members[leavers:])
				for _, h := range r.members {
					for line := range strings.Lines(h.log.String()) { // memberlist reports connections that end
						if strings.Contains(line, "level=WARN") && !strings.Contains(line, "ring: memberlist") {
							t.Errorf("%s: %s", h.id, line)
						}
					}
				}
			})
		})
	}
}

// Members that start after all were down begin together, when most of them are up, but do not
// wait for long.
func TestMembersStartTogether(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(5)
		fakeSleep(5 * time.Second) // the peers are on disk
		for _, h := range r.members {
			h.stop()
			h.last, h.seeds = nil, nil
		}
		r.members[0].start()
		fakeSleep(joinWait / 4)
		r.members[1].start()
		fakeSleep(joinWait / 4)
		synctest.Wait()
		for _, h := range r.members[:2] {
			if got := h.sees(); len(got) > 0 {
				t.Errorf("%s takes part with %v", h.id, got)
			}
		}
		r.members[2].start()
		r.agree(2*time.Second, r.members[:3])
		for _, h := range r.members[:3] {
			h.stop()
			h.last = nil
		}
		r.members[0].start()
		if took := r.agree(time.Minute, r.members[:1]); took > joinWait+time.Second {
			t.Errorf("it waited %s for members that are down", took)
		}
	})
}

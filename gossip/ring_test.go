package gossip

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronring/cronring/gossip/link"
	"github.com/cronring/cronring/gossip/register"
	"github.com/cronring/cronring/gossip/wire"
)

func TestRingSplitAndHealed(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.ring(20)
		small, large := w.hosts[:7], w.hosts[7:]
		w.cut(small, large)
		t.Logf("each side sees itself after %s and %s", w.agree(3*time.Minute, large), w.agree(3*time.Minute, small))
		time.Sleep(10 * time.Minute)
		w.agree(time.Second, large)
		w.agree(time.Second, small)
		w.heal()
		t.Logf("all see all after %s", w.agree(3*time.Minute, w.hosts))
	})
}

func TestRingMemberKilled(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.ring(5)
		dead := w.hosts[4]
		dead.stop()
		t.Logf("seen after %s", w.agree(time.Minute, w.hosts[:4]))
		if got := w.hosts[0].view(dead.id).State; got != Gone {
			t.Errorf("its state is %s, want %s", got, Gone)
		}
		dead.start()
		w.agree(time.Minute, w.hosts)
	})
}

func TestRingMemberLeaves(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.ring(5)
		leaver := w.hosts[2]
		others := append(append([]*host(nil), w.hosts[:2]...), w.hosts[3:]...)
		began := time.Now()
		left := make(chan error, 1)
		go func() { left <- leaver.Leave(context.Background()) }()
		w.await(Settle-500*time.Millisecond, "all others know that it drains", func() bool {
			return !slices.ContainsFunc(others, func(h *host) bool { m, ok := h.of(leaver.id); return !ok || !m.Draining })
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
		w.agree(5*time.Second, others)
		w.await(time.Second, "its own engine hears of no ring", func() bool { return len(leaver.sees()) == 0 })
		if got := others[0].view(leaver.id).State; got != Left {
			t.Errorf("its state is %s, want %s", got, Left)
		}
		if err := leaver.Join(context.Background()); err != nil {
			t.Fatal(err)
		}
		w.agree(time.Minute, w.hosts)
		for _, h := range others {
			w.await(time.Second, h.id+": it takes part again", func() bool { m, ok := h.of(leaver.id); return ok && !m.Draining })
		}
	})
}

func TestRingRejoinsFromDisk(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.ring(4)
		time.Sleep(5 * time.Second) // the peers are on disk
		for _, h := range w.hosts {
			h.stop()
			h.seeds = nil
		}
		for _, h := range w.hosts {
			h.start()
		}
		w.agree(time.Minute, w.hosts)
	})
}

func TestRingSeedsDoNotAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host()
		h.seeds = []string{"10.9.9.9:7946"}
		h.start()
		w.net.part(func(string) int { return 1 }) // packets and dials get lost
		took := w.await(time.Minute, "it goes on alone", func() bool { return len(h.sees()) == 1 })
		if took > joinWait+time.Second {
			t.Errorf("it waited %s, want at most %s", took, joinWait)
		}
	})
}

func TestRingDrained(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.ring(3)
		h := w.hosts[1]
		if err := h.Drain(context.Background()); err != nil {
			t.Fatal(err)
		}
		w.await(2*time.Second, "others know", func() bool {
			m, _ := w.hosts[0].of(h.id)
			return m.Draining
		})
		time.Sleep(time.Minute)
		w.agree(time.Second, w.hosts)
		if err := h.Join(context.Background()); err != nil {
			t.Fatal(err)
		}
		w.await(2*time.Second, "others know that it is back", func() bool {
			m, _ := w.hosts[0].of(h.id)
			return !m.Draining
		})
	})
}

func TestRingStrangersOfOtherNameOrKey(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.ring(3)
		other := w.host()
		other.ring = "another"
		other.start()
		locked := w.host()
		locked.keys = [][]byte{key(9)}
		locked.start()
		time.Sleep(2 * time.Minute)
		w.agree(time.Second, w.hosts[:3])
		for _, h := range []*host{other, locked} {
			if got := h.sees(); len(got) != 1 {
				t.Errorf("%s sees %v, want itself", h.ring, got)
			}
		}
	})
}

func TestRingLossyNetwork(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.net.lose(0.1)
		w.ring(8)
		w.await(5*time.Minute, "all agree for a moment", func() bool {
			for _, h := range w.hosts {
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
	bubble(t, func(t *testing.T, w *world) {
		for range 20 {
			w.host().start()
		}
		t.Logf("all see all after %s", w.agree(15*time.Second, w.hosts))
	})
}

// A member that left and joined again must not believe its earlier memberlist, whose
// suspicions end in a report of a dead member after it was shut down.
func TestJoinForgetsWhatWasSuspectedBefore(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.ring(5)
		h := w.hosts[0]
		w.cut(w.hosts[:1], w.hosts[1:])
		w.await(20*time.Second, "it suspects another member", func() bool { return strings.Contains(h.log.String(), "Suspect ") })
		_ = h.Leave(t.Context()) // no member receives it
		w.heal()
		if err := h.Join(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.agree(5*time.Minute, w.hosts)
		time.Sleep(time.Minute)
		synctest.Wait()
		w.agree(0, w.hosts)
	})
}

// A final state that arrives after its sender has joined again does not end the new membership.
func TestFinalStateOfAnEarlierMembership(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.ring(2)
		h, other := w.hosts[0], w.hosts[1]
		before := other.view(h.id).Since
		if err := h.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := h.Join(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.agree(time.Minute, w.hosts)
		final, _ := register.AppendMarks(wire.AppendTime(nil, before), nil, packetRoom)
		to := link.Peer{ID: other.id, Addr: linkAddr(other.addr, other.addr.Port()+1)}
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
	bubble(t, func(t *testing.T, w *world) {
		h := w.host().start()
		w.await(time.Minute, "it has a ring of its own", func() bool { return h.Snapshot().Joined })
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
	bubble(t, func(t *testing.T, w *world) {
		w.ring(3)
		w.agree(10*time.Second, w.hosts)
		busy := w.hosts[0]
		busy.SetLoad(7)
		for _, h := range w.hosts {
			w.await(30*time.Second, "the runs of "+busy.id+" are shown", func() bool { return h.view(busy.id).Load == 7 })
		}
	})
}

// Members that leave together do not warn of each other.
func TestMembersLeaveTogether(t *testing.T) {
	for _, leavers := range []int{2, 3, 5} {
		t.Run(fmt.Sprint(leavers), func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.ring(5)
				var all sync.WaitGroup
				for _, h := range w.hosts[:leavers] {
					all.Go(func() {
						time.Sleep(rand.N(time.Second))
						if err := h.Leave(t.Context()); err != nil {
							t.Errorf("%s: %v", h.id, err)
						}
						h.stop() // as the daemon does when its host stops
					})
				}
				all.Wait()
				w.agree(5*time.Second, w.hosts[leavers:])
				for _, h := range w.hosts {
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
	bubble(t, func(t *testing.T, w *world) {
		w.ring(5)
		time.Sleep(5 * time.Second) // the peers are on disk
		for _, h := range w.hosts {
			h.stop()
			h.last, h.seeds = nil, nil
		}
		w.hosts[0].start()
		time.Sleep(joinWait / 4)
		w.hosts[1].start()
		time.Sleep(joinWait / 4)
		synctest.Wait()
		for _, h := range w.hosts[:2] {
			if got := h.sees(); len(got) > 0 {
				t.Errorf("%s takes part with %v", h.id, got)
			}
		}
		w.hosts[2].start()
		w.agree(2*time.Second, w.hosts[:3])
		for _, h := range w.hosts[:3] {
			h.stop()
			h.last = nil
		}
		w.hosts[0].start()
		if took := w.agree(time.Minute, w.hosts[:1]); took > joinWait+time.Second {
			t.Errorf("it waited %s for members that are down", took)
		}
	})
}

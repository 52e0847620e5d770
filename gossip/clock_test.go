package gossip

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/gossip/holders"
)

// set sets a host's wall clock while it runs.
func (h *testMember) set(ahead time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ahead = ahead
}

// barred is the reason why the host's engine claims nothing, from the latest report.
func (h *testMember) barred() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last.Barred
}

func due(key uint64, in time.Duration) exchange.Occurrence {
	return exchange.OccurrenceOf(numbered(key), time.Now().Add(in))
}

func TestClockThatIsSetSuspendsTheMember(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(4)
		h := r.members[1]
		for _, ahead := range []time.Duration{time.Minute, -time.Hour, 0} {
			h.set(ahead)
			if ahead == 0 {
				r.await(5*time.Second, "it claims again", func() bool { return h.barred() == "" })
				break
			}
			r.await(5*time.Second, "it claims nothing", func() bool { return strings.Contains(h.barred(), "the ring's") })
			r.await(2*time.Second, "the others know", func() bool {
				m, _ := r.members[0].of(h.id)
				return m.Draining
			})
		}
		h.set(3 * time.Second) // less than clocks may differ
		for _, h := range r.members {
			r.await(30*time.Second, h.id+" claims again", func() bool { return h.barred() == "" })
		}
	})
}

// All hosts of a virtual machine's host, say, are set by the same amount.
func TestClocksThatAreSetTogetherAreConfirmed(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(4)
		for _, h := range r.members {
			h.set(time.Hour)
		}
		r.await(5*time.Second, "all agree", func() bool {
			for _, h := range r.members {
				h.mu.Lock()
				agreed := h.last.Clock.Wall.After(time.Now().Add(time.Minute)) && h.last.Barred == ""
				h.mu.Unlock()
				if !agreed {
					return false
				}
			}
			return true
		})
	})
}

func TestHostThatStartsWithAWrongClockClaimsNothing(t *testing.T) {
	for _, n := range []int{1, 2, 4} { // of two hosts the first one is right
		t.Run(fmt.Sprint(n, " others"), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *testRing) {
				r.ring(n)
				fakeSleep(10 * time.Second)
				h := r.add()
				h.ahead = time.Minute
				h.start()
				r.await(20*time.Second, "its engine knows the ring", func() bool { return len(h.sees()) > 0 })
				for range 100 {
					if h.barred() == "" {
						t.Fatal("it takes part")
					}
					fakeSleep(100 * time.Millisecond)
				}
				for _, other := range r.members[:n] {
					if b := other.barred(); b != "" {
						t.Errorf("%s claims nothing: %s", other.id, b)
					}
				}
				h.set(0)
				r.await(5*time.Second, "it takes part", func() bool { return h.barred() == "" })
			})
		})
	}
}

// If two hosts start together, it is unknown whose clock is right: both take part.
func TestTwoHostsThatStartWithDifferentClocks(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.add().start()
		h := r.add()
		h.ahead = time.Minute
		h.start()
		r.agree(time.Minute, r.members)
		if a, b := r.members[0].barred(), h.barred(); a != "" && b != "" {
			t.Errorf("nobody claims anything: %s; %s", a, b)
		}
	})
}

func TestClaimsOfTheFutureArePostponed(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(3)
		soon, later := due(1, 4*time.Second), due(2, 6*time.Second)
		r.members[1].Take(holders.Claim{Occurrence: soon}, holders.Claim{Occurrence: later})
		r.granted(r.members[1], soon, holders.Granted)
		if by := r.granted(r.members[1], later, holders.Postponed); by != r.members[0].id && by != r.members[2].id {
			t.Errorf("postponed by the clock of %q", by)
		}
	})
}

package gossip

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/gossip/register"
)

// set sets a host's wall clock while it runs.
func (h *host) set(ahead time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ahead = ahead
}

// barred is the reason why the host's engine claims nothing, from the latest report.
func (h *host) barred() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last.Barred
}

func due(key uint64, in time.Duration) exchange.Occurrence {
	return exchange.OccurrenceOf(numbered(key), time.Now().Add(in))
}

func TestClockThatIsSetSuspendsTheMember(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.ring(4)
		h := w.hosts[1]
		for _, ahead := range []time.Duration{time.Minute, -time.Hour, 0} {
			h.set(ahead)
			if ahead == 0 {
				w.await(5*time.Second, "it claims again", func() bool { return h.barred() == "" })
				break
			}
			w.await(5*time.Second, "it claims nothing", func() bool { return strings.Contains(h.barred(), "the ring's") })
			w.await(2*time.Second, "the others know", func() bool {
				m, _ := w.hosts[0].of(h.id)
				return m.Draining
			})
		}
		h.set(3 * time.Second) // less than clocks may differ
		for _, h := range w.hosts {
			w.await(30*time.Second, h.id+" claims again", func() bool { return h.barred() == "" })
		}
	})
}

// All hosts of a virtual machine's host, say, are set by the same amount.
func TestClocksThatAreSetTogetherAreConfirmed(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.ring(4)
		for _, h := range w.hosts {
			h.set(time.Hour)
		}
		w.await(5*time.Second, "all agree", func() bool {
			for _, h := range w.hosts {
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
			bubble(t, func(t *testing.T, w *world) {
				w.ring(n)
				time.Sleep(10 * time.Second)
				h := w.host()
				h.ahead = time.Minute
				h.start()
				w.await(20*time.Second, "its engine knows the ring", func() bool { return len(h.sees()) > 0 })
				for range 100 {
					if h.barred() == "" {
						t.Fatal("it takes part")
					}
					time.Sleep(100 * time.Millisecond)
				}
				for _, other := range w.hosts[:n] {
					if b := other.barred(); b != "" {
						t.Errorf("%s claims nothing: %s", other.id, b)
					}
				}
				h.set(0)
				w.await(5*time.Second, "it takes part", func() bool { return h.barred() == "" })
			})
		})
	}
}

// If two hosts start together, it is unknown whose clock is right: both take part.
func TestTwoHostsThatStartWithDifferentClocks(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.host().start()
		h := w.host()
		h.ahead = time.Minute
		h.start()
		w.agree(time.Minute, w.hosts)
		if a, b := w.hosts[0].barred(), h.barred(); a != "" && b != "" {
			t.Errorf("nobody claims anything: %s; %s", a, b)
		}
	})
}

func TestClaimsOfTheFutureArePostponed(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.ring(3)
		soon, later := due(1, 4*time.Second), due(2, 6*time.Second)
		w.hosts[1].Take(register.Claim{Occurrence: soon}, register.Claim{Occurrence: later})
		w.granted(w.hosts[1], soon, register.Granted)
		if by := w.granted(w.hosts[1], later, register.Postponed); by != w.hosts[0].id && by != w.hosts[2].id {
			t.Errorf("postponed by the clock of %q", by)
		}
	})
}

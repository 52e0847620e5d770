package search

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronring/cronring/gossip/memory"
)

// TestTargetsAreTriedUntilAMemberIsThere: a search contacts a seed and a missing member again and
// again, but no member that is alive and none that was missing for a week.
func TestTargetsAreTriedUntilAMemberIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seed, missing := netip.MustParseAddrPort("10.0.0.1:7946"), netip.MustParseAddrPort("10.0.0.2:7000")
		var contacted, there []netip.AddrPort
		s := New(Options{
			Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler), Now: time.Now,
			Help: func(f func(context.Context) func()) { f(t.Context())() },
			Contact: func() func([]netip.AddrPort) error {
				return func(found []netip.AddrPort) error {
					contacted = append(contacted, found...)
					return nil
				}
			},
			Alive:   func(string) bool { return slices.Contains(there, missing) },
			AliveAt: func(addr netip.AddrPort) bool { return slices.Contains(there, addr) },
		})
		s.AddSeed("10.0.0.1:7946")
		s.Remember(memory.Peer{ID: "b", Name: "host-b", Addr: missing, Seen: time.Now()})
		tries := func(want ...netip.AddrPort) {
			t.Helper()
			contacted = nil
			s.Discover()
			slices.SortFunc(contacted, netip.AddrPort.Compare)
			if !slices.Equal(contacted, want) {
				t.Errorf("contacted %v, want %v", contacted, want)
			}
		}
		tries(seed, missing)
		if got := s.Expected(seed); got != 1 {
			t.Errorf("other hosts that may be members: %d, want 1", got)
		}
		tries() // too early
		time.Sleep(2 * FirstRetry)
		there = []netip.AddrPort{seed}
		tries(missing)
		time.Sleep(peerTime + time.Second)
		there = nil
		tries(seed)
		if len(s.Peers()) > 0 {
			t.Errorf("a member that was missing for a week is still known: %v", s.Peers())
		}
	})
}

func TestResolve(t *testing.T) {
	for addr, want := range map[string]string{
		"10.0.0.1:99": "10.0.0.1:99", "[::1]:99": "[::1]:99", "[::ffff:10.0.0.1]:7946": "10.0.0.1:7946",
	} {
		if got, err := resolve(t.Context(), addr); err != nil || len(got) != 1 || got[0].String() != want {
			t.Errorf("%s: got %v, %v, want %s", addr, got, err, want)
		}
	}
	if got, err := resolve(t.Context(), "10.0.0.1:99999"); err == nil {
		t.Errorf("an invalid port: got %v, want an error", got)
	}
}

package ledger

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/holders"
	"github.com/cronring/cronring/gossip/link"
)

// town is voters on loopback with logs on this disk, and who does not vote.
type town struct {
	ledgers map[string]*Ledger
	stops   map[string]func()
}

func newTown(b *testing.B) *town {
	t := &town{map[string]*Ledger{}, map[string]func(){}}
	listeners := map[string]net.Listener{}
	for _, id := range []string{"a", "b", "c", "d"} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		listeners[id] = listener
	}
	addr := func(id string) (string, bool) { return listeners[id].Addr().String(), true }
	quiet := slog.New(slog.DiscardHandler)
	for id, listener := range listeners {
		carrier, err := link.New(link.Options{ID: id, Ring: "ring", Keys: [][]byte{make([]byte, 32)}, Listener: listener, Log: quiet})
		if err != nil {
			b.Fatal(err)
		}
		l, err := New(Options{ID: id, Voters: three, Dir: filepath.Join(b.TempDir(), id), Link: carrier, Addr: addr, Log: quiet,
			IsDead: func(string) bool { return false }, GaveUp: func(context.Context, string, exchange.Occurrence) (uint32, bool) { return 0, false }, Holding: func(key job.Key) catalog.Holding { return catalog.Holding{Key: key, Hash: numbered(1)} },
			ClockIsSure: func() bool { return true }})
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(b.Context())
		var all sync.WaitGroup
		all.Go(func() { l.Run(ctx) })
		all.Go(func() { carrier.Run(ctx) })
		t.ledgers[id], t.stops[id] = l, func() { cancel(); all.Wait() }
	}
	b.Cleanup(func() {
		for _, stop := range t.stops {
			stop()
		}
	})
	return t
}

// claim claims n occurrences that have no grant yet, and returns the duration.
func (t *town) claim(b *testing.B, id string, first uint64, n int) time.Duration {
	claims := make([]holders.Claim, n)
	for i := range claims {
		claims[i].Occurrence = exchange.OccurrenceOf(numbered(first+uint64(i)), time.Now())
	}
	begun := time.Now()
	for _, got := range t.ledgers[id].Claim(b.Context(), claims) {
		if got.Grant != holders.Granted {
			b.Fatalf("claim: got %+v, want it granted", got)
		}
	}
	return time.Since(begun)
}

func report(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkClaim is a claim from its sending to its grant, with three voters on
// loopback and their logs on this disk.
func BenchmarkClaim(b *testing.B) {
	t := newTown(b)
	t.claim(b, "d", 0, 1)
	leader := t.ledgers["d"].Status().Leader
	key := uint64(1)
	for _, bench := range []struct {
		name, from string
		claims     int
	}{{"leader", leader, 1}, {"non-voter", "d", 1}, {"non-voter-1000", "d", 1000}} {
		b.Run(bench.name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				took = append(took, t.claim(b, bench.from, key, bench.claims))
				key += uint64(bench.claims)
			}
			report(b, took)
		})
	}
}

// BenchmarkFailover measures the time from the loss of the leader, which sends nothing more, to
// the next grant.
func BenchmarkFailover(b *testing.B) {
	var took []time.Duration
	for b.Loop() {
		b.StopTimer()
		t := newTown(b)
		t.claim(b, "d", 0, 1)
		leader := t.ledgers["d"].Status().Leader
		t.ledgers[leader].voterNow().streams.closeAll()
		b.StartTimer()
		took = append(took, t.claim(b, "d", 1, 1))
	}
	report(b, took)
}

// BenchmarkSnapshot is of as many grants as are remembered.
func BenchmarkSnapshot(b *testing.B) {
	g := newGrants()
	for n := range uint64(mostGrants) {
		g.apply(n+1, entry{time: noon.UnixNano(), batches: []batch{{"some-member", 0, []claim{at(n, noon.Add(time.Duration(n%1440)*time.Minute))}}}})
	}
	for b.Loop() {
		if err := g.freeze().encode(new(discard)); err != nil {
			b.Fatal(err)
		}
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

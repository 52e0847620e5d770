package gossip

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/cronring/cronring/gossip/holders"
	"github.com/cronring/cronring/gossip/link"
)

// switchboard is the links of many members, without their cryptography.
type switchboard struct {
	mu       sync.Mutex
	handlers map[string]map[string]link.Handler // by address and verb
}

type jack struct {
	board    *switchboard
	id, addr string
}

func (j jack) Handle(verb string, h link.Handler) {
	j.board.mu.Lock()
	defer j.board.mu.Unlock()
	if j.board.handlers[j.addr] == nil {
		j.board.handlers[j.addr] = make(map[string]link.Handler)
	}
	j.board.handlers[j.addr][verb] = h
}

func (j jack) Ask(ctx context.Context, to link.Peer, verb string, body []byte) ([]byte, error) {
	j.board.mu.Lock()
	h := j.board.handlers[to.Addr][verb]
	j.board.mu.Unlock()
	if h == nil {
		return nil, fmt.Errorf("nobody at %s", to.Addr)
	}
	return h(ctx, j.id, body)
}

func (jack) Rekey([][]byte) error { return nil }

// large starts n members with holdings each, and reports when each member sees all others.
func large(r *testRing, n, holdings int) (took time.Duration) {
	board := &switchboard{handlers: make(map[string]map[string]link.Handler)}
	jobs := holders.Holdings{Holdings: someRoster(holdings).Entries}
	began := time.Now()
	for i := range n {
		m := r.add()
		m.addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i / 250), byte(i%250 + 1)}), 7946)
		o := m.options()
		o.Link = jack{board, m.id, m.addr.String()}
		o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
		o.Transport = func() (memberlist.NodeAwareTransport, error) {
			m.end = m.testRing.net.attach(m.addr)
			return m.end, nil
		}
		m.run(o, func(context.Context) {})
		m.Take(jobs)
	}
	r.await(5*time.Minute, "all see all", func() bool {
		for _, h := range r.members {
			if len(h.sees()) != n {
				return false
			}
		}
		return true
	})
	return time.Since(began)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// figure is a measurement of TestThreeHundred, printed by BenchmarkThreeHundred.
const figure = "figure:"

// TestThreeHundred starts a ring of 300 members in a bubble of time, where a
// second costs what it computes, lets it be for some minutes, and ends one.
func TestThreeHundred(t *testing.T) {
	if os.Getenv("CRONRING_LONG") == "" {
		t.Skip("SKIPPED, NOT TESTED: CRONRING_LONG is not set, so no ring of 300 members is tried")
	}
	const members, holdings = 300, 1000
	synctest.Test(t, func(t *testing.T) {
		r := newTestRing(t)
		defer r.end()
		before := heap()
		took := large(r, members, holdings)
		fakeSleep(time.Minute)
		each := float64(heap()-before) / members / 1024
		sent, since := r.net.bytes.Load(), time.Now()
		fakeSleep(5 * time.Minute)
		perSecond := float64(r.net.bytes.Load()-sent) / time.Since(since).Seconds() / members
		dies := time.Now()
		r.members[members/2].stop()
		r.members = slices.Delete(r.members, members/2, members/2+1)
		r.agree(5*time.Minute, r.members)
		fmt.Println(figure, took.Seconds(), "s/converge")
		fmt.Println(figure, time.Since(dies).Seconds(), "s/loss-seen-by-all")
		fmt.Println(figure, each, "KiB/member")
		fmt.Println(figure, perSecond, "B/member/s")
	})
}

// BenchmarkThreeHundred reports the figures of TestThreeHundred, which only a
// test can find, as only tests have bubbles of time.
func BenchmarkThreeHundred(b *testing.B) {
	for range b.N {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestThreeHundred$", "-test.timeout", "10m")
		cmd.Env = append(os.Environ(), "CRONRING_LONG=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		for line := range strings.Lines(string(out)) {
			var value float64
			var unit string
			if n, _ := fmt.Sscanf(line, figure+" %g %s", &value, &unit); n == 2 {
				b.ReportMetric(value, unit)
			}
		}
	}
}

package gossip

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/holders"
	"github.com/cronring/cronring/gossip/keys"
	"github.com/cronring/cronring/gossip/link"
	"github.com/cronring/cronring/gossip/link/linktest"
	"github.com/cronring/cronring/gossip/meta"
)

// network is one in memory that loses packets, and can be cut.
type network struct {
	mu    sync.Mutex
	ends  map[string]*end
	group map[string]int // members of different groups do not reach each other
	loss  float64
	rand  *rand.Rand
	tap   func(to string, b []byte)      // sees every packet
	taped func(to string) func(b []byte) // receives the bytes of each stream's sender
	bytes atomic.Int64
	pipes map[*pipe]bool
}

func newNetwork() *network {
	return &network{
		ends: make(map[string]*end), group: make(map[string]int), pipes: make(map[*pipe]bool),
		rand: rand.New(rand.NewPCG(1, 2)),
	}
}

// lose drops a fraction of packets from now on.
func (n *network) lose(part float64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.loss = part
}

// end is a member's transport.
type end struct {
	net     *network
	addr    netip.AddrPort
	packets chan *memberlist.Packet
	streams chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func (n *network) attach(addr netip.AddrPort) *end {
	e := &end{net: n, addr: addr, packets: make(chan *memberlist.Packet, 8192), streams: make(chan net.Conn), closed: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ends[addr.String()] = e
	return e
}

// part puts members into groups by a function of their address.
func (n *network) part(group func(addr string) int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for addr := range n.ends {
		n.group[addr] = group(addr)
	}
	for p := range n.pipes {
		if n.group[p.from] != n.group[p.to] {
			p.Conn.Close()
			delete(n.pipes, p)
		}
	}
}

func (n *network) heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.group)
}

func (e *end) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	return e.addr.Addr().AsSlice(), int(e.addr.Port()), nil
}

func (e *end) WriteTo(b []byte, addr string) (time.Time, error) {
	n := e.net
	n.bytes.Add(int64(len(b)))
	n.mu.Lock()
	to := n.ends[addr]
	lost := to == nil || n.group[addr] != n.group[e.addr.String()] || n.loss > 0 && n.rand.Float64() < n.loss
	tap := n.tap
	n.mu.Unlock()
	if tap != nil {
		tap(addr, b)
	}
	if !lost {
		to.deliver(slices.Clone(b), net.UDPAddrFromAddrPort(e.addr))
	}
	return time.Now(), nil
}

func (e *end) deliver(b []byte, from net.Addr) {
	select {
	case e.packets <- &memberlist.Packet{Buf: b, From: from, Timestamp: time.Now()}:
	default: // as a full socket
	}
}

func (e *end) WriteToAddress(b []byte, a memberlist.Address) (time.Time, error) {
	return e.WriteTo(b, a.Addr)
}

func (e *end) PacketCh() <-chan *memberlist.Packet { return e.packets }
func (e *end) StreamCh() <-chan net.Conn           { return e.streams }

// pipe counts, and can be cut.
type pipe struct {
	net.Conn
	net      *network
	from, to string
	tape     func([]byte)
}

func (p *pipe) Write(b []byte) (int, error) {
	p.net.bytes.Add(int64(len(b)))
	if p.tape != nil {
		p.tape(b)
	}
	return p.Conn.Write(b)
}

func (p *pipe) Close() error {
	p.net.mu.Lock()
	delete(p.net.pipes, p)
	p.net.mu.Unlock()
	return p.Conn.Close()
}

func (e *end) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	n := e.net
	patience := time.NewTimer(timeout)
	defer patience.Stop()
	n.mu.Lock()
	to := n.ends[addr]
	cut := n.group[addr] != n.group[e.addr.String()]
	n.mu.Unlock()
	switch {
	case cut:
		select {
		case <-patience.C:
		case <-e.closed:
		}
		return nil, os.ErrDeadlineExceeded
	case to == nil:
		return nil, errors.New("connection refused")
	}
	a, b := net.Pipe()
	ours := &pipe{Conn: a, net: n, from: e.addr.String(), to: addr}
	theirs := &pipe{Conn: b, net: n, from: e.addr.String(), to: addr}
	select {
	case to.streams <- theirs:
	case <-to.closed:
		return nil, errors.New("connection refused")
	case <-e.closed:
		return nil, net.ErrClosed
	case <-patience.C:
		return nil, os.ErrDeadlineExceeded
	}
	n.mu.Lock()
	if n.taped != nil {
		ours.tape = n.taped(addr)
	}
	n.pipes[ours], n.pipes[theirs] = true, true
	n.mu.Unlock()
	return ours, nil
}

func (e *end) DialAddressTimeout(a memberlist.Address, timeout time.Duration) (net.Conn, error) {
	return e.DialTimeout(a.Addr, timeout)
}

func (e *end) Shutdown() error {
	e.once.Do(func() {
		close(e.closed)
		e.net.mu.Lock()
		defer e.net.mu.Unlock()
		if e.net.ends[e.addr.String()] == e {
			delete(e.net.ends, e.addr.String())
		}
		for p := range e.net.pipes {
			if p.from == e.addr.String() || p.to == e.addr.String() {
				p.Conn.Close()
				delete(e.net.pipes, p)
			}
		}
	})
	return nil
}

// testRing is a ring of members on a network in memory.
type testRing struct {
	t       *testing.T
	net     *network
	links   *linktest.Network
	members []*testMember
}

func newTestRing(t *testing.T) *testRing {
	return &testRing{t: t, net: newNetwork(), links: linktest.New()}
}

// testMember is a member of a testRing. It can be started and stopped repeatedly.
type testMember struct {
	*Ring
	testRing *testRing
	id       string
	addr     netip.AddrPort
	dir      string
	seeds    []string
	keys     [][]byte
	ring     string
	labels   map[string]string
	strict   bool
	ahead    time.Duration // of its clock
	end      *end
	log      *lockedBuffer
	stop     func()

	mu        sync.Mutex
	last      *holders.Membership
	newest    map[job.Key]time.Time
	events    []holders.Event     // others than Ring
	holding   []catalog.Holding   // its ring jobs when it starts
	unstarted []exchange.Progress // occurrences that it has not begun when it leaves
	mute      bool                // its engine does not answer
	rings     int
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func key(n byte) []byte { return bytes.Repeat([]byte{n}, keys.Len) }

// add adds a member, which is not started.
func (r *testRing) add() *testMember {
	n := len(r.members)
	h := &testMember{
		testRing: r, id: fmt.Sprintf("id-%03d", n), addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(n / 250), byte(n%250 + 1)}), 7946),
		dir: r.t.TempDir(), keys: [][]byte{key(1)}, ring: "test", log: &lockedBuffer{},
	}
	if n > 0 {
		h.seeds = []string{r.members[0].addr.String()}
	}
	r.members = append(r.members, h)
	return h
}

func (h *testMember) options() Options {
	return Options{
		Ring: h.ring, ID: h.id, Name: "host-" + h.id, Version: "1.0",
		Seeds: h.seeds, Keys: h.keys, Labels: h.labels, Weight: 1, Rules: meta.Rules{Strict: h.strict, HoldOff: 2 * time.Second}, Dir: h.dir,
		Log: slog.New(slog.NewTextHandler(h.log, nil)),
		Now: func() time.Time {
			h.mu.Lock()
			defer h.mu.Unlock()
			return time.Now().Add(h.ahead)
		},
		Transport: func() (memberlist.NodeAwareTransport, error) {
			h.end = h.testRing.net.attach(h.addr)
			return h.end, nil
		},
	}
}

// start runs a host with a link of its own until it is stopped or the test is
// over.
func (h *testMember) start() *testMember {
	t := h.testRing.t
	t.Helper()
	listener, err := h.testRing.links.Listen(h.addr.String())
	if err != nil {
		t.Fatal(err)
	}
	o := h.options()
	l, err := link.New(link.Options{
		ID: h.id, Ring: h.ring, Keys: h.keys, Listener: listener,
		Dial: h.testRing.links.Dialer(listener.Addr().String()), Log: o.Log,
	})
	if err != nil {
		t.Fatal(err)
	}
	o.Link = l
	return h.run(o, func(ctx context.Context) { l.Run(ctx) })
}

// run runs a host with what its link does, which may be nothing.
func (h *testMember) run(o Options, linked func(context.Context)) *testMember {
	r, err := New(o)
	if err != nil {
		h.testRing.t.Fatal(err)
	}
	h.Ring = r
	if h.holding != nil {
		r.Take(holders.Holdings{Holdings: h.holding})
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { r.Run(ctx) })
	all.Go(func() { linked(ctx) })
	all.Go(func() {
		for {
			select {
			case e := <-r.Events():
				h.take(e)
			case <-ctx.Done():
				return
			}
		}
	})
	h.stop = sync.OnceFunc(func() {
		cancel()
		all.Wait()
	})
	return h
}

func (h *testMember) take(e holders.Event) {
	if _, ok := e.(holders.Departing); ok && !h.mute {
		h.Take(holders.Unstarted{Occurrences: h.unstarted})
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	r, ok := e.(holders.Ring)
	if !ok {
		h.events = append(h.events, e)
		return
	}
	h.rings++
	h.last = r.Membership
	if h.newest == nil {
		h.newest = make(map[job.Key]time.Time)
	}
	for k, t := range r.Newest {
		if t.After(h.newest[k]) {
			h.newest[k] = t
		}
	}
}

// sees returns the IDs that the host's engine heard of last.
func (h *testMember) sees() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var ids []string
	if h.last != nil {
		for _, m := range h.last.Members {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// changes returns how often the host's engine received a change of the ring.
func (h *testMember) changes() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rings
}

// of returns what the host's engine heard of a member last.
func (h *testMember) of(id string) (holders.Member, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last != nil {
		for _, m := range h.last.Members {
			if m.ID == id {
				return m, true
			}
		}
	}
	return holders.Member{}, false
}

func (h *testMember) view(id string) View {
	for _, v := range h.Snapshot().Members {
		if v.ID == id {
			return v
		}
	}
	return View{}
}

func ids(hosts []*testMember) []string {
	var all []string
	for _, h := range hosts {
		all = append(all, h.id)
	}
	slices.Sort(all)
	return all
}

// await waits, in the bubble's time, until something is so, and returns how
// long that took.
func (r *testRing) await(limit time.Duration, what string, so func() bool) time.Duration {
	r.t.Helper()
	began := time.Now()
	for !so() {
		if time.Since(began) > limit {
			r.t.Fatalf("after %s not yet: %s", limit, what)
		}
		fakeSleep(50 * time.Millisecond)
		synctest.Wait()
	}
	return time.Since(began)
}

// agree waits until each of some hosts sees just these.
func (r *testRing) agree(limit time.Duration, hosts []*testMember) time.Duration {
	r.t.Helper()
	want := ids(hosts)
	defer func() {
		if !r.t.Failed() {
			return
		}
		for _, h := range hosts {
			r.t.Logf("%s sees %v", h.id, h.sees())
		}
	}()
	return r.await(limit, fmt.Sprintf("%d hosts see each other", len(hosts)), func() bool {
		return !slices.ContainsFunc(hosts, func(m *testMember) bool { return !slices.Equal(m.sees(), want) })
	})
}

// ring starts n hosts and waits until they see each other.
func (r *testRing) ring(n int) {
	r.t.Helper()
	for range n {
		r.add().start()
	}
	r.agree(30*time.Second, r.members)
}

// bubble runs a test in a bubble of time.
func bubble(t *testing.T, f func(t *testing.T, r *testRing)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTestRing(t)
		defer r.end()
		f(t, r)
	})
}

// fakeSleep waits in the fake time of a test in a bubble, see package synctest. It takes no real time.
func fakeSleep(d time.Duration) { time.Sleep(d) }

// end stops all members, and waits for memberlist's last probes.
func (r *testRing) end() {
	for _, h := range r.members {
		if h.stop != nil {
			h.stop()
		}
	}
	fakeSleep(20 * time.Second)
}

// numbered returns a key that contains a number.
func numbered(n uint64) (k job.Key) {
	binary.BigEndian.PutUint64(k[:], n)
	return k
}

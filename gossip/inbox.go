package gossip

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/cronring/cronring/gossip/register"
	"github.com/cronring/cronring/gossip/wire"
)

// Limits of the inbox. Everything beyond them is dropped, because it arrives again by push/pull
// or on request.
const (
	maxMembers   = 4096
	maxWaiting   = 4096 // packets and states with marks
	maxReturning = 256
)

// update is the last message about a member.
type update struct {
	alive bool
	meta  meta
	addr  netip.AddrPort
}

// sample is one measurement of another member's clock, with other data from the same answer.
type sample struct {
	offset, trip time.Duration
	load         int
	viewSum      uint64 // digest of the members that it sees
	sure         bool   // the member reports that most members agree with its clock
}

// conflict describes a host that claims the ID of another member.
type conflict struct {
	id    string
	addr  netip.AddrPort
	name  string
	since time.Time
}

// deadMember is the inbox's record of a member, which it keeps after the member's death.
type deadMember struct {
	stamp time.Time // of its last message
	died  time.Time
	now   bool // it is dead now
}

// inbox collects messages from memberlist's goroutines and from the daemon for the Ring's
// goroutine. Its methods never block.
type inbox struct {
	self   string
	now    func() time.Time
	signal chan struct{} // receives a value when the inbox is not empty

	mu       sync.Mutex
	contents contents
	known    map[string]deadMember // by ID, including live members
	other    map[string]OtherForm  // by ID
}

// contents is what an inbox contains.
type contents struct {
	updates   map[string]update
	samples   map[string]sample
	conflicts []conflict
	returning map[string]netip.AddrPort // dead members that are reported as alive again
	marks     [][]byte
	dropped   int
	stamp     time.Time // of the newest message about this member itself
	done      []func()  // returned by the functions that help runs

	effects []register.Effect // of the engine
	taken   []register.Mark   // see Taken
}

func newInbox(self string, now func() time.Time) *inbox {
	return &inbox{self: self, now: now, signal: make(chan struct{}, 1), known: make(map[string]deadMember), other: make(map[string]OtherForm)}
}

// put changes the contents of the inbox, and signals that.
func (b *inbox) put(f func(*contents)) {
	b.mu.Lock()
	f(&b.contents)
	b.mu.Unlock()
	select {
	case b.signal <- struct{}{}:
	default:
	}
}

// take empties the inbox.
func (b *inbox) take() contents {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.contents
	b.contents = contents{}
	return c
}

func (b *inbox) post(f func()) { b.put(func(c *contents) { c.done = append(c.done, f) }) }

// NotifyAlive rejects messages that are invalid or out of date. memberlist forgets a dead member
// after a while, and would then take a replayed old packet for its return. Therefore a member
// that seems to be back is contacted first, over an authenticated connection.
func (b *inbox) NotifyAlive(n *memberlist.Node) error {
	m, addr, err := readNode(n)
	b.mu.Lock()
	defer b.mu.Unlock()
	if form, ok := errors.AsType[formError](err); ok {
		b.noteForm(n.Name, addr, form)
	}
	if err != nil {
		return err
	}
	delete(b.other, n.Name)
	if n.Name == b.self {
		if m.stamp.After(b.contents.stamp) {
			b.contents.stamp = m.stamp
		}
		return nil
	}
	g, ok := b.known[n.Name]
	switch {
	case !ok && len(b.known) >= maxMembers:
		return errors.New("too many members")
	case ok && m.stamp.Before(g.stamp):
		return errors.New(staleWord)
	case ok && g.now && m.stamp.Equal(g.stamp) && b.now().Sub(g.died) > deadMemberTime:
		b.askFirst(n.Name, addr)
		return errors.New("it is dead: asking it first")
	case !ok:
		b.known[n.Name] = deadMember{stamp: m.stamp}
	}
	return nil
}

// staleWord is the error for a message that gossip delivers after a later one. It is not logged.
const staleWord = "a later message of this member has arrived"

// otherFormTime is how long after its last message a host with a different message format stays
// visible.
const otherFormTime = 10 * time.Minute

func (b *inbox) noteForm(id string, addr netip.AddrPort, e formError) {
	if _, known := b.other[id]; !known && len(b.other) >= maxReturning {
		return
	}
	o := OtherForm{Name: id, Address: hostPort(addr), Form: int(e.form), Own: metaVersion, seen: b.now()}
	if e.name != "" && printable(e.name) && printable(e.version) {
		o.Name, o.Version = e.name, e.version
	}
	b.other[id] = o
}

// otherForms returns the hosts whose messages have a different format, by name.
func (b *inbox) otherForms() []OtherForm {
	b.mu.Lock()
	defer b.mu.Unlock()
	since := b.now().Add(-otherFormTime)
	maps.DeleteFunc(b.other, func(_ string, o OtherForm) bool { return o.seen.Before(since) })
	return slices.SortedFunc(maps.Values(b.other), func(x, y OtherForm) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Address, y.Address))
	})
}

// deadMemberTime is how long memberlist itself distinguishes old messages about a dead member
// from new ones.
const deadMemberTime = 20 * time.Second

func (b *inbox) askFirst(id string, addr netip.AddrPort) {
	if b.contents.returning == nil {
		b.contents.returning = make(map[string]netip.AddrPort)
	}
	if len(b.contents.returning) < maxReturning {
		b.contents.returning[id] = addr
	}
	select {
	case b.signal <- struct{}{}:
	default:
	}
}

// revive accepts messages about a dead member again, because it has answered.
func (b *inbox) revive(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if g, ok := b.known[id]; ok {
		g.now = false
		b.known[id] = g
	}
}

// forget drops the members that died before a time.
func (b *inbox) forget(before time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, g := range b.known {
		if g.now && g.died.Before(before) {
			delete(b.known, id)
		}
	}
}

// readNode decodes memberlist's record of a member.
func readNode(n *memberlist.Node) (meta, netip.AddrPort, error) {
	ip, ok := netip.AddrFromSlice(n.Addr)
	if wire.CheckID(n.Name) != nil || !ok || n.Port == 0 {
		return meta{}, netip.AddrPort{}, errors.New("no member's name or address")
	}
	addr := netip.AddrPortFrom(ip.Unmap(), n.Port)
	m, err := decodeMeta(n.Meta)
	if err != nil {
		return meta{}, addr, fmt.Errorf("read its description of itself: %w", err)
	}
	return m, addr, nil
}

// reports forwards the reports of one memberlist until that is shut down. After the shutdown its
// probes and suspicion timers continue, and would report members as dead that the next
// memberlist sees. The methods run under memberlist's lock.
type reports struct {
	*inbox
	over atomic.Bool
}

// NotifyJoin reports a member that is alive.
func (r *reports) NotifyJoin(n *memberlist.Node) { r.update(n, true) }

// NotifyUpdate reports a member that changed its metadata.
func (r *reports) NotifyUpdate(n *memberlist.Node) { r.update(n, true) }

// NotifyLeave reports a member that is dead or has left.
func (r *reports) NotifyLeave(n *memberlist.Node) { r.update(n, false) }

func (r *reports) update(n *memberlist.Node, alive bool) {
	if !r.over.Load() {
		r.inbox.update(n, alive)
	}
}

func (b *inbox) update(n *memberlist.Node, alive bool) {
	m, addr, err := readNode(n)
	if err != nil {
		return // cannot happen: NotifyAlive rejected it
	}
	b.put(func(c *contents) {
		if c.updates == nil {
			c.updates = make(map[string]update)
		}
		c.updates[n.Name] = update{alive: alive, meta: m, addr: addr}
		if n.Name != b.self {
			g := deadMember{stamp: m.stamp, now: !alive}
			if !alive {
				g.died = b.now()
			}
			b.known[n.Name] = g
		}
	})
}

// NotifyConflict reports that two hosts have the same ID.
func (b *inbox) NotifyConflict(existing, other *memberlist.Node) {
	m, addr, err := readNode(other)
	if err != nil {
		return
	}
	id := existing.Name
	b.put(func(c *contents) {
		if len(c.conflicts) < 16 {
			c.conflicts = append(c.conflicts, conflict{id: id, addr: addr, name: m.name, since: m.since})
		}
	})
}

// NotifyMsg receives a packet with marks. memberlist owns the bytes.
func (b *inbox) NotifyMsg(msg []byte) { b.addMarks(msg) }

// MergeRemoteState receives the marks of a push/pull.
func (b *inbox) MergeRemoteState(state []byte, _ bool) { b.addMarks(state) }

func (b *inbox) addMarks(msg []byte) {
	if len(msg) > maxState {
		return
	}
	msg = bytes.Clone(msg)
	b.put(func(c *contents) {
		if len(c.marks) >= maxWaiting {
			c.dropped++
			return
		}
		c.marks = append(c.marks, msg)
	})
}

// maxState bounds the state that cronring adds to a push/pull.
const maxState = 64 << 10

// NotifyPingComplete takes a sample of another member's clock from the answer to a probe.
// memberlist sends a probe every second anyway.
func (b *inbox) NotifyPingComplete(n *memberlist.Node, trip time.Duration, payload []byte) {
	s, ok := decodeSample(payload, trip, b.now())
	if !ok {
		return
	}
	id := n.Name
	b.put(func(c *contents) {
		if c.samples == nil {
			c.samples = make(map[string]sample)
		}
		c.samples[id] = s
	})
}

func hostPort(addr netip.AddrPort) string {
	return net.JoinHostPort(addr.Addr().String(), fmt.Sprint(addr.Port()))
}

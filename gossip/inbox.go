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

	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/gossip/wire"
)

// Bounds of what waits for the Ring's goroutine. What is over is dropped: it
// comes again by push/pull, or is asked for.
const (
	maxMembers   = 4096
	maxWaiting   = 4096 // packets and states with marks
	maxReturning = 256
)

// word is the last that was heard of a member.
type word struct {
	alive bool
	meta  meta
	addr  netip.AddrPort
}

// sample is one look at another member's clock.
type sample struct {
	offset, trip time.Duration
	load         int
	viewSum      uint64 // of the members that it sees
	sure         bool   // most members agree with its clock, as far as it knows
}

// conflict is two hosts that say they are the same member.
type conflict struct {
	id    string
	addr  netip.AddrPort
	name  string
	since time.Time
}

// deadMember is what the inbox remembers of a member, also after its death.
type deadMember struct {
	stamp time.Time // of its last word
	died  time.Time
	now   bool // it is dead, not merely known
}

// inbox takes from memberlist's goroutines and from the daemon what the Ring's
// goroutine then does, and never waits.
type inbox struct {
	self   string
	now    func() time.Time
	signal chan struct{} // something is there

	mu    sync.Mutex
	heard heard
	known map[string]deadMember // of each member that was ever heard of
	other map[string]OtherForm  // by ID
}

// heard is the contents of an inbox.
type heard struct {
	words     map[string]word
	samples   map[string]sample
	conflicts []conflict
	returning map[string]netip.AddrPort // members that came back from the dead, as somebody says
	marks     [][]byte
	dropped   int
	stamp     time.Time // of the newest word about this member itself
	done      []func()  // what helpers found out

	holdings  *engine.Holdings
	claims    []engine.Claim
	progress  []engine.Progress
	taken     []Holder
	unstarted *engine.Unstarted
}

func newInbox(self string, now func() time.Time) *inbox {
	return &inbox{self: self, now: now, signal: make(chan struct{}, 1), known: make(map[string]deadMember), other: make(map[string]OtherForm)}
}

// put changes what waits, and says so.
func (b *inbox) put(f func(*heard)) {
	b.mu.Lock()
	f(&b.heard)
	b.mu.Unlock()
	select {
	case b.signal <- struct{}{}:
	default:
	}
}

// take empties the inbox.
func (b *inbox) take() heard {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.heard
	b.heard = heard{}
	return h
}

func (b *inbox) post(f func()) { b.put(func(h *heard) { h.done = append(h.done, f) }) }

// NotifyAlive keeps out what no member says. memberlist forgets the dead after
// a while, and then would take an old packet that somebody kept for their
// return: who came back is asked first, over a connection that proves it.
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
		if m.stamp.After(b.heard.stamp) {
			b.heard.stamp = m.stamp
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

// staleWord is the reason against a message that gossip still carries although a later one has
// arrived. It is not logged.
const staleWord = "a later message of this member has arrived"

// otherFormTime is how long a member whose messages have another form is shown after
// its last message.
const otherFormTime = 10 * time.Minute

func (b *inbox) noteForm(id string, addr netip.AddrPort, e formError) {
	if _, known := b.other[id]; !known && len(b.other) >= maxReturning {
		return
	}
	o := OtherForm{Name: id, Address: hostPort(addr), Form: int(e.form), Own: metaVersion, heard: b.now()}
	if e.name != "" && printable(e.name) && printable(e.version) {
		o.Name, o.Version = e.name, e.version
	}
	b.other[id] = o
}

// otherForms returns the members whose messages have another form, by name.
func (b *inbox) otherForms() []OtherForm {
	b.mu.Lock()
	defer b.mu.Unlock()
	since := b.now().Add(-otherFormTime)
	maps.DeleteFunc(b.other, func(_ string, o OtherForm) bool { return o.heard.Before(since) })
	return slices.SortedFunc(maps.Values(b.other), func(x, y OtherForm) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Address, y.Address))
	})
}

// deadMemberTime is how long memberlist itself distinguishes old messages about a dead member
// from new ones.
const deadMemberTime = 20 * time.Second

func (b *inbox) askFirst(id string, addr netip.AddrPort) {
	if b.heard.returning == nil {
		b.heard.returning = make(map[string]netip.AddrPort)
	}
	if len(b.heard.returning) < maxReturning {
		b.heard.returning[id] = addr
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

// forget drops members that are gone for long.
func (b *inbox) forget(before time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, g := range b.known {
		if g.now && g.died.Before(before) {
			delete(b.known, id)
		}
	}
}

// readNode makes sense of a member as memberlist has it.
func readNode(n *memberlist.Node) (meta, netip.AddrPort, error) {
	ip, ok := netip.AddrFromSlice(n.Addr)
	if wire.CheckID(n.Name) != nil || !ok || n.Port == 0 {
		return meta{}, netip.AddrPort{}, errors.New("no member's name or address")
	}
	addr := netip.AddrPortFrom(ip.Unmap(), n.Port)
	m, err := decodeMeta(n.Meta)
	if err != nil {
		return meta{}, addr, fmt.Errorf("read what it says of itself: %w", err)
	}
	return m, addr, nil
}

// reports passes on what one memberlist reports until that is shut down. Its probes and the
// timers of its suspicions continue then, and would report members as dead that its
// successor sees. The methods run under memberlist's lock.
type reports struct {
	*inbox
	over atomic.Bool
}

// NotifyJoin reports a member that is alive.
func (r *reports) NotifyJoin(n *memberlist.Node) { r.hear(n, true) }

// NotifyUpdate reports a member that changed what it says of itself.
func (r *reports) NotifyUpdate(n *memberlist.Node) { r.hear(n, true) }

// NotifyLeave reports a member that is dead or has left.
func (r *reports) NotifyLeave(n *memberlist.Node) { r.hear(n, false) }

func (r *reports) hear(n *memberlist.Node, alive bool) {
	if !r.over.Load() {
		r.inbox.hear(n, alive)
	}
}

func (b *inbox) hear(n *memberlist.Node, alive bool) {
	m, addr, err := readNode(n)
	if err != nil {
		return // NotifyAlive let none such in
	}
	b.put(func(h *heard) {
		if h.words == nil {
			h.words = make(map[string]word)
		}
		h.words[n.Name] = word{alive: alive, meta: m, addr: addr}
		if n.Name != b.self {
			g := deadMember{stamp: m.stamp, now: !alive}
			if !alive {
				g.died = b.now()
			}
			b.known[n.Name] = g
		}
	})
}

// NotifyConflict hears that two hosts have one ID.
func (b *inbox) NotifyConflict(existing, other *memberlist.Node) {
	m, addr, err := readNode(other)
	if err != nil {
		return
	}
	id := existing.Name
	b.put(func(h *heard) {
		if len(h.conflicts) < 16 {
			h.conflicts = append(h.conflicts, conflict{id: id, addr: addr, name: m.name, since: m.since})
		}
	})
}

// NotifyMsg takes a packet with marks; the bytes are memberlist's.
func (b *inbox) NotifyMsg(msg []byte) { b.addMarks(msg) }

// MergeRemoteState takes the marks of a push/pull.
func (b *inbox) MergeRemoteState(state []byte, _ bool) { b.addMarks(state) }

func (b *inbox) addMarks(msg []byte) {
	if len(msg) > maxState {
		return
	}
	msg = bytes.Clone(msg)
	b.put(func(h *heard) {
		if len(h.marks) >= maxWaiting {
			h.dropped++
			return
		}
		h.marks = append(h.marks, msg)
	})
}

// maxState bounds what a push/pull carries beside memberlist's own.
const maxState = 64 << 10

// NotifyPingComplete takes a look at another member's clock from the answer to
// a probe, which memberlist sends one of each second anyway.
func (b *inbox) NotifyPingComplete(n *memberlist.Node, trip time.Duration, payload []byte) {
	s, ok := decodeSample(payload, trip, b.now())
	if !ok {
		return
	}
	id := n.Name
	b.put(func(h *heard) {
		if h.samples == nil {
			h.samples = make(map[string]sample)
		}
		h.samples[id] = s
	})
}

func hostPort(addr netip.AddrPort) string {
	return net.JoinHostPort(addr.Addr().String(), fmt.Sprint(addr.Port()))
}

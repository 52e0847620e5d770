// Package inbox owns the queue of messages from memberlist's callbacks and from the daemon, which
// the goroutine of the ring (package gossip) empties. It discards messages of memberlist that are
// out of date.
package inbox

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/cronring/cronring/gossip/clocks"
	"github.com/cronring/cronring/gossip/holders"
	"github.com/cronring/cronring/gossip/meta"
	"github.com/cronring/cronring/gossip/wire"
)

// Limits of the inbox. Everything beyond them is dropped, because it arrives again by push/pull
// or on request.
const (
	maxWaiting = 4096 // packets and states with marks
	MaxOthers  = 256  // dead members that seem to be back, and outsiders
)

// Update is the last message about a member.
type Update struct {
	Alive bool
	Meta  meta.Meta
	Addr  netip.AddrPort
}

// Conflict describes a host that claims the ID of another member.
type Conflict struct {
	ID    string
	Addr  netip.AddrPort
	Name  string
	Since time.Time
}

// Outsider is a host that has a key of the ring, but is not a member: it is in a ring with another
// name, or its messages have a different format, because it runs another version of cronring.
type Outsider struct {
	Name      string // or its ID, if its name is not known
	Version   string // of its cronring; "": not known
	Address   string // host:port
	Ring      string // the name of its ring; "": of this one
	Form, Own int    // if its ring is this one: version of the format of its messages, and of this member's
	Seen      time.Time
}

// deadMember is the inbox's record of a member, which it keeps after the member's death.
type deadMember struct {
	stamp time.Time // of its last message
	died  time.Time
	now   bool // it is dead now
}

// Inbox collects messages from memberlist's goroutines and from the daemon for the member's
// goroutine. Its methods never block.
type Inbox struct {
	self   string
	now    func() time.Time
	Signal chan struct{} // receives a value when the inbox is not empty

	mu       sync.Mutex
	contents Contents
	known    map[string]deadMember // by ID, including live members
	other    map[string]Outsider   // by ID
}

// Contents are the contents of an inbox.
type Contents struct {
	Updates   map[string]Update
	Samples   map[string]clocks.Sample
	Conflicts []Conflict
	Returning map[string]netip.AddrPort // dead members that are reported as alive again
	Marks     [][]byte
	Stamp     time.Time // of the newest message about this member itself
	Done      []func()  // run on the goroutine of the member

	Effects []holders.Effect // of the engine
}

// New makes the inbox of a member.
func New(self string, now func() time.Time) *Inbox {
	return &Inbox{self: self, now: now, Signal: make(chan struct{}, 1), known: make(map[string]deadMember), other: make(map[string]Outsider)}
}

// Put changes the contents of the inbox, and signals that.
func (b *Inbox) Put(f func(*Contents)) {
	b.mu.Lock()
	f(&b.contents)
	b.mu.Unlock()
	select {
	case b.Signal <- struct{}{}:
	default:
	}
}

// Take empties the inbox.
func (b *Inbox) Take() Contents {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.contents
	b.contents = Contents{}
	return c
}

// Post adds a function that the goroutine of the member runs.
func (b *Inbox) Post(f func()) { b.Put(func(c *Contents) { c.Done = append(c.Done, f) }) }

// NotifyAlive rejects messages that are invalid or out of date. memberlist forgets a dead member
// after a while, and would then take a replayed old packet for its return. Therefore a member
// that seems to be back is contacted first, over an authenticated connection.
func (b *Inbox) NotifyAlive(n *memberlist.Node) error {
	m, addr, err := readNode(n)
	b.mu.Lock()
	defer b.mu.Unlock()
	if form, ok := errors.AsType[meta.FormError](err); ok {
		b.noteForm(n.Name, addr, form)
	}
	if err != nil {
		return err
	}
	delete(b.other, n.Name)
	if n.Name == b.self {
		if m.Stamp.After(b.contents.Stamp) {
			b.contents.Stamp = m.Stamp
		}
		return nil
	}
	g, ok := b.known[n.Name]
	switch {
	case !ok && len(b.known) >= meta.MaxMembers:
		return errors.New("too many members")
	case ok && m.Stamp.Before(g.stamp):
		return errors.New(Stale)
	case ok && g.now && m.Stamp.Equal(g.stamp) && b.now().Sub(g.died) > deadMemberTime:
		b.askFirst(n.Name, addr)
		return errors.New("it is dead: asking it first")
	case !ok:
		b.known[n.Name] = deadMember{stamp: m.Stamp}
	}
	return nil
}

// Stale is the error for a message that gossip delivers after a later one. It is not logged.
const Stale = "a later message of this member has arrived"

// outsiderTime is how long after its last message an outsider stays visible.
const outsiderTime = 10 * time.Minute

func (b *Inbox) noteForm(id string, addr netip.AddrPort, e meta.FormError) {
	o := Outsider{Name: id, Address: addr.String(), Form: int(e.Form), Own: meta.Version, Seen: b.now()}
	if e.Name != "" && meta.Printable(e.Name) && meta.Printable(e.Version) {
		o.Name, o.Version = e.Name, e.Version
	}
	b.note(id, o)
}

// NotifyOtherRing reports a host that has a key of the ring, but is in a ring with another name.
// Live members and this host are not reported: the message may be an old one that was replayed, or the other
// ring may still list a host that was in it.
func (b *Inbox) NotifyOtherRing(ring string, n *memberlist.Node) {
	m, addr, err := readNode(n)
	if err != nil || !meta.Printable(ring) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if g, ok := b.known[n.Name]; n.Name != b.self && (!ok || g.now) {
		b.note(n.Name, Outsider{Name: m.Name, Version: m.Version, Address: addr.String(), Ring: ring, Seen: b.now()})
	}
}

func (b *Inbox) note(id string, o Outsider) {
	if _, known := b.other[id]; known || len(b.other) < MaxOthers {
		b.other[id] = o
	}
}

// Outsiders returns the hosts that have a key of the ring and are not members, by name.
func (b *Inbox) Outsiders() []Outsider {
	b.mu.Lock()
	defer b.mu.Unlock()
	since := b.now().Add(-outsiderTime)
	maps.DeleteFunc(b.other, func(_ string, o Outsider) bool { return o.Seen.Before(since) })
	return slices.SortedFunc(maps.Values(b.other), func(x, y Outsider) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Address, y.Address))
	})
}

// deadMemberTime is how long memberlist itself distinguishes old messages about a dead member
// from new ones.
const deadMemberTime = 20 * time.Second

func (b *Inbox) askFirst(id string, addr netip.AddrPort) {
	if b.contents.Returning == nil {
		b.contents.Returning = make(map[string]netip.AddrPort)
	}
	if len(b.contents.Returning) < MaxOthers {
		b.contents.Returning[id] = addr
	}
	select {
	case b.Signal <- struct{}{}:
	default:
	}
}

// Revive accepts messages about a dead member again, because it has answered.
func (b *Inbox) Revive(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if g, ok := b.known[id]; ok {
		g.now = false
		b.known[id] = g
	}
}

// Forget drops the members that died before a time.
func (b *Inbox) Forget(before time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, g := range b.known {
		if g.now && g.died.Before(before) {
			delete(b.known, id)
		}
	}
}

// readNode decodes memberlist's record of a member.
func readNode(n *memberlist.Node) (meta.Meta, netip.AddrPort, error) {
	ip, ok := netip.AddrFromSlice(n.Addr)
	if wire.CheckID(n.Name) != nil || !ok || n.Port == 0 {
		return meta.Meta{}, netip.AddrPort{}, errors.New("no member's name or address")
	}
	addr := netip.AddrPortFrom(ip.Unmap(), n.Port)
	m, err := meta.Decode(n.Meta)
	if err != nil {
		return meta.Meta{}, addr, fmt.Errorf("read its description of itself: %w", err)
	}
	return m, addr, nil
}

// Reports forwards the reports of one memberlist until that is shut down. After the shutdown its
// probes and suspicion timers continue, and would report members as dead that the next
// memberlist sees. The methods run under memberlist's lock.
type Reports struct {
	*Inbox
	Over atomic.Bool
}

// NotifyJoin reports a member that is alive.
func (r *Reports) NotifyJoin(n *memberlist.Node) { r.update(n, true) }

// NotifyUpdate reports a member that changed its metadata.
func (r *Reports) NotifyUpdate(n *memberlist.Node) { r.update(n, true) }

// NotifyLeave reports a member that is dead or has left.
func (r *Reports) NotifyLeave(n *memberlist.Node) { r.update(n, false) }

func (r *Reports) update(n *memberlist.Node, alive bool) {
	if !r.Over.Load() {
		r.Inbox.update(n, alive)
	}
}

func (b *Inbox) update(n *memberlist.Node, alive bool) {
	m, addr, err := readNode(n)
	if err != nil {
		return // cannot happen: NotifyAlive rejected it
	}
	b.Put(func(c *Contents) {
		if c.Updates == nil {
			c.Updates = make(map[string]Update)
		}
		c.Updates[n.Name] = Update{Alive: alive, Meta: m, Addr: addr}
		if n.Name != b.self {
			g := deadMember{stamp: m.Stamp, now: !alive}
			if !alive {
				g.died = b.now()
			}
			b.known[n.Name] = g
		}
	})
}

// NotifyConflict reports that two hosts have the same ID.
func (b *Inbox) NotifyConflict(existing, other *memberlist.Node) {
	m, addr, err := readNode(other)
	if err != nil {
		return
	}
	id := existing.Name
	b.Put(func(c *Contents) {
		if len(c.Conflicts) < 16 {
			c.Conflicts = append(c.Conflicts, Conflict{ID: id, Addr: addr, Name: m.Name, Since: m.Since})
		}
	})
}

// NotifyMsg receives a packet with marks. memberlist owns the bytes.
func (b *Inbox) NotifyMsg(msg []byte) { b.addMarks(msg) }

// MergeRemoteState receives the marks of a push/pull.
func (b *Inbox) MergeRemoteState(state []byte, _ bool) { b.addMarks(state) }

func (b *Inbox) addMarks(msg []byte) {
	if len(msg) > MaxState {
		return
	}
	msg = bytes.Clone(msg)
	b.Put(func(c *Contents) {
		if len(c.Marks) >= maxWaiting {
			return
		}
		c.Marks = append(c.Marks, msg)
	})
}

// MaxState bounds the marks in a packet or push/pull from another member. Larger ones are ignored.
const MaxState = 64 << 10

// NotifyPingComplete takes a sample of another member's clock from the answer to a probe.
// memberlist sends a probe every second anyway.
func (b *Inbox) NotifyPingComplete(n *memberlist.Node, trip time.Duration, payload []byte) {
	s, ok := clocks.Decode(payload, trip, b.now())
	if !ok {
		return
	}
	id := n.Name
	b.Put(func(c *Contents) {
		if c.Samples == nil {
			c.Samples = make(map[string]clocks.Sample)
		}
		c.Samples[id] = s
	})
}

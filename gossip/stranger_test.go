package gossip

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/cronring/cronring/gossip/holders"
	"github.com/cronring/cronring/gossip/meta"
)

// recorded is the traffic that an attacker on the network has stored.
type recorded struct {
	mu      sync.Mutex
	packets []packet
	streams []*packet
}

type packet struct {
	to string
	b  []byte
}

func (n *network) record() *recorded {
	r := &recorded{}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tap = func(to string, b []byte) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.packets = append(r.packets, packet{to, bytes.Clone(b)})
	}
	n.taped = func(to string) func([]byte) {
		s := &packet{to: to}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.streams = append(r.streams, s)
		return func(b []byte) {
			r.mu.Lock()
			defer r.mu.Unlock()
			s.b = append(s.b, b...)
		}
	}
	return r
}

func (n *network) stopRecording() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tap, n.taped = nil, nil
}

// stranger sends to members from an address of its own.
type stranger struct {
	w   *testRing
	end *end
	got []byte // all that was sent to it
}

func (r *testRing) stranger() *stranger {
	return &stranger{w: r, end: r.net.attach(netip.MustParseAddrPort("10.66.6.6:7946"))}
}

func (s *stranger) packet(to string, b []byte) {
	s.end.WriteTo(b, to)
	select {
	case p := <-s.end.packets:
		s.got = append(s.got, p.Buf...)
	default:
	}
}

// stream writes to a member and keeps what it answers.
func (s *stranger) stream(to string, b []byte) {
	conn, err := s.end.DialTimeout(to, time.Second)
	if err != nil {
		s.w.t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(30 * time.Second))
	go conn.Write(b)
	buf := make([]byte, 1<<16)
	for {
		n, err := conn.Read(buf)
		s.got = append(s.got, buf[:n]...)
		if err != nil {
			return
		}
	}
}

// state is the data that an attacker must not change.
func (r *testRing) state() string {
	var b strings.Builder
	for _, h := range r.members {
		h.mu.Lock()
		fmt.Fprintf(&b, "%s: %d rings, %d events;", h.id, h.rings, len(h.events))
		for _, m := range h.last.Members {
			fmt.Fprintf(&b, " %s %t", m.ID, m.Draining)
		}
		h.mu.Unlock()
		for _, v := range h.Snapshot().Members {
			fmt.Fprintf(&b, " %s %s", v.ID, v.State)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func labelled(label string, b []byte) []byte {
	whole, err := memberlist.AddLabelHeaderToPacket(b, label)
	if err != nil {
		panic(err)
	}
	return whole
}

// forgeries are messages that an attacker can construct: every type of message in plain text, with
// the right label and without a label, followed by random bytes of all lengths.
func forgeries(rng *rand.Rand) [][]byte {
	var all [][]byte
	now := time.Now()
	word := meta.Meta{Name: "evil", Weight: 1, Since: now, Stamp: now}
	said := word.Encode()
	bodies := [][]byte{
		nil,
		[]byte("\x83\xabIncarnation\xce\x7f\xff\xff\xff\xa4Node\xa6id-001\xa4From\xa6id-001"),
		slices.Concat([]byte("\x86\xabIncarnation\xce\x7f\xff\xff\xff\xa4Node\xa6id-666\xa4Addr\xc4\x04\x0a\x42\x06\x06\xa4Port\xcd\x1f\x0a\xa4Meta\xc4"),
			[]byte{byte(len(said))}, said, []byte("\xa3Vsn\xc4\x06\x01\x05\x02\x01\x01\x01")),
		[]byte("\x83\xa5Nodes\xce\x7f\xff\xff\xff\xacUserStateLen\xce\x7f\xff\xff\xff\xa4Join\xc3"),
	}
	for _, n := range []int{1, 5, 13, 28, 29, 100, 1400} {
		junk := make([]byte, n)
		for i := range junk {
			junk[i] = byte(rng.Uint32())
		}
		bodies = append(bodies, junk)
	}
	for kind := range 256 {
		for _, body := range bodies {
			m := append([]byte{byte(kind)}, body...)
			all = append(all, m, labelled("test", m))
		}
	}
	return all
}

func TestStrangerWithoutKey(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(3)
		r.net.stopRecording()
		fakeSleep(time.Minute)
		before := r.state()
		s := r.stranger()
		rng := rand.New(rand.NewPCG(3, 4))
		for i, b := range forgeries(rng) {
			for _, h := range r.members {
				s.packet(h.addr.String(), b)
			}
			if i%7 == 0 {
				s.stream(r.members[i%3].addr.String(), b)
			}
		}
		fakeSleep(time.Minute)
		if got := r.state(); got != before {
			t.Errorf("a stranger's words changed\n%s to\n%s", before, got)
		}
		for _, word := range []string{"id-00", "host-", "10.0.0"} {
			if bytes.Contains(s.got, []byte(word)) {
				t.Errorf("a stranger was told %q", word)
			}
		}
		if n := strings.Count(r.members[0].log.String(), "\n"); n > 200 {
			t.Errorf("a stranger made a member write %d lines", n)
		}
	})
}

func TestStrangerReplays(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		kept := r.net.record()
		r.ring(4)
		o := occurrence(7)
		r.members[1].Take(holders.Claim{Occurrence: o})
		fakeSleep(2 * time.Minute)
		r.members[2].Drain(context.Background())
		r.members[2].Join(context.Background())
		fakeSleep(time.Minute)
		r.net.stopRecording()
		s := r.stranger()
		replay := func(what string) {
			t.Helper()
			before := r.state()
			for _, p := range kept.packets {
				s.packet(p.to, p.b)
				s.packet(p.to, p.b[:len(p.b)/2])
				turned := bytes.Clone(p.b)
				turned[len(turned)-1] ^= 1
				s.packet(p.to, turned)
				for _, h := range r.members { // also to others than it was meant for
					if h.end != nil {
						s.packet(h.addr.String(), p.b)
					}
				}
			}
			for _, p := range kept.streams {
				if slices.ContainsFunc(r.members, func(m *testMember) bool { return m.addr.String() == p.to && len(m.sees()) > 0 }) {
					s.stream(p.to, p.b[:len(p.b)*2/3])
					s.stream(p.to, p.b)
				}
			}
			fakeSleep(time.Minute)
			if got := r.state(); got != before {
				t.Errorf("%s: a replay changed\n%s to\n%s", what, before, got)
			}
		}
		replay("all there")
		dead := r.members[3]
		dead.stop()
		r.members = r.members[:3]
		r.agree(time.Minute, r.members)
		fakeSleep(5 * time.Minute) // memberlist has forgotten it
		replay("one dead")
		left := r.members[2]
		if err := left.Leave(context.Background()); err != nil {
			t.Fatal(err)
		}
		left.stop()
		r.members = r.members[:2]
		r.agree(time.Minute, r.members)
		fakeSleep(5 * time.Minute)
		replay("one left")
		if len(s.got) > 0 && bytes.Contains(s.got, []byte("host-")) {
			t.Error("a stranger was told a name")
		}
		r.members = append(r.members, left, dead)
		left.start()
		dead.start()
		r.agree(time.Minute, r.members)
	})
}

func TestKeysRotated(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(4)
		ctx := context.Background()
		// A host's permissions depend on the keys that other hosts have reported.
		rekey := func(hosts []*testMember, keys ...[]byte) {
			t.Helper()
			for _, h := range hosts {
				r.await(time.Minute, h.id+" takes the keys", func() bool { return h.Rekey(ctx, keys) == nil })
				h.keys = keys
			}
		}
		refused := func(words string, keys ...[]byte) {
			t.Helper()
			r.await(time.Minute, "a refusal: "+words, func() bool {
				err := r.members[0].Rekey(ctx, keys)
				if err == nil {
					t.Fatalf("the keys were changed, want a refusal: %s", words)
				}
				return strings.Contains(err.Error(), words)
			})
		}
		most, last := r.members[:3], r.members[3:]
		old, fresh := key(1), key(2)
		refused("the first key is new", fresh)
		rekey(most, old, fresh)
		refused("member host-"+last[0].id+" does not have the first key yet", fresh, old)
		rekey(last, old, fresh)
		rekey(most, fresh, old)
		refused("member host-"+last[0].id+" still has a removed key as its first key", fresh)
		rekey(last, fresh, old)
		rekey(r.members, fresh)
		r.await(time.Minute, "all hosts know that the old key is gone", func() bool {
			return !slices.ContainsFunc(r.members, func(h *testMember) bool {
				return h.do(ctx, func() error {
					if slices.ContainsFunc(h.alive(), func(m *member) bool { return len(m.meta.Keys) != 1 }) {
						return errors.New("not yet")
					}
					return nil
				}) != nil
			})
		})
		fakeSleep(5 * time.Second) // their engines hear of it
		rings := r.members[0].changes()
		fakeSleep(2 * time.Minute)
		r.agree(time.Second, r.members)
		if got := r.members[0].changes(); got != rings {
			t.Errorf("%d changes of the membership after the rotation, want none", got-rings)
		}
		stale := r.add()
		stale.start() // with the old key
		fakeSleep(time.Minute)
		r.agree(time.Second, r.members[:4])
		o := occurrence(7)
		r.members[0].Take(holders.Claim{Occurrence: o})
		r.members[1].Take(holders.Claim{Occurrence: o})
		r.granted(r.members[1], o, holders.Refused)
	})
}

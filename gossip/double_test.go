package gossip

import (
	"slices"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/gossip/holders"
)

// Two members ran an occurrence, and only one of them receives the other's packet: both record it,
// with the name of the other host.
func TestBothMembersNoteADouble(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(3)
		a, b := r.members[0], r.members[1]
		fakeSleep(slowTime) // so that claims wait for an answer briefly
		r.cut([]*testMember{a}, []*testMember{b, r.members[2]})
		o := occurrence(7)
		for i, h := range []*testMember{a, b} {
			h.Take(holders.Claim{Occurrence: o})
			r.granted(h, o, holders.Granted)
			h.Take(exchange.Progress{Occurrence: o, Phase: exchange.Begun, Run: int64(i + 1), Attempt: 1})
		}
		fakeSleep(time.Second) // until the packets are lost
		r.heal()
		for _, h := range []*testMember{a, b} {
			if h.heard(isDouble(o, "", 0)) {
				t.Fatalf("%s has heard of it before", h.id)
			}
		}
		m := holders.Mark{Occurrence: o, Member: b.id, Phase: exchange.Begun, Attempt: 1, Run: 2}
		packet, _ := holders.AppendMarks(nil, []holders.Mark{m}, packetRoom)
		a.box.NotifyMsg(packet)
		r.await(time.Second, "both note it", func() bool {
			return a.heard(isDouble(o, "host-"+b.id, 2)) && b.heard(isDouble(o, "host-"+a.id, 1))
		})
	})
}

// A member takes over the occurrence of one that a network partition cut off just before the run began
// there. Both record the double, although the one that took over cannot know that the run was not lost.
func TestBothMembersNoteADoubleAfterATakeover(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(3)
		a, b := r.members[0], r.members[1]
		o := occurrence(7)
		a.Take(holders.Claim{Occurrence: o})
		r.granted(a, o, holders.Granted)
		r.await(time.Second, "the other one knows it", func() bool { return b.heardOthers(o) })
		r.cut([]*testMember{a}, []*testMember{b, r.members[2]})
		a.Take(exchange.Progress{Occurrence: o, Phase: exchange.Begun, Run: 1, Attempt: 1})
		r.await(time.Minute, "it is orphaned", func() bool { return len(b.orphans(a.id)) > 0 })
		b.Take(holders.Claim{Occurrence: o, Again: true, From: a.id})
		r.granted(b, o, holders.Granted)
		b.Take(exchange.Progress{Occurrence: o, Phase: exchange.Begun, Run: 2, Attempt: 1})
		r.heal()
		r.await(5*time.Minute, "both note it", func() bool {
			return a.heard(isDouble(o, "host-"+b.id, 2)) && b.heard(isDouble(o, "host-"+a.id, 1))
		})
	})
}

// isDouble matches a double with a run of a host; "": of any.
func isDouble(o exchange.Occurrence, host string, run int64) func(holders.Event) bool {
	return func(e holders.Event) bool {
		n, ok := e.(holders.Changes)
		return ok && slices.ContainsFunc(n.Doubled, func(d holders.Report) bool {
			return d.Occurrence == o && (host == "" || d.Host == host && d.Run == run)
		})
	}
}

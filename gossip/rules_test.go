package gossip

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/cronring/cronring/gossip/memory"
	"github.com/cronring/cronring/gossip/meta"
	"github.com/cronring/cronring/gossip/search"
)

// A member of another mode claims nothing while the network is whole, nor when it is cut off,
// nor when it is started again then.
func TestMemberOfAnotherModeClaimsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		for i := range 3 {
			m := r.add()
			m.strict = i != 1
			m.start()
		}
		r.agree(time.Minute, r.members)
		odd := r.members[1]
		isHeld := func() bool {
			return strings.Contains(odd.barred(), "most members have mode strict and hold-off 2s: host-id-000, host-id-002")
		}
		r.await(time.Second, "it claims nothing", isHeld)
		for _, h := range []*testMember{r.members[0], r.members[2]} {
			if b := h.barred(); b != "" {
				t.Errorf("%s claims nothing: %s", h.id, b)
			}
			if got := h.view(odd.id).Rules; got.Strict {
				t.Errorf("%s sees the rules %s", h.id, got)
			}
		}
		fakeSleep(10 * time.Second) // until its peers are on disk
		r.cut([]*testMember{odd}, []*testMember{r.members[0], r.members[2]})
		r.await(2*time.Minute, "it sees nobody", func() bool { return slices.Equal(odd.sees(), []string{odd.id}) })
		if !isHeld() {
			t.Errorf("cut off, it claims: %q", odd.barred())
		}
		odd.stop()
		odd.last = nil
		odd.start()
		r.await(time.Minute, "it is there again", func() bool { return len(odd.sees()) > 0 })
		if !isHeld() {
			t.Errorf("started again, it claims: %q", odd.barred())
		}
	})
}

func TestOfTwoMembersTheStricterHolds(t *testing.T) {
	for name, c := range map[string][2]meta.Rules{ // the first one claims
		"mode":     {{Strict: true, HoldOff: 2 * time.Second}, {HoldOff: 9 * time.Second}},
		"hold-off": {{HoldOff: 9 * time.Second}, {HoldOff: 2 * time.Second}},
		"voters":   {{HoldOff: 2 * time.Second, Voters: 2}, {HoldOff: 2 * time.Second, Voters: 1}},
	} {
		for i, own := range c {
			others := search.New(search.Options{})
			others.Remember(memory.Peer{ID: "b", Name: "b", Rules: c[1-i]})
			r := &Ring{search: others}
			r.own.Rules = own
			if got := r.rulesFault(); (got == "") != (i == 0) {
				t.Errorf("%s: %s beside %s: got %q", name, own, c[1-i], got)
			}
		}
	}
}

// Until the last host of an older version is upgraded, which cannot be a member, those of
// the newer version leave the jobs to it.
func TestNewerMembersLeaveTheJobsToOlderHosts(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(2)
		h, now := r.members[0], time.Now()
		m := meta.Meta{Name: "old", Version: "0.7.0", Weight: 1, Since: now, Stamp: now}
		node := &memberlist.Node{Name: "id-9", Addr: []byte{10, 0, 0, 9}, Port: 7946, Meta: m.Encode()}
		for form, want := range map[byte]string{meta.Version + 1: "", meta.LeastVersion - 1: "old runs cronring 0.7.0"} {
			node.Meta[0] = form
			_ = h.box.NotifyAlive(node)
			fakeSleep(3 * time.Second)
			if got := h.barred(); !strings.Contains(got, want) || want == "" && got != "" {
				t.Errorf("form %d: it claims nothing because %q, want %q", form, got, want)
			}
		}
		node.Meta = m.Encode()
		_ = h.box.NotifyAlive(node)
		r.await(3*time.Second, "that one is upgraded", func() bool { return h.barred() == "" })
		node.Meta[0] = meta.LeastVersion - 1
		_ = h.box.NotifyAlive(node)
		r.await(3*time.Second, "that one is not a member", func() bool { return h.barred() != "" })
		r.await(olderTime+3*time.Second, "nothing is heard of it", func() bool { return h.barred() == "" })
	})
}

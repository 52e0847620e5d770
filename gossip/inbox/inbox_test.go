package inbox

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/cronring/cronring/gossip/meta"
)

// A host with the key of the ring and another version of cronring is not a member. It is shown
// until it is upgraded or was silent for some time.
func TestHostOfAnotherFormIsShown(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	b := New("self", func() time.Time { return now })
	m := meta.Meta{Name: "n1", Version: "0.7.0", Weight: 1, Since: now, Stamp: now}
	node := &memberlist.Node{Name: "id-1", Addr: []byte{127, 0, 0, 1}, Port: 7946, Meta: m.Encode()}
	node.Meta[0] = 2
	if err := b.NotifyAlive(node); err == nil || !strings.Contains(err.Error(), "form 2") {
		t.Errorf("it comes: got %v, want its form named", err)
	}
	want := []Outsider{{Name: "n1", Version: "0.7.0", Address: "127.0.0.1:7946", Form: 2, Own: meta.Version, Seen: now}}
	if got := b.Outsiders(); !slices.Equal(got, want) {
		t.Errorf("shown: got %+v, want %+v", got, want)
	}
	now = now.Add(outsiderTime + time.Second)
	if got := b.Outsiders(); len(got) > 0 {
		t.Errorf("shown after a silence: got %+v, want nothing", got)
	}
	if err := b.NotifyAlive(node); err == nil {
		t.Error("it comes again: got no error")
	}
	if err := b.NotifyAlive(&memberlist.Node{Name: "id-1", Addr: node.Addr, Port: 7946, Meta: m.Encode()}); err != nil || len(b.Outsiders()) > 0 {
		t.Errorf("after its upgrade: got %v and %+v, want it let in", err, b.Outsiders())
	}
	for id := range 2 * MaxOthers {
		node.Name = fmt.Sprint("id-", id)
		_ = b.NotifyAlive(node)
	}
	if got := len(b.Outsiders()); got != MaxOthers {
		t.Errorf("shown of very many: got %d, want %d", got, MaxOthers)
	}
}

// A host with the key of the ring and another ring.name is shown, unless a live member has its ID.
func TestHostOfAnotherRingIsShown(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	b := New("self", func() time.Time { return now })
	m := meta.Meta{Name: "n1", Version: "0.8.0", Weight: 1, Since: now, Stamp: now}
	node := &memberlist.Node{Name: "id-1", Addr: []byte{127, 0, 0, 1}, Port: 7946, Meta: m.Encode()}
	shown := func(when string, want ...Outsider) {
		t.Helper()
		if got := b.Outsiders(); !slices.Equal(got, want) {
			t.Errorf("%s: got %+v, want %+v", when, got, want)
		}
	}
	outsider := Outsider{Name: "n1", Version: "0.8.0", Address: "127.0.0.1:7946", Ring: "other", Seen: now}
	b.NotifyOtherRing("\x1b[31m", node)
	shown("with an unprintable ring")
	b.NotifyOtherRing("other", &memberlist.Node{Name: "self", Addr: node.Addr, Port: 7947, Meta: m.Encode()})
	shown("this host, which was in another ring")
	b.NotifyOtherRing("other", node)
	shown("with another ring", outsider)
	if err := b.NotifyAlive(node); err != nil {
		t.Error(err)
	}
	shown("when it is a member")
	b.NotifyOtherRing("other", node)
	shown("when it is a member and an old message is replayed")
	b.update(node, false)
	b.NotifyOtherRing("other", node)
	shown("when it is a member no longer", outsider)
	now = now.Add(outsiderTime + time.Second)
	shown("after a silence")
}

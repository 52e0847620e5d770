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
	want := []OtherForm{{Name: "n1", Version: "0.7.0", Address: "127.0.0.1:7946", Form: 2, Own: meta.Version, Seen: now}}
	if got := b.OtherForms(); !slices.Equal(got, want) {
		t.Errorf("shown: got %+v, want %+v", got, want)
	}
	now = now.Add(otherFormTime + time.Second)
	if got := b.OtherForms(); len(got) > 0 {
		t.Errorf("shown after a silence: got %+v, want nothing", got)
	}
	if err := b.NotifyAlive(node); err == nil {
		t.Error("it comes again: got no error")
	}
	if err := b.NotifyAlive(&memberlist.Node{Name: "id-1", Addr: node.Addr, Port: 7946, Meta: m.Encode()}); err != nil || len(b.OtherForms()) > 0 {
		t.Errorf("after its upgrade: got %v and %+v, want it let in", err, b.OtherForms())
	}
	for id := range 2 * MaxOthers {
		node.Name = fmt.Sprint("id-", id)
		_ = b.NotifyAlive(node)
	}
	if got := len(b.OtherForms()); got != MaxOthers {
		t.Errorf("shown of very many: got %d, want %d", got, MaxOthers)
	}
}

package memory

import (
	"net/netip"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/gossip/wire"
)

func TestIdentityStays(t *testing.T) {
	dir := t.TempDir()
	first, err := Identity(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := wire.CheckID(first); err != nil {
		t.Error(err)
	}
	if again, err := Identity(dir); again != first || err != nil {
		t.Errorf("the second time %q, %v, want %q", again, err, first)
	}
	if other, _ := Identity(t.TempDir()); other == first {
		t.Error("two hosts have one ID")
	}
	filetest.Write(t, filepath.Join(dir, IDFile), "NOT AN ID\n", 0o600)
	if _, err := Identity(dir); err == nil {
		t.Error("a damaged ID is taken, want an error")
	}
}

func TestMemoryOfPeers(t *testing.T) {
	dir := t.TempDir()
	if m, err := Recall(dir); err != nil || len(m.Peers) > 0 {
		t.Errorf("nothing kept yet: %v, %v", m, err)
	}
	at := time.Unix(1700000000, 0).UTC()
	want := Memory{Stamp: at, Peers: []Peer{{ID: "id-2", Name: "b", Addr: netip.MustParseAddrPort("10.0.0.2:7946"), Seen: at}}}
	if err := Remember(dir, want); err != nil {
		t.Fatal(err)
	}
	if got, err := Recall(dir); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for _, text := range []string{"{", `{"peers":[{"id":"../x","addr":"10.0.0.2:1"},{"id":"ok","addr":""}]}`, strings.Repeat("x", 1<<20+1)} {
		filetest.Write(t, filepath.Join(dir, peersFile), text, 0o600)
		if m, _ := Recall(dir); len(m.Peers) > 0 {
			t.Errorf("%.40q: %v, want nobody", text, m.Peers)
		}
	}
}

package memory

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/gossip/meta"
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

func TestStartsGrow(t *testing.T) {
	dir, now := t.TempDir(), time.Unix(1700000000, 0)
	path := filepath.Join(dir, startFile)
	next := func(what string, now time.Time, want uint32) {
		t.Helper()
		if got, err := NextStart(dir, now); got != want || err != nil {
			t.Errorf("%s: got %d, %v, want %d", what, got, err, want)
		}
	}
	next("the first start", now, 1700000000)
	next("another one in this second", now, 1700000001)
	next("after the clock was set back", now.Add(-time.Hour), 1700000002)
	next("an hour later", now.Add(time.Hour), 1700003600)
	for _, text := range []string{"", "x", "-1", "4294967295", "99999999999999999999"} {
		filetest.Write(t, path, text, 0o600)
		next("after a damaged file", now, 1700000000)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("elsewhere", path); err != nil {
		t.Fatal(err)
	}
	if got, err := NextStart(dir, now); got != 1700000000 || err == nil {
		t.Errorf("from a file that cannot be read: got %d, %v, want 1700000000 and an error", got, err)
	}
	if got, err := NextStart(filepath.Join(dir, "missing"), now); got != 1700000000 || err == nil {
		t.Errorf("without a directory: got %d, %v, want 1700000000 and an error", got, err)
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

// FuzzFiles reads any content of the files about members and about what they ran.
func FuzzFiles(f *testing.F) {
	now := time.Unix(1_700_000_000, 0).UTC()
	peers, err := json.Marshal(Memory{Stamp: now, Peers: []Peer{{ID: "id-2", Name: "b", Addr: netip.MustParseAddrPort("[fe80::2%eth0]:7946"), Seen: now, Rules: meta.Rules{HoldOff: time.Minute}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(peers)
	f.Add([]byte(`{"peers":[{"id":"../x","addr":"10.0.0.2:1"},{"id":"ok","name":"\u001b[31m","addr":"10.0.0.2:1"},{"id":"ok","addr":"[fe80::1%\u001b[31m]:1"}]}`))
	f.Add([]byte("\x02ab\x00\x01c"))
	f.Add([]byte("\xff\xff\x3fab"))
	f.Fuzz(func(t *testing.T, content []byte) {
		m, err := decode(content)
		if err != nil && (len(m.Peers) > 0 || !m.Stamp.IsZero()) || len(m.Peers) > meta.MaxMembers {
			t.Errorf("%q: %+v, %v", content, m, err)
		}
		for _, p := range m.Peers {
			if wire.CheckID(p.ID) != nil || !meta.Printable(p.Name+p.Addr.String()) {
				t.Errorf("%q: the member %+v", content, p)
			}
		}
		if b, wrong := json.Marshal(m); err == nil {
			if again, err := decode(b); wrong != nil || err != nil || !reflect.DeepEqual(again, m) {
				t.Errorf("read %+v, written and read again %+v, %v, %v", m, again, wrong, err)
			}
		}
		messages, err := readMessages(bytes.NewReader(content))
		var written []byte
		for _, m := range messages {
			written = append(binary.AppendUvarint(written, uint64(len(m))), m...)
		}
		if !bytes.HasPrefix(content, written) || err == nil && len(written) != len(content) {
			t.Errorf("%q: %q, %v", content, messages, err)
		}
	})
}

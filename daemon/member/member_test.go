package member

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/atomicfile"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/gossip"
	"github.com/cronring/cronring/gossip/holders"
	"github.com/cronring/cronring/gossip/keys"
	"github.com/cronring/cronring/gossip/link"
	"github.com/cronring/cronring/gossip/meta"
)

// loopbackRing makes a member at an address of this host's own.
func loopbackRing(t *testing.T, key []byte, seeds ...string) *Member {
	t.Helper()
	dir := t.TempDir()
	c := config.Ring{Name: "test", Bind: fmt.Sprintf("127.%d.%d.%d:7946", 1+rand.N(250), 1+rand.N(250), 1+rand.N(250)), Seeds: seeds}
	if key != nil {
		c.KeyFile = filepath.Join(dir, "ring.key")
		filetest.Write(t, c.KeyFile, string(keyText([][]byte{key})), 0o600)
	}
	r, err := New(Options{Config: c, State: dir, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Up: func() time.Duration { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// begin has members take part until the test ends.
func begin(t *testing.T, rings ...*Member) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	for _, r := range rings {
		running.Go(func() { r.link.Run(ctx) })
		running.Go(func() { r.members.Run(ctx) })
	}
	for _, r := range rings {
		for n := 0; n < len(rings); {
			if e, ok := (<-r.members.Events()).(holders.Ring); ok && e.Membership != nil {
				n = len(e.Membership.Members)
			}
		}
		running.Go(func() {
			for {
				select {
				case <-r.members.Events():
				case <-ctx.Done():
					return
				}
			}
		})
	}
}

func TestKeysAreRotatedInAllMembers(t *testing.T) {
	t.Parallel()
	key := bytes.Repeat([]byte{7}, keys.Len)
	a := loopbackRing(t, key)
	b := loopbackRing(t, key, a.config.Listen())
	begin(t, a, b)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 2 {
		if _, err := a.rotate(ctx); err != nil {
			t.Fatal(err)
		}
		ours, err := keys.Read(a.config.KeyFile)
		if err != nil || len(ours) != 1 || bytes.Equal(ours[0], key) {
			t.Fatalf("the key file of who asked: got %d keys, %v, want a new one", len(ours), err)
		}
		theirs, err := keys.Read(b.config.KeyFile)
		if err != nil || len(theirs) != 1 || !bytes.Equal(theirs[0], ours[0]) {
			t.Fatalf("the other's key file: got %d keys, %v, want the same one", len(theirs), err)
		}
		key = ours[0]
	}
	b.rotating.Store(true)
	if _, err := a.rotate(ctx); err == nil {
		t.Error("two rotate at once: want a refusal")
	}
}

func TestRingWithoutKeyShowsNothing(t *testing.T) {
	t.Parallel()
	r := loopbackRing(t, nil)
	begin(t, r)
	stranger, err := link.New(link.Options{ID: "stranger", Ring: "test", Keys: linkKeys(nil), Listener: &lateListener{address: "127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	address := r.config.Listen()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for err := errors.New("not asked yet"); err != nil; { // the link may be bound after the members are there
		if ctx.Err() != nil {
			t.Fatal(err) // otherwise the next one would report nothing
		}
		_, err = stranger.Ask(ctx, link.Peer{ID: r.id, Addr: address}, "hello", nil)
	}
	conn, err := stranger.Dial(t.Context(), link.Peer{ID: r.id, Addr: address}, link.HTTP)
	if err == nil {
		defer conn.Close()
		io.WriteString(conn, "GET /v1/runs HTTP/1.1\r\nHost: x\r\n\r\n")
		if _, err = conn.Read(make([]byte, 1)); err == nil {
			t.Error("any account of the host reads the history as root, want it refused")
		}
	}
	q, err := http.NewRequest(http.MethodGet, "http://"+r.id+"/v1/runs", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.transport.RoundTrip(q); err == nil {
		t.Error("a member without a key asks others, want an error")
	}
}

func TestVoterStaysWhoItIs(t *testing.T) {
	t.Parallel()
	view := func(id, name, address string, state gossip.State) gossip.View {
		return gossip.View{ID: id, Meta: meta.Meta{Name: name}, Address: address, State: state}
	}
	for _, c := range []struct {
		what, voter, before, want string
		members                   []gossip.View
	}{
		{"none is there", "db", "", "", nil},
		{"by name", "db", "", "a", []gossip.View{view("a", "db", "x:1", gossip.Alive)}},
		{"by address", "x:1", "", "a", []gossip.View{view("a", "db", "x:1", gossip.Alive)}},
		{"by address without a port", "10.0.0.1", "", "a", []gossip.View{view("a", "db", "10.0.0.1:7946", gossip.Alive)}},
		{"another one takes its name", "db", "b", "b", []gossip.View{view("a", "db", "y:1", gossip.Alive), view("b", "db", "x:1", gossip.Alive)}},
		{"it was replaced", "db", "b", "a", []gossip.View{view("a", "db", "x:1", gossip.Alive), view("b", "db", "x:1", gossip.Gone)}},
		{"two of one name", "db", "", "", []gossip.View{view("a", "db", "y:1", gossip.Alive), view("b", "db", "x:1", gossip.Alive)}},
		{"it has another address", "x:1", "b", "a", []gossip.View{view("a", "da", "x:1", gossip.Alive), view("b", "db", "y:1", gossip.Alive)}},
		{"it is away", "db", "b", "b", []gossip.View{view("b", "db", "x:1", gossip.Gone)}},
		{"by ID", "b", "", "b", []gossip.View{view("a", "b", "y:1", gossip.Alive), view("b", "db", "x:1", gossip.Alive)}},
	} {
		if got := voterID(c.voter, c.before, c.members); got != c.want {
			t.Errorf("%s: got %q, want %q", c.what, got, c.want)
		}
	}
}

func TestWriteAtomicLeavesRootAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, other := filepath.Join(dir, "file"), filepath.Join(dir, "other")
	filetest.Write(t, other, "old", 0o644)
	if err := os.Symlink(other, path); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want a file of root's alone", info.Mode(), err)
	}
	if text, err := os.ReadFile(other); string(text) != "old" {
		t.Errorf("behind the link: got %q, %v, want it as it was", text, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestDrainedHostStaysSoWhenItsNetworkComesLate(t *testing.T) {
	t.Parallel()
	r := loopbackRing(t, bytes.Repeat([]byte{7}, keys.Len))
	begin(t, r)
	if err := r.members.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.members.Drain(t.Context()); err == nil {
		t.Fatal("a host in no ring is drained, want an error")
	}
	if err := atomicfile.Write(r.drained(), nil); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- r.stayDrained(t.Context()) }()
	if err := r.members.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if self, ok := r.find(r.id); !ok || self.Part != meta.Draining {
		t.Errorf("got %+v, want it drained", self)
	}
}

func TestDrainWaitsUntilNothingIsClaimed(t *testing.T) {
	t.Parallel()
	r := loopbackRing(t, bytes.Repeat([]byte{7}, keys.Len))
	begin(t, r)
	ctx, cancel := context.WithCancel(t.Context())
	unmoved := engine.New(engine.State{}).View() // it never receives the end of the drain
	if _, err := r.drain(ctx, func() *view.View { cancel(); return unmoved }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want no answer before the engine claims nothing", err)
	}
	if self, ok := r.find(r.id); !ok || self.Part != meta.Draining {
		t.Errorf("got %+v, want it drained all the same", self)
	}
}

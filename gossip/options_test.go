package gossip

import (
	"context"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/memberlist"

	"github.com/cronring/cronring/gossip/holders"
	"github.com/cronring/cronring/gossip/link"
)

// mute is a link without peers.
type mute struct{}

func (mute) Ask(context.Context, link.Peer, string, []byte) ([]byte, error) {
	return nil, net.ErrClosed
}
func (mute) Handle(string, link.Handler) {}
func (mute) Rekey([][]byte) error        { return nil }

// idle returns a Ring that does not run.
func idle(t testing.TB) *Ring {
	t.Helper()
	r, err := New(Options{
		Ring: "test", ID: "id-1", Name: "host", Weight: 1, Keys: [][]byte{key(1)}, Dir: t.TempDir(),
		Link: mute{}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// over returns a context that is over.
func over() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestOptionsRefused(t *testing.T) {
	good := Options{Ring: "r", ID: "a", Name: "h", Weight: 1, Link: mute{}}
	if _, err := New(good); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(*Options){
		"no name":         func(o *Options) { o.Ring = "" },
		"an ID":           func(o *Options) { o.ID = "A B" },
		"a short key":     func(o *Options) { o.Keys = [][]byte{{1}} },
		"no weight":       func(o *Options) { o.Weight = 0 },
		"a host's name":   func(o *Options) { o.Name = "a\nb" },
		"a long label":    func(o *Options) { o.Labels = map[string]string{"a": strings.Repeat("b", 64)} },
		"a long version":  func(o *Options) { o.Version = strings.Repeat("1", 25) },
		"a ring's escape": func(o *Options) { o.Ring = "\x1b[31m" },
	} {
		o := good
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

func TestKeyringInstalled(t *testing.T) {
	var ring memberlist.Keyring
	for _, keys := range [][][]byte{
		{key(1)}, {key(1), key(2)}, {key(2), key(1)}, {key(2)}, {key(2), key(3), key(4)}, {key(3)}, {key(5), key(3)},
	} {
		if err := installKeys(&ring, keys); err != nil {
			t.Fatal(err)
		}
		if got := ring.GetKeys(); len(got) != len(keys) || !slices.Equal(got[0], keys[0]) {
			t.Errorf("got %d keys, the first %v, want %d, the first %v", len(got), got[0][0], len(keys), keys[0][0])
		}
	}
}

// freePort listens on a TCP port whose UDP port no other process has.
func freePort(t *testing.T) net.Listener {
	t.Helper()
	for {
		streams, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if packets, err := net.ListenPacket("udp", streams.Addr().String()); err == nil {
			packets.Close()
			return streams
		}
		streams.Close()
	}
}

// startOverSockets starts a member over real sockets, and waits until it has an address. It runs until
// the test is over.
func startOverSockets(t *testing.T, board *switchboard, ring, id string, key []byte, seeds ...string) *Ring {
	t.Helper()
	streams := freePort(t)
	r, err := New(Options{
		Ring: ring, ID: id, Name: "host-" + id, Weight: 1, Keys: [][]byte{key}, Dir: t.TempDir(), Bind: streams.Addr().String(),
		Streams: func() (net.Listener, error) { return streams, nil },
		Seeds:   seeds, Link: jack{board, id, streams.Addr().String()}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(done)
		r.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	<-r.Events()
	return r
}

// TestRingOverSockets is two members over real sockets.
func TestRingOverSockets(t *testing.T) {
	t.Parallel()
	board := &switchboard{handlers: make(map[string]map[string]link.Handler)}
	a := startOverSockets(t, board, "test", "a", key(1))
	b := startOverSockets(t, board, "test", "b", key(1), a.Snapshot().Members[0].Address)
	for _, r := range []*Ring{a, b} {
		for len(r.Snapshot().Members) < 2 {
			<-r.Events()
		}
	}
	go func() {
		for {
			if _, ok := (<-b.Events()).(holders.Departing); ok {
				b.Take(holders.Unstarted{})
				return
			}
		}
	}()
	if err := b.Leave(context.Background()); err != nil {
		t.Error(err)
	}
	for a.Snapshot().Members[1].State != Left {
		<-a.Events()
	}
}

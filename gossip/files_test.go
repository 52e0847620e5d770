package gossip

import (
	"context"
	"encoding/base64"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/cronring/cronring/gossip/link"
	"github.com/cronring/cronring/gossip/register"
	"github.com/cronring/cronring/gossip/wire"
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
	if err := os.WriteFile(filepath.Join(dir, idFile), []byte("NOT AN ID\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Identity(dir); err == nil {
		t.Error("a damaged ID is taken, want an error")
	}
}

func TestMemoryOfPeers(t *testing.T) {
	dir := t.TempDir()
	if m, err := recall(dir); err != nil || len(m.Peers) > 0 {
		t.Errorf("nothing kept yet: %v, %v", m, err)
	}
	at := time.Unix(1700000000, 0).UTC()
	want := memory{Stamp: at, Peers: []peer{{ID: "id-2", Name: "b", Addr: netip.MustParseAddrPort("10.0.0.2:7946"), Seen: at}}}
	if err := remember(dir, want); err != nil {
		t.Fatal(err)
	}
	if got, err := recall(dir); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for _, text := range []string{"{", `{"peers":[{"id":"../x","addr":"10.0.0.2:1"},{"id":"ok","addr":""}]}`, strings.Repeat("x", maxFile+1)} {
		if err := os.WriteFile(filepath.Join(dir, peersFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if m, _ := recall(dir); len(m.Peers) > 0 {
			t.Errorf("%.40q: %v, want nobody", text, m.Peers)
		}
	}
}

func TestReadKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	line := func(n byte) string { return base64.StdEncoding.EncodeToString(key(n)) + "\n" }
	write := func(text string, mode os.FileMode) {
		t.Helper()
		os.Remove(path)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("# old and new\n"+line(1)+"\n"+line(2), 0o600)
	keys, err := ReadKeys(path)
	if err != nil || !reflect.DeepEqual(keys, [][]byte{key(1), key(2)}) {
		t.Errorf("got %d keys, %v, want the two", len(keys), err)
	}
	for _, c := range []struct {
		text  string
		mode  os.FileMode
		words string
	}{
		{line(1), 0o640, "other users can read"},
		{"", 0o600, "0 keys"},
		{"abc\n", 0o600, "line 1"},
		{line(1) + line(1), 0o600, "duplicate"},
	} {
		write(c.text, c.mode)
		if _, err := ReadKeys(path); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%q, mode %o: got %v, want %q", c.text, c.mode, err, c.words)
		}
	}
	other := path + ".link"
	if err := os.Symlink(path, other); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKeys(other); err == nil {
		t.Error("a symbolic link is followed, want an error")
	}
}

func TestKeyringInstalled(t *testing.T) {
	var ring memberlist.Keyring
	for _, keys := range [][][]byte{
		{key(1)}, {key(1), key(2)}, {key(2), key(1)}, {key(2)}, {key(2), key(3), key(4)}, {key(3)}, {key(5), key(3)},
	} {
		if err := install(&ring, keys); err != nil {
			t.Fatal(err)
		}
		if got := ring.GetKeys(); len(got) != len(keys) || !slices.Equal(got[0], keys[0]) {
			t.Errorf("got %d keys, the first %v, want %d, the first %v", len(got), got[0][0], len(keys), keys[0][0])
		}
	}
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
		"a label's name":  func(o *Options) { o.Labels = map[string]string{"": "b"} },
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

func TestScribe(t *testing.T) {
	var b lockedBuffer
	l := newLogWriter(slog.New(slog.NewTextHandler(&b, nil)))
	l.Print("[DEBUG] memberlist: chatter")
	l.Print("[ERR] memberlist: bad \x1b[31m thing\nfrom=evil")
	for range 1000 {
		l.Print("[WARN] memberlist: flood")
	}
	got := b.String()
	if strings.Contains(got, "chatter") || strings.Contains(got, "\x1b") || !strings.Contains(got, "bad ?[31m thing?from=evil") {
		t.Errorf("it says %s", got)
	}
	if n := strings.Count(got, "\n"); n > lineBurst+1 {
		t.Errorf("%d lines, want about %d", n, lineBurst)
	}
}

// openTransport makes a transport on a free port of the loopback.
func openTransport(t *testing.T) *netTransport {
	t.Helper()
	streams, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, err := newNetTransport(streams.Addr().String(), "", streams)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCarrier sends over real sockets of the loopback.
func TestCarrier(t *testing.T) {
	t.Parallel()
	open := func() *netTransport {
		c := openTransport(t)
		t.Cleanup(func() { c.Shutdown() })
		return c
	}
	a, b := open(), open()
	if _, err := a.WriteTo([]byte("hello"), b.advertise.String()); err != nil {
		t.Fatal(err)
	}
	if p := <-b.PacketCh(); string(p.Buf) != "hello" {
		t.Errorf("a packet of %q, want hello", p.Buf)
	}
	ours, err := a.DialTimeout(b.advertise.String(), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	theirs := <-b.StreamCh()
	read := make(chan error, 1)
	go func() {
		_, err := theirs.Read(make([]byte, 1))
		read <- err
	}()
	b.Shutdown()
	if err := <-read; err == nil {
		t.Error("a stream outlives its netTransport")
	}
	ours.Close()
	if _, err := a.DialTimeout(b.advertise.String(), 5*time.Second); err == nil {
		t.Error("a netTransport that is shut down takes a stream")
	}
}

func TestCarrierBoundsStreams(t *testing.T) {
	t.Parallel()
	c := openTransport(t)
	defer c.Shutdown()
	var held []net.Conn
	for range mostStreamsHost {
		conn, err := net.Dial("tcp", c.advertise.String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		held = append(held, <-c.StreamCh())
	}
	more, err := net.Dial("tcp", c.advertise.String())
	if err != nil {
		t.Fatal(err)
	}
	defer more.Close()
	if _, err := more.Read(make([]byte, 1)); err == nil {
		t.Error("one stream more of a host is kept, want it closed")
	}
	held[0].Close()
	again, err := net.Dial("tcp", c.advertise.String())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	<-c.StreamCh()
}

func TestAdvertised(t *testing.T) {
	any := netip.MustParseAddrPort("0.0.0.0:7946")
	for _, c := range []struct{ bound, want, got string }{
		{"10.0.0.1:7946", "", "10.0.0.1:7946"},
		{"0.0.0.0:7946", "192.0.2.7", "192.0.2.7:7946"},
		{"0.0.0.0:7946", "192.0.2.7:99", "192.0.2.7:99"},
		{"[::1]:7946", "", "[::1]:7946"},
	} {
		got, err := advertised(netip.MustParseAddrPort(c.bound), c.want)
		if err != nil || got.String() != c.got {
			t.Errorf("%s, advertise=%q: got %s, %v, want %s", c.bound, c.want, got, err, c.got)
		}
	}
	if _, err := advertised(any, "a name"); err == nil {
		t.Error("a name is advertised, want an error")
	}
	nets := func(all ...string) (addrs []net.Addr) {
		for _, a := range all {
			ip, n, _ := net.ParseCIDR(a)
			addrs = append(addrs, &net.IPNet{IP: ip, Mask: n.Mask})
		}
		return addrs
	}
	got, ok := choose(nets("127.0.0.1/8", "fe80::1/64", "198.51.100.1/24", "fd00::1/64", "10.1.1.1/8"))
	if !ok || got.String() != "10.1.1.1" {
		t.Errorf("chose %s, %v, want 10.1.1.1", got, ok)
	}
	if _, ok := choose(nets("127.0.0.1/8")); ok {
		t.Error("the loopback is chosen for an address to advertise")
	}
}

// TestRingOverSockets is two members over real sockets.
func TestRingOverSockets(t *testing.T) {
	t.Parallel()
	board := &switchboard{handlers: make(map[string]map[string]link.Handler)}
	start := func(id string, seeds ...string) *Ring {
		streams, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		r, err := New(Options{
			Ring: "test", ID: id, Name: id, Weight: 1, Keys: [][]byte{key(1)}, Dir: t.TempDir(), Bind: streams.Addr().String(),
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
		return r
	}
	a := start("a")
	<-a.Events()
	b := start("b", a.Snapshot().Members[0].Address)
	for _, r := range []*Ring{a, b} {
		for len(r.Snapshot().Members) < 2 {
			<-r.Events()
		}
	}
	go func() {
		for {
			if _, ok := (<-b.Events()).(register.Departing); ok {
				b.Take(register.Unstarted{})
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

// TestCarrierBoundsWhatItReads: memberlist buffers a stream of up to 20 MB before it checks
// whether the sender has a key.
func TestCarrierBoundsWhatItReads(t *testing.T) {
	t.Parallel()
	c := openTransport(t)
	defer c.Shutdown()
	remote := netip.MustParseAddr("10.0.0.9")
	open := func() (s *stream, far net.Conn) {
		t.Helper()
		near, far := net.Pipe()
		t.Cleanup(func() { far.Close() })
		kept, err := c.keep(near, remote)
		if err != nil {
			t.Fatal(err)
		}
		return kept.(*stream), far
	}
	one, far := open()
	go far.Write(make([]byte, mostRead+1))
	if n, err := io.Copy(io.Discard, one); n > mostRead || err != errTooLong {
		t.Errorf("one stream: read %d bytes, %v, want at most %d", n, err, mostRead)
	}
	one.Close()
	var held []*stream
	for range mostReading / (mostRead - usualRead) {
		s, _ := open()
		if !c.admit(s, mostRead) {
			t.Fatalf("stream %d of %d bytes is refused", len(held)+1, mostRead)
		}
		held = append(held, s)
	}
	large, _ := open()
	if c.admit(large, mostRead) {
		t.Errorf("%d large streams: one more is read, want it refused", len(held))
	}
	large.Close()
	if usual, _ := open(); !c.admit(usual, usualRead) {
		t.Error("beside large streams a usual one is refused")
	}
	for _, s := range held {
		s.Close()
	}
	if c.read != 0 {
		t.Errorf("all closed: %d bytes are counted still", c.read)
	}
}

func TestReadKeysLooksAtTheDirectory(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "keys")
	if err := os.WriteFile(path, []byte(base64.StdEncoding.EncodeToString(key(1))+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, ok := range map[os.FileMode]bool{0o755: true, 0o777: false, 0o775: false, 0o777 | os.ModeSticky: true} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadKeys(path); (err == nil) != ok {
			t.Errorf("in a directory of mode %v: got %v, want it read: %v", mode, err, ok)
		}
	}
}

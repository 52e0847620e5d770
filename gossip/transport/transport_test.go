package transport

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"
)

// openTransport makes a transport on a free port of the loopback.
func openTransport(t *testing.T) *Transport {
	t.Helper()
	for {
		streams, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c, err := New(streams.Addr().String(), "", streams, func(string, io.Reader) {})
		if errors.Is(err, syscall.EADDRINUSE) {
			continue // another process has the UDP port
		}
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
}

// TestCarrier sends over real sockets of the loopback.
func TestCarrier(t *testing.T) {
	t.Parallel()
	open := func() *Transport {
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
		t.Error("a stream outlives its transport")
	}
	ours.Close()
	if _, err := a.DialTimeout(b.advertise.String(), 5*time.Second); err == nil {
		t.Error("a transport that is shut down takes a stream")
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

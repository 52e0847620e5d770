// Package transport owns the UDP and TCP sockets through which memberlist sends and receives, with
// limits for what strangers can make this member keep.
package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// Limits of what strangers can make this member keep open.
const (
	mostStreams     = 256
	mostStreamsHost = 16
	maxPacket       = 64 << 10
	usualRead       = 256 << 10 // of a stream; longer streams share mostReading
	mostRead        = 4 << 20   // of a stream: the state of the largest ring
	mostReading     = 32 << 20
	receiveBuffer   = 2 << 20
	labelRead       = 4 << 10 // memberlist reads at most so much of a stream to find its label
)

// Transport is memberlist's transport: UDP, and the streams of a TCP listener on the same port,
// which other connections of the ring share. Unlike memberlist's own transport it copies each
// packet, so that a flood of small packets needs little memory. It limits the streams of
// strangers and what is read from them, because memberlist keeps a stream in memory until it can
// check the key. Shutdown closes everything.
type Transport struct {
	closing   func(label string, rest io.Reader)
	advertise netip.AddrPort
	udp       *net.UDPConn
	tcp       net.Listener
	packets   chan *memberlist.Packet
	streams   chan net.Conn
	ctx       context.Context
	stop      context.CancelFunc
	work      sync.WaitGroup

	mu      sync.Mutex
	conns   map[*stream]bool
	perHost map[netip.Addr]int
	read    int // of all streams, beyond what is usual
}

// stream is an open connection of the transport.
type stream struct {
	net.Conn
	transport *Transport
	remote    netip.Addr // the address of the peer; invalid: this member connected
	read      int        // bytes; the transport's mutex guards it
	start     []byte     // the first bytes of an accepted stream
}

// errTooLong is the error for a stream that is longer than any stream of a member.
var errTooLong = errors.New("it sends too much")

// New listens at bind over UDP, and accepts streams from a listener, which it closes after
// an error or Shutdown. Before an accepted stream is closed, it calls closing with its label and
// what follows the label. If memberlist rejected the label, that is the whole message.
func New(bind, advertise string, streams net.Listener, closing func(label string, rest io.Reader)) (_ *Transport, err error) {
	defer func() {
		if err != nil {
			streams.Close()
		}
	}()
	at, err := net.ResolveUDPAddr("udp", bind)
	if err != nil {
		return nil, fmt.Errorf("bind to %s: %w", bind, err)
	}
	c := &Transport{
		closing: closing, tcp: streams, packets: make(chan *memberlist.Packet), streams: make(chan net.Conn),
		conns: make(map[*stream]bool), perHost: make(map[netip.Addr]int),
	}
	if c.udp, err = net.ListenUDP("udp", at); err != nil {
		return nil, err
	}
	if c.advertise, err = advertised(c.udp.LocalAddr().(*net.UDPAddr).AddrPort(), advertise); err != nil {
		c.udp.Close()
		return nil, err
	}
	_ = c.udp.SetReadBuffer(receiveBuffer) // with a lower limit of the system packets are lost sooner
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.work.Go(c.accept)
	c.work.Go(c.receive)
	return c, nil
}

// advertised returns the address of a member that listens at bound.
func advertised(bound netip.AddrPort, want string) (netip.AddrPort, error) {
	if want != "" {
		addr, err := netip.ParseAddrPort(want)
		if err != nil {
			if ip, ipErr := netip.ParseAddr(want); ipErr == nil {
				return netip.AddrPortFrom(ip.Unmap(), bound.Port()), nil
			}
			return addr, fmt.Errorf("advertise %s: %w", want, err)
		}
		return netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port()), nil
	}
	if !bound.Addr().IsUnspecified() {
		return netip.AddrPortFrom(bound.Addr().Unmap(), bound.Port()), nil
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return bound, fmt.Errorf("find an address to advertise: %w", err)
	}
	if ip, ok := choose(addrs); ok {
		return netip.AddrPortFrom(ip, bound.Port()), nil
	}
	return bound, errors.New("find an address to advertise: no interface has one; set advertise")
}

// choose prefers private addresses and IPv4, which hosts of a ring usually have.
func choose(addrs []net.Addr) (netip.Addr, bool) {
	var usable []netip.Addr
	for _, a := range addrs {
		n, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		ip, ok := netip.AddrFromSlice(n.IP)
		if ip = ip.Unmap(); ok && !ip.IsLoopback() && !ip.IsLinkLocalUnicast() {
			usable = append(usable, ip)
		}
	}
	rank := func(ip netip.Addr) int {
		r := 0
		if !ip.IsPrivate() {
			r += 2
		}
		if !ip.Is4() {
			r++
		}
		return r
	}
	if len(usable) == 0 {
		return netip.Addr{}, false
	}
	return slices.MinFunc(usable, func(a, b netip.Addr) int { return rank(a) - rank(b) }), true
}

func (c *Transport) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	return c.advertise.Addr().AsSlice(), int(c.advertise.Port()), nil
}

func (c *Transport) PacketCh() <-chan *memberlist.Packet { return c.packets }

func (c *Transport) StreamCh() <-chan net.Conn { return c.streams }

func (c *Transport) WriteTo(b []byte, addr string) (time.Time, error) {
	to, err := netip.ParseAddrPort(addr)
	if err != nil {
		return time.Time{}, err
	}
	if c.udp.LocalAddr().(*net.UDPAddr).IP.To4() == nil && to.Addr().Is4() {
		to = netip.AddrPortFrom(netip.AddrFrom16(to.Addr().As16()), to.Port())
	}
	_, err = c.udp.WriteToUDPAddrPort(b, to)
	return time.Now(), err
}

func (c *Transport) WriteToAddress(b []byte, a memberlist.Address) (time.Time, error) {
	return c.WriteTo(b, a.Addr)
}

func (c *Transport) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(c.ctx, timeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return c.keep(conn, netip.Addr{})
}

func (c *Transport) DialAddressTimeout(a memberlist.Address, timeout time.Duration) (net.Conn, error) {
	return c.DialTimeout(a.Addr, timeout)
}

// keep adds a connection to the counted ones, or closes it.
func (c *Transport) keep(conn net.Conn, remote netip.Addr) (net.Conn, error) {
	s := &stream{Conn: conn, transport: c, remote: remote}
	c.mu.Lock()
	defer c.mu.Unlock()
	full := remote.IsValid() && (len(c.conns) >= mostStreams || c.perHost[remote] >= mostStreamsHost)
	if c.ctx.Err() != nil || full {
		conn.Close()
		return nil, net.ErrClosed
	}
	c.conns[s] = true
	if remote.IsValid() {
		c.perHost[remote]++
	}
	return s, nil
}

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if n > 0 && !s.transport.admit(s, n) {
		return 0, errTooLong
	}
	if s.remote.IsValid() {
		s.start = append(s.start, p[:min(n, labelRead-len(s.start))]...)
	}
	return n, err
}

// admit counts bytes of a stream, and reports whether they are within the limits.
func (c *Transport) admit(s *stream, n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.conns[s] {
		return false
	}
	c.read -= s.excess()
	s.read += n
	c.read += s.excess()
	return s.read <= mostRead && c.read <= mostReading
}

// excess returns how many bytes were read beyond usualRead.
func (s *stream) excess() int { return max(s.read-usualRead, 0) }

func (s *stream) Close() error {
	c := s.transport
	if rest, label, err := memberlist.RemoveLabelHeaderFromPacket(s.start); err == nil && label != "" {
		c.closing(label, io.MultiReader(bytes.NewReader(rest), s))
	}
	c.mu.Lock()
	if c.conns[s] {
		delete(c.conns, s)
		c.read -= s.excess()
		if c.perHost[s.remote]--; c.perHost[s.remote] <= 0 {
			delete(c.perHost, s.remote)
		}
	}
	c.mu.Unlock()
	return s.Conn.Close()
}

func (c *Transport) accept() {
	for {
		conn, err := c.tcp.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) && c.pause() {
				continue
			}
			return
		}
		remote := conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()
		s, err := c.keep(conn, remote)
		if err != nil {
			continue
		}
		select {
		case c.streams <- s:
		case <-c.ctx.Done():
			s.Close()
			return
		}
	}
}

func (c *Transport) receive() {
	buf := make([]byte, maxPacket)
	for {
		n, from, err := c.udp.ReadFromUDPAddrPort(buf)
		if err != nil {
			if c.pause() {
				continue
			}
			return
		}
		if n == 0 {
			continue
		}
		p := &memberlist.Packet{Buf: slices.Clone(buf[:n]), From: net.UDPAddrFromAddrPort(from), Timestamp: time.Now()}
		select {
		case c.packets <- p:
		case <-c.ctx.Done():
			return
		}
	}
}

// pause waits after an error, such as a lack of memory, and reports whether to continue.
func (c *Transport) pause() bool {
	select {
	case <-c.ctx.Done():
		return false
	case <-time.After(50 * time.Millisecond):
		return true
	}
}

// Shutdown closes all connections, and waits for the transport's goroutines.
func (c *Transport) Shutdown() error {
	c.stop()
	c.tcp.Close()
	c.udp.Close()
	c.mu.Lock()
	for s := range c.conns {
		s.Conn.Close()
	}
	c.mu.Unlock()
	c.work.Wait()
	return nil
}

var _ memberlist.NodeAwareTransport = (*Transport)(nil)

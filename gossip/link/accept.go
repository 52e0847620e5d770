package link

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// accept accepts connections until the listener is closed.
func (l *Link) accept() error {
	for wait := time.Duration(0); ; {
		raw, err := l.listener.Accept()
		if err == nil {
			wait = 0
			l.begin(raw)
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return fmt.Errorf("accept connection: %w", err)
		}
		// The likely cause is a lack of file descriptors, until others are closed.
		wait = min(max(2*wait, 10*time.Millisecond), time.Second)
		l.warn("cannot accept connections of the ring", "error", err)
		select {
		case <-time.After(wait):
		case <-l.ctx.Done():
			return net.ErrClosed
		}
	}
}

// begin starts the handshake with a stranger, which occupies one handshake slot for a few seconds,
// and no other resource of this member.
func (l *Link) begin(raw net.Conn) {
	if l.enter() != nil {
		raw.Close()
		return
	}
	if t, ok := raw.(*net.TCPConn); ok {
		t.SetKeepAliveConfig(keepAlive)
	}
	h := l.handshakes.add(raw)
	go func() {
		defer l.work.Done()
		c, name, err := l.serverHandshake(raw)
		l.handshakes.remove(h)
		if err != nil {
			raw.Close()
			l.reject(raw, err)
			return
		}
		if s := l.service(name); s != nil {
			s.deliver(c)
		} else {
			c.Close()
		}
	}()
}

// tlsHandshake is the first byte of a TLS connection.
const tlsHandshake = 22

// serverHandshake returns an accepted connection and its service. A connection without TLS
// is returned as it is, if the service Gossip has a listener.
func (l *Link) serverHandshake(raw net.Conn) (net.Conn, string, error) {
	if err := raw.SetDeadline(time.Now().Add(handshakeTime)); err != nil {
		return nil, "", err
	}
	first := make([]byte, 1)
	if _, err := io.ReadFull(raw, first); err != nil {
		return nil, "", err
	}
	begun := &begunConn{Conn: raw, first: first}
	if first[0] != tlsHandshake {
		if l.service(Gossip) == nil {
			return nil, "", errors.New("it is not TLS, and this host takes no gossip: it is about to join the ring, or has left it")
		}
		return begun, Gossip, raw.SetDeadline(time.Time{})
	}
	var shown certificate
	limited := &limitedConn{Conn: begun, left: handshakeBytes}
	t := tls.Server(limited, l.currentIdentity().server(l.offered(), &shown))
	if err := t.HandshakeContext(l.ctx); err != nil {
		return nil, "", err
	}
	limited.lift()
	if err := raw.SetDeadline(time.Time{}); err != nil {
		return nil, "", err
	}
	c := &Conn{Conn: t, service: t.ConnectionState().NegotiatedProtocol, peer: shown.id, authority: shown.authority, raw: raw, link: l}
	return c, c.service, l.add(c, true)
}

// reject logs a rejected connection now and then.
func (l *Link) reject(raw net.Conn, err error) {
	if l.ctx.Err() == nil {
		l.warn("rejected a connection to the ring", "remote", raw.RemoteAddr().String(), "error", err)
	}
}

// warn logs an event that strangers can cause as often as they like, at most once a minute.
func (l *Link) warn(message string, args ...any) {
	if suppressed, ok := l.logLimit.next(time.Now()); ok {
		l.log.Warn(message, append(args, "suppressed", suppressed)...)
	}
}

// handshakes are the unfinished handshakes with strangers. If there are too many, the oldest
// is closed: members need milliseconds, so a peer that needs seconds is probably no member.
type handshakes struct {
	mu     sync.Mutex
	closed bool
	list   []*handshake // oldest first
}

type handshake struct {
	conn net.Conn
	host string // "" if the network has no IP addresses
}

func (h *handshakes) add(c net.Conn) *handshake {
	n := &handshake{conn: c}
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		n.host = a.IP.String()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		c.Close()
		return n
	}
	if h.ofHost(n.host) >= maxHandshakesHost {
		h.drop(slices.IndexFunc(h.list, func(o *handshake) bool { return o.host == n.host }))
	} else if len(h.list) >= maxHandshakes {
		h.drop(0)
	}
	h.list = append(h.list, n)
	return n
}

func (h *handshakes) ofHost(host string) int {
	n := 0
	for _, o := range h.list {
		if host != "" && o.host == host {
			n++
		}
	}
	return n
}

func (h *handshakes) drop(at int) {
	h.list[at].conn.Close()
	h.list = slices.Delete(h.list, at, at+1)
}

func (h *handshakes) remove(n *handshake) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if at := slices.Index(h.list, n); at >= 0 {
		h.list = slices.Delete(h.list, at, at+1)
	}
}

func (h *handshakes) closeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, n := range h.list {
		n.conn.Close()
	}
	h.list = nil
}

// begunConn is a connection whose first byte was read already.
type begunConn struct {
	net.Conn
	first []byte
}

func (b *begunConn) Read(p []byte) (int, error) {
	if len(b.first) == 0 || len(p) == 0 {
		return b.Conn.Read(p)
	}
	n := copy(p, b.first)
	b.first = b.first[n:]
	return n, nil
}

// limitedConn is a connection with a limit of bytes to read, until the limit is lifted: the
// TLS package alone would read a quarter of a megabyte of certificates.
type limitedConn struct {
	net.Conn
	left   int64
	lifted atomic.Bool
}

var errTooLong = errors.New("it sends too much during the handshake")

func (m *limitedConn) Read(p []byte) (int, error) {
	if m.lifted.Load() {
		return m.Conn.Read(p)
	}
	if m.left <= 0 {
		return 0, errTooLong
	}
	n, err := m.Conn.Read(p[:min(int64(len(p)), m.left)])
	m.left -= int64(n)
	return n, err
}

func (m *limitedConn) lift() { m.lifted.Store(true) }

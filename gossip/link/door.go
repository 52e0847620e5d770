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

// accept takes connections in until the listener is closed.
func (l *Link) accept() error {
	for wait := time.Duration(0); ; {
		raw, err := l.listener.Accept()
		if err == nil {
			wait = 0
			l.letIn(raw)
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return fmt.Errorf("accept connection: %w", err)
		}
		// Most likely there are no descriptors: others give some back in time.
		wait = min(max(2*wait, 10*time.Millisecond), time.Second)
		l.tell("cannot accept connections of the ring", "error", err)
		select {
		case <-time.After(wait):
		case <-l.ctx.Done():
			return net.ErrClosed
		}
	}
}

// letIn begins the handshake with a stranger, who has no part of this member
// but a place among the knocks for some seconds.
func (l *Link) letIn(raw net.Conn) {
	if l.enter() != nil {
		raw.Close()
		return
	}
	if t, ok := raw.(*net.TCPConn); ok {
		t.SetKeepAliveConfig(keepAlive)
	}
	k := l.knock.add(raw)
	go func() {
		defer l.work.Done()
		c, err := l.welcome(raw)
		l.knock.remove(k)
		if err != nil {
			raw.Close()
			l.refuse(raw, err)
			return
		}
		if member, ok := c.(*Conn); ok {
			l.host(member)
		} else if s := l.service(Gossip); s != nil {
			s.take(c)
		} else {
			c.Close()
		}
	}()
}

// tlsHandshake is the first byte of a TLS connection.
const tlsHandshake = 22

// welcome makes a *Conn of an accepted connection. One without TLS it returns as it
// is, if something listens for those.
func (l *Link) welcome(raw net.Conn) (net.Conn, error) {
	if err := raw.SetDeadline(time.Now().Add(handshakeTime)); err != nil {
		return nil, err
	}
	first := make([]byte, 1)
	if _, err := io.ReadFull(raw, first); err != nil {
		return nil, err
	}
	begun := &begun{Conn: raw, first: first}
	if first[0] != tlsHandshake {
		if l.service(Gossip) == nil {
			return nil, errors.New("it does not speak TLS")
		}
		return begun, raw.SetDeadline(time.Time{})
	}
	var who peerage
	metered := &metered{Conn: begun, left: handshakeBytes}
	t := tls.Server(metered, l.identityNow().server(l.offered(), &who))
	if err := t.HandshakeContext(l.ctx); err != nil {
		return nil, err
	}
	metered.free()
	if err := raw.SetDeadline(time.Time{}); err != nil {
		return nil, err
	}
	c := &Conn{Conn: t, peer: who.id, authority: who.authority, raw: raw, link: l, guest: true}
	return c, l.remember(c)
}

// host does what a member connected for.
func (l *Link) host(c *Conn) {
	name := c.ConnectionState().NegotiatedProtocol
	if name == asking {
		l.answer(c)
		return
	}
	s := l.service(name)
	if s == nil {
		c.cut()
		return
	}
	s.take(c)
}

// service returns who listens for a service, or nil.
func (l *Link) service(name string) *service {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.services[name]
}

func (l *Link) refuse(raw net.Conn, err error) {
	l.mu.Lock()
	over := l.closed
	l.stats.Refused++
	l.mu.Unlock()
	if !over {
		l.tell("refused a connection to the ring", "remote", raw.RemoteAddr().String(), "error", err)
	}
}

// tell logs what strangers can make happen as often as they like: once in a
// while.
func (l *Link) tell(what string, args ...any) {
	l.mu.Lock()
	now := time.Now()
	quiet := !l.told.IsZero() && now.Sub(l.told) < refusalsEvery
	if !quiet {
		l.told = now
	}
	refused := l.stats.Refused
	l.mu.Unlock()
	if !quiet {
		l.log.Warn(what, append(args, "refused_so_far", refused)...)
	}
}

// knocks is the handshakes under way. Where there are too many the oldest gives
// way: a member needs milliseconds, and who needs seconds is none.
type knocks struct {
	mu     sync.Mutex
	closed bool
	list   []*knock // oldest first
}

type knock struct {
	conn net.Conn
	host string // "" where addresses are not of TCP
}

func (k *knocks) add(c net.Conn) *knock {
	n := &knock{conn: c}
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		n.host = a.IP.String()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		c.Close()
		return n
	}
	if k.ofHost(n.host) >= mostKnocksHost {
		k.drop(slices.IndexFunc(k.list, func(o *knock) bool { return o.host == n.host }))
	} else if len(k.list) >= mostKnocks {
		k.drop(0)
	}
	k.list = append(k.list, n)
	return n
}

func (k *knocks) ofHost(host string) int {
	n := 0
	for _, o := range k.list {
		if host != "" && o.host == host {
			n++
		}
	}
	return n
}

func (k *knocks) drop(at int) {
	k.list[at].conn.Close()
	k.list = slices.Delete(k.list, at, at+1)
}

func (k *knocks) remove(n *knock) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if at := slices.Index(k.list, n); at >= 0 {
		k.list = slices.Delete(k.list, at, at+1)
	}
}

func (k *knocks) dropAll() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	for _, n := range k.list {
		n.conn.Close()
	}
	k.list = nil
}

// begun is a connection of which the first byte was read already.
type begun struct {
	net.Conn
	first []byte
}

func (b *begun) Read(p []byte) (int, error) {
	if len(b.first) == 0 || len(p) == 0 {
		return b.Conn.Read(p)
	}
	n := copy(p, b.first)
	b.first = b.first[n:]
	return n, nil
}

// metered is a connection of which no more than so much is read before it is
// freed: TLS would take in a quarter of a megabyte of certificates.
type metered struct {
	net.Conn
	left  int64
	freed atomic.Bool
}

var errTalkative = errors.New("it says too much before it is known")

func (m *metered) Read(p []byte) (int, error) {
	if m.freed.Load() {
		return m.Conn.Read(p)
	}
	if m.left <= 0 {
		return 0, errTalkative
	}
	n, err := m.Conn.Read(p[:min(int64(len(p)), m.left)])
	m.left -= int64(n)
	return n, err
}

func (m *metered) free() { m.freed.Store(true) }

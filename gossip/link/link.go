// Package link owns the connections between the members of a ring: TCP, encrypted and
// mutually authenticated by the ring's key alone.
//
// Each key of the ring yields an authority (Ed25519, by HKDF over the key and the ring's
// name). Each member makes itself a certificate, which lasts as long as its process, and
// signs it with the authority of the primary key. A peer with a certificate of any of the
// keys is a member. All others are rejected. They only find out that this port uses TLS,
// because the member ID in a certificate is encrypted. Certificates have no dates, because a
// member's clock may be wrong. They become invalid when their key is removed from the ring.
//
// Each connection is for one service, named by ALPN: requests (Ask), which are HTTP/2, or
// streams for another package (Listen, Dial). A connection whose first byte does not begin a
// TLS handshake belongs to the service Gossip, so that a member needs only one TCP port.
package link

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/cronring/cronring/gossip/wire"
)

// The services.
const (
	Raft    = "cronring-raft/2" // compressed streams of the ledger
	OldRaft = "cronring-raft/1" // likewise, not compressed: of older versions
	HTTP    = "cronring-http/1" // requests to the daemons of other members

	// Gossip is the service of connections without TLS. memberlist encrypts them.
	Gossip = "gossip"

	asking = "cronring-ask/2" // Ask and Handle
)

// Limits of what others can make this member do.
const (
	handshakeTime     = 5 * time.Second  // for a whole handshake, on either side
	handshakeBytes    = 32 << 10         // that a stranger can make this member read
	maxHandshakes     = 128              // at the same time
	maxHandshakesHost = 32               // of them from one address
	maxConns          = 2048             // accepted from all members
	maxConnsPeer      = 32               // accepted from one member
	deliverTime       = 5 * time.Second  // for a service to accept a connection
	logInterval       = time.Minute      // between two log messages about rejected connections
	keepAliveIdle     = 15 * time.Second // before TCP checks a silent connection
)

// ErrClosed is the error of a link whose Run has ended.
var ErrClosed = errors.New("the link to the ring is closed")

// Peer is a member, and the address (host:port) of its link. ID "" is any member at the address.
type Peer struct{ ID, Addr string }

func (p Peer) String() string {
	if p.ID == "" {
		return p.Addr
	}
	return p.ID + " at " + p.Addr
}

// Options configure a link.
type Options struct {
	ID   string   // of this member, see wire.CheckID
	Ring string   // its name: rings with the same key but different names reject each other
	Keys [][]byte // see package keys, which checks them

	Listener net.Listener                                             // accepts strangers; closed by Run
	Dial     func(ctx context.Context, addr string) (net.Conn, error) // nil: TCP
	Log      *slog.Logger                                             // nil: slog.Default()
}

// Link is this member's end of all connections. Its methods may be called at any time and
// concurrently.
type Link struct {
	id, ring string
	listener net.Listener
	dial     func(ctx context.Context, addr string) (net.Conn, error)
	log      *slog.Logger
	client   *http.Transport // of Ask
	server   *http.Server    // answers Ask
	requests net.Listener    // of the server

	ctx        context.Context // ends with Run
	stop       context.CancelFunc
	work       sync.WaitGroup
	handshakes handshakes
	logLimit   logLimit // of messages about rejected connections

	mu       sync.Mutex
	closed   bool
	identity *identity
	services map[string]*service
	handlers map[string]Handler
	conns    map[*Conn]bool
	senders  map[string]*sender // by ID
}

// sender is a member that connected to this one.
type sender struct {
	conns    int
	requests chan struct{} // semaphore of its requests
}

// New makes a link. It accepts nothing before Run.
func New(o Options) (*Link, error) {
	if err := wire.CheckID(o.ID); err != nil {
		return nil, err
	}
	identity, err := newIdentity(o.ID, o.Ring, o.Keys)
	if err != nil {
		return nil, err
	}
	l := &Link{
		id: o.ID, ring: o.Ring, listener: o.Listener, dial: o.Dial, log: o.Log, identity: identity,
		logLimit: logLimit{lines: 1, interval: logInterval},
		services: map[string]*service{}, handlers: map[string]Handler{}, conns: map[*Conn]bool{}, senders: map[string]*sender{},
	}
	if l.dial == nil {
		l.dial = dialTCP
	}
	if l.log == nil {
		l.log = slog.Default()
	}
	l.ctx, l.stop = context.WithCancel(context.Background())
	l.client, l.server = l.newClient(), l.newServer()
	l.requests, err = l.Listen(asking)
	return l, err
}

func dialTCP(ctx context.Context, addr string) (net.Conn, error) {
	d := net.Dialer{KeepAliveConfig: keepAlive}
	return d.DialContext(ctx, "tcp", addr)
}

var keepAlive = net.KeepAliveConfig{Enable: true, Idle: keepAliveIdle, Interval: 5 * time.Second, Count: 3}

// Run accepts connections until the context ends or the listener fails. When it returns, all
// connections are closed, and no handler runs.
func (l *Link) Run(ctx context.Context) error {
	defer context.AfterFunc(ctx, l.close)()
	l.work.Go(func() { l.server.Serve(l.requests) }) // ends with the link
	err := l.accept()
	l.close()
	l.work.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// close immediately ends everything that blocks.
func (l *Link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.closed = true
	l.stop()
	l.listener.Close()
	l.handshakes.closeAll()
	for c := range l.conns {
		c.raw.Close()
	}
	for _, s := range l.services {
		s.end()
	}
}

// Rekey replaces the keys of the ring. The first one is the primary key. Connections to
// members that showed a certificate of a removed key are closed. Such members connect again
// with a certificate of a remaining key, if they have one. All other connections stay open.
func (l *Link) Rekey(keys [][]byte) error {
	identity, err := newIdentity(l.id, l.ring, keys)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.identity = identity
	for c := range l.conns {
		if !identity.trusts(c.authority) {
			c.raw.Close()
		}
	}
	return nil
}

// enter begins a call that makes connections or goroutines. The caller calls l.work.Done at
// its end.
func (l *Link) enter() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	l.work.Add(1)
	return nil
}

// Conn is a connection with a member.
type Conn struct {
	net.Conn  // over TLS, which HTTP does not see
	service   string
	peer      string
	authority string // the public key of the authority that signed the peer's certificate
	raw       net.Conn
	link      *Link
	from      *sender // nil: this member connected
}

// Peer returns the member ID in the peer's certificate.
func (c *Conn) Peer() string { return c.peer }

// Service returns the service of the connection.
func (c *Conn) Service() string { return c.service }

// Close ends the connection.
func (c *Conn) Close() error {
	c.link.remove(c)
	return c.Conn.Close()
}

// abort closes the connection without a message to the peer, which may not read it.
func (c *Conn) abort() {
	c.link.remove(c)
	c.raw.Close()
}

// Dial connects to one of some services of a member, the peer's choice. The caller closes the
// connection. The link closes it when Run ends, or when the peer's key is removed from the ring.
func (l *Link) Dial(ctx context.Context, to Peer, services ...string) (*Conn, error) {
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.work.Done()
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	raw, err := l.dial(ctx, to.Addr)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", to, err)
	}
	c, err := l.clientHandshake(ctx, raw, to, services)
	if err != nil {
		raw.Close()
		return nil, fmt.Errorf("connect to %s: %w", to, err)
	}
	return c, nil
}

func (l *Link) clientHandshake(ctx context.Context, raw net.Conn, to Peer, services []string) (*Conn, error) {
	var shown certificate
	limited := &limitedConn{Conn: raw, left: handshakeBytes}
	t := tls.Client(limited, l.currentIdentity().client(services, &shown))
	if err := t.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	limited.lift()
	if to.ID != "" && shown.id != to.ID {
		return nil, fmt.Errorf("member %s answers there", shown.id)
	}
	c := &Conn{Conn: t, service: t.ConnectionState().NegotiatedProtocol, peer: shown.id, authority: shown.authority, raw: raw, link: l}
	return c, l.add(c, false)
}

func (l *Link) currentIdentity() *identity {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.identity
}

// add adds a connection to the open ones, or returns why it must be closed.
func (l *Link) add(c *Conn, accepted bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	if !l.identity.trusts(c.authority) {
		return errors.New("its key was removed from the ring meanwhile")
	}
	if accepted {
		if err := l.count(c); err != nil {
			return err
		}
	}
	l.conns[c] = true
	return nil
}

// count adds an accepted connection to those of its sender.
func (l *Link) count(c *Conn) error {
	total := 0
	for _, s := range l.senders {
		total += s.conns
	}
	s := l.senders[c.peer]
	switch {
	case total >= maxConns:
		return fmt.Errorf("there are %d connections", total)
	case s == nil:
		s = &sender{requests: make(chan struct{}, maxRequests)}
		l.senders[c.peer] = s
	case s.conns >= maxConnsPeer:
		return fmt.Errorf("it has %d connections", s.conns)
	}
	s.conns++
	c.from = s
	return nil
}

func (l *Link) remove(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.conns[c] {
		return
	}
	delete(l.conns, c)
	if c.from == nil {
		return
	}
	if c.from.conns--; c.from.conns == 0 {
		delete(l.senders, c.peer)
	}
}

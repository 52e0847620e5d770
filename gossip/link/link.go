// Package link owns the connections between the members of a ring: TCP,
// encrypted and mutually authenticated by the ring's key alone.
//
// Every key of the ring makes an authority (Ed25519, by HKDF over the key and
// the ring's name), and each member makes itself a certificate, which lives as
// long as the process, signed by the authority of the primary key. Who shows a
// certificate of any of the keys is a member; who does not has learned, when it
// is turned away, that something here speaks TLS: not even the member's ID, as
// it is sealed in the certificate. Certificates have no dates: the clock of a
// member may be wrong, and what ends a certificate is that its key leaves the
// ring.
//
// A connection is for one service, named by ALPN: requests and answers (Ask),
// or streams that another room makes use of (Listen, Dial). A connection whose
// first byte does not begin a TLS handshake belongs to the service Gossip, so
// that a member needs one TCP port for everything.
package link

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// Services that connections are for, beside asking.
const (
	Raft = "cronring-raft/1" // streams of the ledger
	HTTP = "cronring-http/1" // requests to the daemons of other members

	// Gossip is the service of connections without TLS. memberlist encrypts them.
	Gossip = "gossip"
)

// asking is the service of Ask and Handle.
const asking = "cronring-ask/1"

// Bounds on what others can make this member do.
const (
	handshakeTime  = 5 * time.Second  // for all of it, on either side
	handshakeBytes = 32 << 10         // that a stranger can make this member read
	mostKnocks     = 128              // handshakes at a time
	mostKnocksHost = 32               // of them from one address
	mostConns      = 2048             // accepted, of all members
	mostConnsPeer  = 32               // accepted, of one member
	pickUpTime     = 5 * time.Second  // for a service to take a connection of its own
	refusalsEvery  = time.Minute      // that one refused connection is logged
	keepAliveIdle  = 15 * time.Second // of TCP, where nothing else is said
	mostKeys       = 8
	keyBytes       = 32
)

// ErrClosed is the error of what is asked of a link whose Run is over.
var ErrClosed = errors.New("the link to the ring is closed")

// Peer is a member to reach. ID "" takes whichever member answers at Addr.
type Peer struct {
	ID   string
	Addr string // host:port of its link
}

func (p Peer) String() string {
	if p.ID == "" {
		return p.Addr
	}
	return p.ID + " at " + p.Addr
}

// Options is what a link needs.
type Options struct {
	ID   string // this member's, see CheckID
	Ring string // its name: rings with the same key and other names are strangers
	Keys [][]byte

	Listener net.Listener                                             // accepts strangers; closed by Run
	Dial     func(ctx context.Context, addr string) (net.Conn, error) // nil: TCP
	Log      *slog.Logger                                             // nil: slog.Default()
}

// Link is this member's end of all connections. All methods may be called at
// any time and by many at once.
type Link struct {
	id, ring string
	listener net.Listener
	dial     func(ctx context.Context, addr string) (net.Conn, error)
	log      *slog.Logger

	ctx   context.Context // over when Run is
	stop  context.CancelFunc
	work  sync.WaitGroup
	knock knocks

	mu       sync.Mutex
	closed   bool
	identity *identity
	services map[string]*service
	handlers map[string]Handler
	conns    map[*Conn]bool
	guests   map[string]*guest // members that connected to this one
	lines    map[Peer]*line    // members that this one asks
	stats    Stats
	told     time.Time // when a refusal was last logged
}

// guest is a member with connections to this one.
type guest struct {
	conns int
	slots chan struct{} // of requests of it that are being answered
}

// Stats counts what went over a link.
type Stats struct {
	Open    int    // connections now, of both directions
	Refused uint64 // connections of strangers, and of members beyond the bounds
	Asked   uint64 // requests to others
	Served  uint64 // requests of others
}

// New makes a link. Nothing is accepted before Run.
func New(o Options) (*Link, error) {
	if err := CheckID(o.ID); err != nil {
		return nil, err
	}
	identity, err := newIdentity(o.ID, o.Ring, o.Keys)
	if err != nil {
		return nil, err
	}
	l := &Link{
		id: o.ID, ring: o.Ring, listener: o.Listener, dial: o.Dial, log: o.Log, identity: identity,
		services: map[string]*service{}, handlers: map[string]Handler{}, conns: map[*Conn]bool{},
		guests: map[string]*guest{}, lines: map[Peer]*line{},
	}
	if l.dial == nil {
		l.dial = dialTCP
	}
	if l.log == nil {
		l.log = slog.Default()
	}
	l.ctx, l.stop = context.WithCancel(context.Background())
	return l, nil
}

// CheckID says what is wrong with the ID of a member: it is 1 to 64 letters a
// to z, digits and hyphens.
func CheckID(id string) error {
	if id == "" || len(id) > 64 {
		return fmt.Errorf("member ID %q has not 1 to 64 characters", id)
	}
	if strings.ContainsFunc(id, notOfID) {
		return fmt.Errorf("member ID %q has other characters than a-z, 0-9 and -", id)
	}
	return nil
}

func notOfID(r rune) bool {
	return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
}

func dialTCP(ctx context.Context, addr string) (net.Conn, error) {
	d := net.Dialer{KeepAliveConfig: keepAlive}
	return d.DialContext(ctx, "tcp", addr)
}

var keepAlive = net.KeepAliveConfig{Enable: true, Idle: keepAliveIdle, Interval: 5 * time.Second, Count: 3}

// Run accepts connections until ctx is over or the listener fails. When it
// returns all connections are closed and no goroutine of the link is left.
func (l *Link) Run(ctx context.Context) error {
	done := context.AfterFunc(ctx, l.close)
	defer done()
	err := l.accept()
	l.close()
	l.work.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// close ends all that waits, at once.
func (l *Link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.closed = true
	l.stop()
	l.listener.Close()
	l.knock.dropAll()
	for c := range l.conns {
		c.raw.Close()
	}
	for _, s := range l.services {
		s.shut()
	}
}

// Rekey puts other keys in the place of the ring's, the first of them primary.
// Connections with members that showed a certificate of a key that is gone are
// cut: they come back with one of a key that stays, if they have one. Those
// that stay keep the certificates that they were made with.
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

// Stats returns the figures so far.
func (l *Link) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.Open = len(l.conns)
	return s
}

// enter lets a method begin that makes connections or goroutines; it calls
// l.work.Done at its end.
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
	*tls.Conn
	peer      string
	authority string // that signed the peer's certificate
	raw       net.Conn
	link      *Link
	guest     bool // it was accepted
}

// Peer returns the ID of the member at the other end, as its certificate says.
func (c *Conn) Peer() string { return c.peer }

// Close ends the connection.
func (c *Conn) Close() error {
	c.link.forget(c)
	return c.Conn.Close()
}

// cut is Close without a word to the other end, which may not listen.
func (c *Conn) cut() {
	c.link.forget(c)
	c.raw.Close()
}

// Dial connects to a service of a member. The caller closes the connection; the
// link does when it ends, or when the peer's key leaves the ring.
func (l *Link) Dial(ctx context.Context, to Peer, service string) (*Conn, error) {
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.work.Done()
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	raw, err := l.dial(ctx, to.Addr)
	if err != nil {
		return nil, fmt.Errorf("reach %s: %w", to, err)
	}
	c, err := l.greet(ctx, raw, to, service)
	if err != nil {
		raw.Close()
		return nil, fmt.Errorf("reach %s: %w", to, err)
	}
	return c, nil
}

// greet makes a connection of a dialled one.
func (l *Link) greet(ctx context.Context, raw net.Conn, to Peer, service string) (*Conn, error) {
	var who peerage
	metered := &metered{Conn: raw, left: handshakeBytes}
	t := tls.Client(metered, l.identityNow().client(service, &who))
	if err := t.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	metered.free()
	if to.ID != "" && who.id != to.ID {
		return nil, fmt.Errorf("member %s answers there", who.id)
	}
	c := &Conn{Conn: t, peer: who.id, authority: who.authority, raw: raw, link: l}
	return c, l.remember(c)
}

func (l *Link) identityNow() *identity {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.identity
}

// remember enters a connection among those that are open, or says why it is not
// to be.
func (l *Link) remember(c *Conn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	if !l.identity.trusts(c.authority) {
		return errors.New("its key has left the ring meanwhile")
	}
	if c.guest {
		if err := l.seat(c.peer); err != nil {
			return err
		}
	}
	l.conns[c] = true
	return nil
}

// seat counts an accepted connection of a member.
func (l *Link) seat(peer string) error {
	total := 0
	for _, g := range l.guests {
		total += g.conns
	}
	g := l.guests[peer]
	switch {
	case total >= mostConns:
		return fmt.Errorf("there are %d connections", total)
	case g == nil:
		g = &guest{slots: make(chan struct{}, inFlight)}
		l.guests[peer] = g
	case g.conns >= mostConnsPeer:
		return fmt.Errorf("it has %d connections", g.conns)
	}
	g.conns++
	return nil
}

func (l *Link) forget(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.conns[c] {
		return
	}
	delete(l.conns, c)
	if !c.guest {
		return
	}
	g := l.guests[c.peer]
	if g.conns--; g.conns == 0 {
		delete(l.guests, c.peer)
	}
}

// service is one that another room answers for, by a net.Listener.
type service struct {
	link   *Link
	name   string
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// Listen returns the accepted connections of a service, each a *Conn but for those
// of Gossip, until the listener or the link is closed. A service has one listener at a time; without
// one, members that want it are refused.
func (l *Link) Listen(name string) (net.Listener, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, ErrClosed
	}
	if l.services[name] != nil {
		return nil, fmt.Errorf("service %s is listened for", name)
	}
	s := &service{link: l, name: name, conns: make(chan net.Conn), closed: make(chan struct{})}
	l.services[name] = s
	return s, nil
}

// offered is the services that a stranger may want.
func (l *Link) offered() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := []string{asking}
	for name := range l.services {
		if name != Gossip {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Accept returns the next connection, or net.ErrClosed.
func (s *service) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

// Close makes Accept return. Connections that it returned stay open.
func (s *service) Close() error {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	if s.link.services[s.name] == s {
		delete(s.link.services, s.name)
	}
	s.shut()
	return nil
}

func (s *service) shut() { s.once.Do(func() { close(s.closed) }) }

// Addr is the link's own address.
func (s *service) Addr() net.Addr { return s.link.listener.Addr() }

// take gives the service a connection, or closes it.
func (s *service) take(c net.Conn) {
	patience := time.NewTimer(pickUpTime)
	defer patience.Stop()
	select {
	case s.conns <- c:
		return
	case <-s.closed:
	case <-patience.C:
	}
	if member, ok := c.(*Conn); ok {
		member.cut()
		return
	}
	c.Close()
}

// Package linktest owns a network in memory, for tests of the messages between members of a
// ring. Its connections buffer data as TCP does. A network partition delays data until it is
// healed. All times are those of package time, so that tests can use a fake clock.
package linktest

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// bufferBytes is the size of the buffer of one direction of a connection.
const bufferBytes = 256 << 10

// Network connects hosts by name.
type Network struct {
	mu      sync.Mutex
	change  change // of the listeners
	hosts   map[string]*listener
	blocked map[[2]string]bool // from, to
	conns   map[*conn]bool
	delay   time.Duration // of each direction
	loss    float64       // probability that a segment is lost, and sent again
	sent    int           // bytes, by all hosts
	rand    *rand.Rand
}

// change wakes all goroutines that wait for a change. The network's mutex guards it.
type change struct{ done chan struct{} }

func (c *change) broadcast() {
	close(c.done)
	c.done = make(chan struct{})
}

// New returns a network without hosts.
func New() *Network {
	return &Network{change: change{make(chan struct{})}, hosts: map[string]*listener{}, blocked: map[[2]string]bool{}, conns: map[*conn]bool{}, rand: rand.New(rand.NewPCG(1, 2))}
}

// Slow delays all data that is written from now on, and loses segments, which TCP sends again
// after 200 ms, 400 ms and so on.
func (n *Network) Slow(delay time.Duration, loss float64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.delay, n.loss = delay, loss
}

// Sent returns how many bytes all hosts have written.
func (n *Network) Sent() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sent
}

// transit returns how long a segment takes to arrive.
func (n *Network) transit() time.Duration {
	d := n.delay
	for again := 200 * time.Millisecond; n.rand.Float64() < n.loss; again *= 2 {
		d += again
	}
	return d
}

// Listen returns the listener of a host.
func (n *Network) Listen(host string) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.hosts[host] != nil {
		return nil, fmt.Errorf("listen on %s: %w", host, syscall.EADDRINUSE)
	}
	l := &listener{net: n, host: addr(host)}
	n.hosts[host] = l
	return l, nil
}

// Dialer returns a function that connects a host to others.
func (n *Network) Dialer(from string) func(ctx context.Context, to string) (net.Conn, error) {
	return func(ctx context.Context, to string) (net.Conn, error) { return n.dial(ctx, from, to) }
}

func (n *Network) dial(ctx context.Context, from, to string) (net.Conn, error) {
	n.mu.Lock()
	handshake := n.transit() + n.transit()
	n.mu.Unlock()
	select {
	case <-time.After(handshake):
	case <-ctx.Done():
		return nil, fmt.Errorf("dial %s: %w", to, ctx.Err())
	}
	for {
		n.mu.Lock()
		if !n.blocked[[2]string{from, to}] && !n.blocked[[2]string{to, from}] {
			defer n.mu.Unlock()
			l := n.hosts[to]
			if l == nil {
				return nil, fmt.Errorf("dial %s: %w", to, syscall.ECONNREFUSED)
			}
			return n.connect(from, l), nil
		}
		changed := n.change.done
		n.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("dial %s: %w", to, ctx.Err())
		}
	}
}

func (n *Network) connect(from string, l *listener) net.Conn {
	there, back, changed := &half{}, &half{}, &change{make(chan struct{})}
	a := &conn{net: n, change: changed, local: addr(from), remote: l.host, in: back, out: there}
	b := &conn{net: n, change: changed, local: l.host, remote: addr(from), in: there, out: back}
	n.conns[a], n.conns[b] = true, true
	l.queue = append(l.queue, b)
	n.change.broadcast()
	return a
}

// Block delays all data from a host to another until Heal.
func (n *Network) Block(from, to string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.blocked[[2]string{from, to}] = true
}

// Partition blocks all data between hosts of different groups.
func (n *Network) Partition(groups ...[]string) {
	for i, ours := range groups {
		for j, theirs := range groups {
			for _, from := range ours {
				for _, to := range theirs {
					if i != j {
						n.Block(from, to)
					}
				}
			}
		}
	}
}

// Heal delivers all data again, and the delayed data first, but not between other hosts and those of
// except.
func (n *Network) Heal(except ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.blocked, func(ends [2]string, _ bool) bool {
		return !slices.Contains(except, ends[0]) && !slices.Contains(except, ends[1])
	})
	n.broadcast()
}

func (n *Network) broadcast() {
	n.change.broadcast()
	for c := range n.conns {
		c.change.broadcast()
	}
}

func (n *Network) wake() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.broadcast()
}

// Kill stops a host like a killed process: its listener is closed, and its connections are
// reset. Behind a network partition, peers see that when it is healed.
func (n *Network) Kill(host string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.hosts, host)
	for c := range n.conns {
		if c.local == addr(host) {
			c.in.broken, c.out.broken, c.closed = true, true, true
			c.change.broadcast()
			delete(n.conns, c)
		}
	}
	n.change.broadcast()
}

type addr string

func (addr) Network() string  { return "memory" }
func (a addr) String() string { return string(a) }

type listener struct {
	net    *Network
	host   addr
	queue  []net.Conn
	closed bool
}

func (l *listener) Addr() net.Addr { return l.host }

func (l *listener) Close() error {
	l.net.mu.Lock()
	defer l.net.mu.Unlock()
	l.closed = true
	if l.net.hosts[string(l.host)] == l {
		delete(l.net.hosts, string(l.host))
	}
	l.net.change.broadcast()
	return nil
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		l.net.mu.Lock()
		if l.closed {
			l.net.mu.Unlock()
			return nil, net.ErrClosed
		}
		if len(l.queue) > 0 {
			defer l.net.mu.Unlock()
			c := l.queue[0]
			l.queue = l.queue[1:]
			return c, nil
		}
		changed := l.net.change.done
		l.net.mu.Unlock()
		<-changed
	}
}

// half is one direction of a connection. The network's mutex guards it.
type half struct {
	data   []byte    // arrived, or under way
	parts  []segment // of data
	ended  bool      // by its writer
	broken bool      // by the end of either host
}

// segment is a number of bytes, and when they arrive.
type segment struct {
	bytes int
	at    time.Time
}

// send appends bytes that arrive later, in order.
func (h *half) send(b []byte, at time.Time) {
	if last := len(h.parts) - 1; last >= 0 && at.Before(h.parts[last].at) {
		at = h.parts[last].at
	}
	h.data = append(h.data, b...)
	h.parts = append(h.parts, segment{len(b), at})
}

// arrived returns how many bytes can be read.
func (h *half) arrived(now time.Time) (bytes int) {
	for _, s := range h.parts {
		if s.at.After(now) {
			break
		}
		bytes += s.bytes
	}
	return bytes
}

func (h *half) read(p []byte, now time.Time) int {
	n := copy(p, h.data[:h.arrived(now)])
	h.data = h.data[n:]
	for rest := n; rest > 0; {
		taken := min(rest, h.parts[0].bytes)
		rest -= taken
		if h.parts[0].bytes -= taken; h.parts[0].bytes == 0 {
			h.parts = h.parts[1:]
		}
	}
	return n
}

type conn struct {
	net           *Network
	change        *change // of both ends
	local, remote addr
	in, out       *half
	closed        bool
	reading       time.Time // deadlines
	writing       time.Time
}

func (c *conn) LocalAddr() net.Addr  { return c.local }
func (c *conn) RemoteAddr() net.Addr { return c.remote }

func (c *conn) Read(p []byte) (int, error) {
	return c.await(func() (int, error, bool) {
		arrives := !c.net.blocked[[2]string{string(c.remote), string(c.local)}]
		switch {
		case passed(c.reading):
			return 0, os.ErrDeadlineExceeded, true
		case arrives && c.in.arrived(time.Now()) > 0:
			return c.in.read(p, time.Now()), nil, true
		case arrives && c.in.broken:
			return 0, syscall.ECONNRESET, true
		case arrives && c.in.ended && len(c.in.data) == 0:
			return 0, io.EOF, true
		}
		return 0, nil, false
	}, &c.reading)
}

func (c *conn) Write(p []byte) (int, error) {
	written := 0
	for written < len(p) {
		n, err := c.await(func() (int, error, bool) {
			switch {
			case passed(c.writing):
				return 0, os.ErrDeadlineExceeded, true
			case c.out.broken:
				return 0, syscall.EPIPE, true
			case len(c.out.data) < bufferBytes:
				n := min(len(p)-written, bufferBytes-len(c.out.data))
				c.net.sent += n
				transit := c.net.transit()
				c.out.send(p[written:written+n], time.Now().Add(transit))
				if transit > 0 {
					time.AfterFunc(transit, c.net.wake)
				}
				return n, nil, true
			}
			return 0, nil, false
		}, &c.writing)
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

func passed(deadline time.Time) bool { return !deadline.IsZero() && !time.Now().Before(deadline) }

// await repeats try at each change, and at the deadline, until it reports a result.
func (c *conn) await(try func() (int, error, bool), deadline *time.Time) (int, error) {
	for {
		c.net.mu.Lock()
		if c.closed {
			c.net.mu.Unlock()
			return 0, net.ErrClosed
		}
		if n, err, ok := try(); ok {
			c.change.broadcast()
			c.net.mu.Unlock()
			return n, err
		}
		changed, until := c.change.done, *deadline
		c.net.mu.Unlock()
		waitFor(changed, until)
	}
}

func waitFor(changed <-chan struct{}, until time.Time) {
	if until.IsZero() {
		<-changed
		return
	}
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	select {
	case <-changed:
	case <-t.C:
	}
}

func (c *conn) Close() error {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	c.closed = true
	c.out.ended = true
	c.in.broken = true // data that the peer still writes is lost
	delete(c.net.conns, c)
	c.change.broadcast()
	return nil
}

func (c *conn) SetDeadline(t time.Time) error {
	return c.set(func() { c.reading, c.writing = t, t })
}

func (c *conn) SetReadDeadline(t time.Time) error { return c.set(func() { c.reading = t }) }

func (c *conn) SetWriteDeadline(t time.Time) error { return c.set(func() { c.writing = t }) }

func (c *conn) set(f func()) error {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	f()
	c.change.broadcast()
	return nil
}

// Package linktest owns a network in memory, for tests of the messages between members of a
// ring. Its connections buffer data as TCP does. A network partition delays data until it is
// healed. All times are those of package time, so that tests can use a fake clock.
package linktest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Sizes of the buffer of one direction of a connection, and of a listener's queue.
const (
	segmentBytes = 16 << 10
	mostSegments = 4096
	mostQueued   = 1024
)

// Network connects hosts by name.
type Network struct {
	mu      sync.Mutex
	hosts   map[string]*listener
	blocked map[[2]string]bool // from, to
	healed  chan struct{}      // closed, and replaced, at each Heal
	conns   map[*conn]bool
	delay   time.Duration // of each direction
	loss    float64       // probability that a segment is lost, and sent again
	sent    int           // bytes, by all hosts
	rand    *rand.Rand
}

// New returns a network without hosts.
func New() *Network {
	return &Network{hosts: map[string]*listener{}, blocked: map[[2]string]bool{}, healed: make(chan struct{}), conns: map[*conn]bool{}, rand: rand.New(rand.NewPCG(1, 2))}
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

// transit returns how long a segment takes to arrive, and counts its bytes.
func (n *Network) transit(bytes int) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sent += bytes
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
	l := &listener{net: n, host: addr(host), queue: make(chan net.Conn, mostQueued), closed: make(chan struct{})}
	n.hosts[host] = l
	return l, nil
}

// Dialer returns a function that connects a host to others.
func (n *Network) Dialer(from string) func(ctx context.Context, to string) (net.Conn, error) {
	return func(ctx context.Context, to string) (net.Conn, error) {
		arrives := time.Now().Add(n.transit(0) + n.transit(0)) // the answer to the handshake
		if !n.await(ctx.Done(), arrives, from, to) || !n.await(ctx.Done(), arrives, to, from) {
			return nil, fmt.Errorf("dial %s: %w", to, ctx.Err())
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		l := n.hosts[to]
		if l == nil || len(l.queue) == mostQueued {
			return nil, fmt.Errorf("dial %s: %w", to, syscall.ECONNREFUSED)
		}
		a, b := n.connect(from, to)
		l.queue <- b
		return a, nil
	}
}

// await waits until a time, and until data can pass from a host to another. It returns false if
// done is closed before.
func (n *Network) await(done <-chan struct{}, at time.Time, from, to string) bool {
	for {
		n.mu.Lock()
		passes, healed := !n.blocked[[2]string{from, to}], n.healed
		n.mu.Unlock()
		if wait := time.Until(at); wait > 0 {
			timer := time.NewTimer(wait)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-done:
				return false
			}
			continue
		}
		if passes {
			return true
		}
		select {
		case <-healed:
		case <-done:
			return false
		}
	}
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
	close(n.healed)
	n.healed = make(chan struct{})
}

// Kill stops a host like a killed process: its listener and connections are closed. Behind a
// network partition, peers see that when it is healed.
func (n *Network) Kill(host string) {
	n.mu.Lock()
	delete(n.hosts, host)
	conns := slices.Collect(maps.Keys(n.conns))
	n.mu.Unlock()
	for _, c := range conns {
		if c.local == addr(host) {
			c.Close()
		}
	}
}

type addr string

func (addr) Network() string  { return "memory" }
func (a addr) String() string { return string(a) }

type listener struct {
	net    *Network
	host   addr
	queue  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *listener) Addr() net.Addr { return l.host }

func (l *listener) Close() error {
	l.net.mu.Lock()
	defer l.net.mu.Unlock()
	if l.net.hosts[string(l.host)] == l {
		delete(l.net.hosts, string(l.host))
	}
	l.once.Do(func() {
		close(l.closed)
		for range len(l.queue) {
			go (<-l.queue).Close()
		}
	})
	return nil
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.queue:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// conn is an end of a connection: a pipe to the network, which carries the data to the pipe of
// the other end.
type conn struct {
	net.Conn
	net           *Network
	local, remote addr
	once          sync.Once
	closed        chan struct{}
}

// connect makes both ends of a connection.
func (n *Network) connect(from, to string) (a, b *conn) {
	end := func(local, remote string) (*conn, net.Conn) {
		own, inner := net.Pipe()
		c := &conn{Conn: own, net: n, local: addr(local), remote: addr(remote), closed: make(chan struct{})}
		n.conns[c] = true
		return c, inner
	}
	a, innerA := end(from, to)
	b, innerB := end(to, from)
	go n.carry(a, innerA, b, innerB)
	go n.carry(b, innerB, a, innerA)
	return a, b
}

// segment is data under way, and when it arrives.
type segment struct {
	data []byte
	at   time.Time
}

// carry carries the data of one direction, in order, and then its end. What a closed end would
// receive is dropped.
func (n *Network) carry(from *conn, in net.Conn, to *conn, out net.Conn) {
	queue := make(chan segment, mostSegments)
	go func() {
		defer close(queue)
		for b := make([]byte, segmentBytes); ; {
			got, err := in.Read(b)
			if err != nil {
				return
			}
			queue <- segment{slices.Clone(b[:got]), time.Now().Add(n.transit(got))}
		}
	}()
	for s := range queue {
		if n.await(to.closed, s.at, string(from.local), string(to.local)) {
			out.Write(s.data) // fails if it was closed meanwhile
		}
	}
	n.await(to.closed, time.Time{}, string(from.local), string(to.local))
	out.Close()
}

func (c *conn) LocalAddr() net.Addr  { return c.local }
func (c *conn) RemoteAddr() net.Addr { return c.remote }

func (c *conn) Close() error {
	c.once.Do(func() {
		c.net.mu.Lock()
		delete(c.net.conns, c)
		c.net.mu.Unlock()
		close(c.closed)
	})
	return c.Conn.Close()
}

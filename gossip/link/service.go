package link

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"
)

// service is the listener of the connections of a service, or of several.
type service struct {
	link   *Link
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// Listen returns a listener of the connections of some services, until the listener or the link
// is closed. Each of them is a *Conn, except those of Gossip. A service has one listener at a
// time. Without a listener the connections of members are rejected.
func (l *Link) Listen(names ...string) (net.Listener, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, ErrClosed
	}
	s := &service{link: l, conns: make(chan net.Conn), closed: make(chan struct{})}
	for _, name := range names {
		if l.services[name] != nil {
			return nil, fmt.Errorf("service %s has a listener already", name)
		}
	}
	for _, name := range names {
		l.services[name] = s
	}
	return s, nil
}

// offered returns the services over TLS, newer versions first: TLS chooses the first one that the
// peer knows.
func (l *Link) offered() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for name := range l.services {
		if name != Gossip {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	slices.Reverse(names)
	return names
}

// service returns the listener of a service, or nil.
func (l *Link) service(name string) *service {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.services[name]
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

// Close ends Accept. Connections that it returned stay open.
func (s *service) Close() error {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	maps.DeleteFunc(s.link.services, func(_ string, x *service) bool { return x == s })
	s.end()
	return nil
}

func (s *service) end() { s.once.Do(func() { close(s.closed) }) }

// Addr returns the address of the link.
func (s *service) Addr() net.Addr { return s.link.listener.Addr() }

// deliver passes a connection to Accept. If it is not accepted in time, it is closed.
func (s *service) deliver(c net.Conn) {
	timeout := time.NewTimer(deliverTime)
	defer timeout.Stop()
	select {
	case s.conns <- c:
		return
	case <-s.closed:
	case <-timeout.C:
	}
	if member, ok := c.(*Conn); ok {
		member.abort()
		return
	}
	c.Close()
}

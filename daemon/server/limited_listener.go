package server

import (
	"context"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/cronring/cronring/daemon/descriptor"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/unixconn"
	"github.com/cronring/cronring/daemon/wake"
)

// Maximum numbers of connections. Other users can never use up those of admins, and no user can use
// up those of the others.
const (
	maxConns         = 512
	maxNonAdminConns = 384 // of all users who are not admins
	maxUserConns     = 48  // of one of them
	maxConnRate      = 200 // new ones of one of them in a second
)

// maxRefusedLookups is the maximum number of lookups at a time of users whose connections were refused.
const maxRefusedLookups = 32

// limitedListener is a listener that limits open connections and new ones, for all users and for each.
type limitedListener struct {
	net.Listener
	share  func(uid uint32) share
	lookUp func(uid uint32) // may wait for a directory service; share then knows the uid

	mu        sync.Mutex
	inside    int
	nonAdmins int
	by        map[share]int
	second    time.Time       // when recent was last emptied
	recent    map[share]int   // connections made since then
	left      chan struct{}   // readable after the last one left
	lookups   map[uint32]bool // uids that lookUp is called for
}

// share is what connections are counted by: admins, or a Peer.LimitKey.
type share struct {
	admin bool
	key   uint32
}

// unnamed is the share of all uids that may belong to no user.
var unnamed = share{key: call.Peer{}.LimitKey()}

// shareOf returns the share of a uid. It does not wait for a directory service: all uids that may belong
// to no user share one, because a single user can have thousands of such uids (subuid(5)).
func (s *Server) shareOf(uid uint32) share {
	switch {
	case s.keeps(uid):
		return share{admin: true}
	case s.hasUser != nil && !s.hasUser(uid):
		return unnamed
	}
	return share{key: uid}
}

func newLimitedListener(l net.Listener, shareOf func(uid uint32) share, lookUp func(uid uint32)) *limitedListener {
	return &limitedListener{
		Listener: l, share: shareOf, lookUp: lookUp,
		by: map[share]int{}, recent: map[share]int{}, left: make(chan struct{}, 1), lookups: map[uint32]bool{},
	}
}

// limitedConn is a connection that the listener accepted.
type limitedConn struct {
	unixconn.Conn
	peer     *syscall.Ucred
	listener *limitedListener

	mu     sync.Mutex
	by     share
	closed bool
}

func (g *limitedConn) Close() error {
	g.leave()
	return g.Conn.Close()
}

func (g *limitedConn) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.closed = true
		g.listener.release(g.by)
	}
}

// named counts the connection by its user, who may have been unknown when it was accepted.
func (g *limitedConn) named() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if by := g.listener.share(g.peer.Uid); !g.closed && g.by == unnamed && by != unnamed {
		g.listener.move(g.by, by)
		g.by = by
	}
}

// Accept waits for a connection within the limits. Others receive the answer that the daemon is
// busy. This must be quick: all users wait in one queue, which a user can fill by connecting in a
// loop. The answer fits into the socket's buffer, so writing it cannot block.
func (d *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		conn := unixconn.Conn{UnixConn: c.(*net.UnixConn)}
		peer, err := peerOf(conn)
		if err != nil {
			conn.Close()
			continue
		}
		by := d.share(peer.Uid)
		if !d.admit(by, time.Now()) {
			conn.Write([]byte(busyAnswer))
			conn.Close()
			if by == unnamed {
				d.lookUpRefused(peer.Uid)
			}
			continue
		}
		return &limitedConn{Conn: conn, peer: peer, listener: d, by: by}, nil
	}
}

// lookUpRefused looks a user up in the background, so that its next connection counts as its own: other uids
// must not lock out a user of a directory service. It does nothing while many lookups are running.
func (d *limitedListener) lookUpRefused(uid uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lookups[uid] || len(d.lookups) >= maxRefusedLookups {
		return
	}
	d.lookups[uid] = true
	go func() {
		d.lookUp(uid)
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.lookups, uid)
	}()
}

// Close returns immediately. The listener is closed soon after that, and its file removed before Accept returns.
func (d *limitedListener) Close() error {
	return unixconn.Listener{UnixListener: d.Listener.(*net.UnixListener)}.Close()
}

const busyAnswer = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" +
	`{"v":1,"error":"cronringd has too many connections","why":"this user, or all users together, have as many as they may have, or this user made more than 200 in a second","fix":"close some, such as cronring report events and logs -f; then try again","kind":"conflict"}` + "\n"

func (d *limitedListener) admit(by share, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now.Sub(d.second).Abs() >= time.Second {
		clear(d.recent)
		d.second = now
	}
	if d.inside >= maxConns {
		return false
	}
	if !by.admin {
		if d.recent[by]++; d.nonAdmins >= maxNonAdminConns || d.by[by] >= maxUserConns || d.recent[by] > maxConnRate {
			return false
		}
		d.nonAdmins++
		d.by[by]++
	}
	d.inside++
	return true
}

func (d *limitedListener) release(by share) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inside--
	if d.inside == 0 {
		wake.Up(d.left)
	}
	if by.admin {
		return
	}
	d.nonAdmins--
	d.uncount(by)
}

// move counts an open connection of one user, who is not an admin, as one of another.
func (d *limitedListener) move(from, to share) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.uncount(from)
	d.by[to]++
}

func (d *limitedListener) uncount(by share) {
	if d.by[by]--; d.by[by] == 0 {
		delete(d.by, by)
	}
}

// drain waits until all accepted connections are closed, but no longer than limit. The listener must be
// closed.
func (d *limitedListener) drain(limit time.Duration) {
	late := time.After(limit)
	for d.count() > 0 {
		select {
		case <-d.left:
		case <-late:
			return
		}
	}
}

func (d *limitedListener) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.inside
}

// connKey is the key of the connection of a request; other members' requests have none.
type connKey struct{}

// withCaller is the http.Server's ConnContext.
func (s *Server) withCaller(ctx context.Context, c net.Conn) context.Context {
	g := c.(*limitedConn)
	ctx = context.WithValue(ctx, connKey{}, g)
	return call.WithPeer(ctx, func() call.Peer {
		p := call.Peer{UID: g.peer.Uid, Admin: s.keeps(g.peer.Uid)}
		if name, err := s.account(g.peer.Uid); err == nil {
			p.Name = name
			g.named()
		}
		return p
	}, func() int { return int(g.peer.Pid) })
}

func (s *Server) keeps(uid uint32) bool { return uid == 0 || uid == s.selfUID }

// peerOf returns the process at the other end and its user, from the kernel.
func peerOf(c syscall.Conn) (*syscall.Ucred, error) {
	cred, err := descriptor.Use(c, func(fd int) (*syscall.Ucred, error) {
		return syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err != nil {
		return nil, fmt.Errorf("read peer: %w", err)
	}
	return cred, nil
}

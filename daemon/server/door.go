package server

import (
	"net"
	"sync"
	"time"
)

// How many connections there may be. The daemon's keepers always find room,
// and no other account can take it from the rest.
const (
	maxConns        = 512
	maxGuestConns   = 384 // of all accounts that are not keepers
	maxAccountConns = 48  // of one of them
)

// door is a listener that counts who is inside.
type door struct {
	net.Listener
	keeps func(uid uint32) bool

	mu     sync.Mutex
	inside int
	guests int
	by     map[uint32]int
	left   chan struct{} // readable after the last one left
}

func newDoor(l net.Listener, keeps func(uid uint32) bool) *door {
	return &door{Listener: l, keeps: keeps, by: map[uint32]int{}, left: make(chan struct{}, 1)}
}

// guest is a connection that came through the door.
type guest struct {
	net.Conn
	uid   uint32
	leave func() // may be called more than once
}

func (g *guest) Close() error {
	g.leave()
	return g.Conn.Close()
}

// Accept waits for a caller for whom there is room. Others are told that the
// daemon is busy; that is written into the socket's own buffer, so it cannot
// block.
func (d *door) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		uid, err := peerUID(c)
		if err != nil {
			c.Close()
			continue
		}
		if !d.enter(uid) {
			c.SetDeadline(time.Now().Add(time.Second))
			c.Write([]byte(busyAnswer))
			c.Close()
			continue
		}
		return &guest{Conn: c, uid: uid, leave: sync.OnceFunc(func() { d.exit(uid) })}, nil
	}
}

const busyAnswer = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" +
	`{"v":1,"error":"cronringd has too many connections","why":"this account, or all accounts together, hold as many as there may be","fix":"close some: each cronring events and logs -f is one","kind":"conflict"}` + "\n"

func (d *door) enter(uid uint32) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inside >= maxConns {
		return false
	}
	if !d.keeps(uid) {
		if d.guests >= maxGuestConns || d.by[uid] >= maxAccountConns {
			return false
		}
		d.guests++
		d.by[uid]++
	}
	d.inside++
	return true
}

func (d *door) exit(uid uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inside--
	if d.inside == 0 {
		select {
		case d.left <- struct{}{}:
		default:
		}
	}
	if d.keeps(uid) {
		return
	}
	d.guests--
	if d.by[uid]--; d.by[uid] == 0 {
		delete(d.by, uid)
	}
}

// empty waits until nobody is inside any more, but no longer than a limit. It
// is for a door that is closed.
func (d *door) empty(limit time.Duration) {
	late := time.After(limit)
	for d.count() > 0 {
		select {
		case <-d.left:
		case <-late:
			return
		}
	}
}

func (d *door) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.inside
}

package api

import (
	"context"
	"errors"
	"net"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"syscall"
)

// askedConn is a connection that is read only after a part of the first request was written. The daemon
// may refuse a connection before it reads a request. Without this type, net/http would log that refusal
// instead of returning it as the response.
type askedConn struct {
	net.Conn
	asked  chan struct{} // closed when something was written, or the connection is closed
	ask    func()
	reused atomic.Bool // it is used by a later request than the first
}

func newAskedConn(c net.Conn) net.Conn {
	asked := make(chan struct{})
	return &askedConn{Conn: c, asked: asked, ask: sync.OnceFunc(func() { close(asked) })}
}

// noteReuse returns the context of a request, which sets reused of its connection.
func noteReuse(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if c, ok := info.Conn.(*askedConn); ok && info.Reused {
			c.reused.Store(true)
		}
	}})
}

// Write writes a part of a request. It succeeds too if the daemon has closed the connection instead of
// reading the first request: Read returns the answer, or the error.
func (c *askedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.ask()
	if !c.reused.Load() && (errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)) {
		return len(p), nil
	}
	return n, err
}

func (c *askedConn) Read(p []byte) (int, error) {
	<-c.asked
	return c.Conn.Read(p)
}

func (c *askedConn) Close() error {
	c.ask()
	return c.Conn.Close()
}

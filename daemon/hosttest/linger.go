package hosttest

import (
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/descriptor"
)

// SendLingering sends a message over a socket, with the last descriptor of a connection whose close waits
// for an hour. Nobody may read the message before SendLingering returns.
func SendLingering(t testing.TB, to *net.UnixConn) {
	t.Helper()
	c := unread(t)
	control(t, c, func(fd int) (err error) {
		for err == nil {
			_, err = unix.Write(fd, make([]byte, 64<<10))
		}
		if err == unix.EAGAIN {
			return nil
		}
		return err
	})
	if err := c.SetLinger(3600); err != nil {
		t.Fatal(err)
	}
	control(t, c, func(descriptor int) error {
		control(t, to, func(fd int) error { return unix.Sendmsg(fd, []byte("x"), unix.UnixRights(descriptor), nil, 0) })
		return nil
	})
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// control calls a function with the descriptor of a connection.
func control(t testing.TB, c syscall.Conn, do func(fd int) error) {
	t.Helper()
	if _, err := descriptor.Use(c, func(fd int) (any, error) { return nil, do(fd) }); err != nil {
		t.Fatal(err)
	}
}

// unread returns a connection whose other end reads nothing until the test ends.
func unread(t testing.TB) *net.TCPConn {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.DialTCP("tcp", nil, l.Addr().(*net.TCPAddr))
	if err != nil {
		t.Fatal(err)
	}
	other, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	return c
}

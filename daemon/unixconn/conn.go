// Package unixconn owns reading and closing the unix sockets to which users of the host send, so that
// no user can block the reader.
//
// A message on such a socket can carry descriptors. If the reader does not accept them, the kernel closes
// them in the thread that reads the message or closes the socket. If one of them is the last descriptor
// of a TCP connection with SO_LINGER, that thread waits as long as its sender has chosen, unless it
// receives a signal.
package unixconn

import (
	"io"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/descriptor"
)

// patience limits the time that a thread waits in the kernel: then a signal interrupts it.
const patience = 20 * time.Millisecond

// Conn is a socket. Read, ReadMessage and Close do not wait long for descriptors that others send.
type Conn struct{ *net.UnixConn }

// Read reads from a stream socket. It returns io.EOF after the other side has closed the connection.
func (c Conn) Read(p []byte) (n int, err error) {
	n, err = c.receive(func(fd int) (int, error) { return unix.Read(fd, p) })
	if n == 0 && err == nil && len(p) > 0 {
		err = io.EOF
	}
	return n, err
}

// ReadMessage reads a message and its control data.
func (c Conn) ReadMessage(text, control []byte) (n, size, flags int, err error) {
	n, err = c.receive(func(fd int) (n int, err error) {
		n, size, flags, _, err = unix.Recvmsg(fd, text, control, 0)
		return n, err
	})
	return n, size, flags, err
}

// receive calls a non-blocking read until it has read something.
func (c Conn) receive(read func(fd int) (int, error)) (n int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	closed := raw.Read(func(fd uintptr) bool {
		interruptibly(func() {
			for n, err = read(int(fd)); err == unix.EINTR; {
				n, err = read(int(fd))
			}
		})
		return err != unix.EAGAIN
	})
	if closed != nil {
		err = closed
	}
	return max(n, 0), err
}

// Close returns immediately. The socket is closed soon after that.
func (c Conn) Close() error {
	go interruptibly(func() { closeLast(c.UnixConn) })
	return nil
}

// Listener is a listening socket. Close does not wait long for descriptors in connections that nobody has
// accepted.
type Listener struct{ *net.UnixListener }

// Close returns immediately, as Conn.Close does.
func (l Listener) Close() error {
	go interruptibly(func() { closeLast(l.UnixListener) })
	return nil
}

// closeLast keeps a second descriptor until all readers have returned, because the thread that closes the
// last one also closes the descriptors in messages that nobody has read.
func closeLast(socket interface {
	syscall.Conn
	io.Closer
}) {
	last, err := descriptor.Copy(socket)
	_ = socket.Close()
	if err == nil {
		_ = unix.Close(last)
	}
}

// interruptibly calls a function in a locked thread. After patience, signals interrupt its waits in the
// kernel.
func interruptibly(do func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread := unix.Gettid()
	var over atomic.Bool
	late := time.AfterFunc(patience, func() {
		for ; !over.Load(); time.Sleep(patience) {
			_ = unix.Tgkill(os.Getpid(), thread, unix.SIGURG) // harmless, because Go's runtime also sends it
		}
	})
	defer late.Stop()
	defer over.Store(true)
	do()
}

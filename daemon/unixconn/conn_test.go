package unixconn

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/hosttest"
)

// pair returns the two ends of a socket.
func pair(t *testing.T, kind int) (ours, theirs Conn) {
	t.Helper()
	ends, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var conns []Conn
	for _, end := range ends {
		f := os.NewFile(uintptr(end), "end")
		defer f.Close()
		c, err := net.FileConn(f)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, Conn{c.(*net.UnixConn)})
	}
	t.Cleanup(func() { conns[0].Close(); conns[1].UnixConn.Close() })
	return conns[0], conns[1]
}

// soon fails if a function does not return.
func soon(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(hosttest.Patience): // the close of a descriptor could wait for an hour
		t.Fatalf("%s waits for a descriptor that another process sent", what)
	}
}

func TestReadWaitsForNoDescriptor(t *testing.T) {
	ours, theirs := pair(t, unix.SOCK_STREAM)
	hosttest.SendLingering(t, theirs.UnixConn)
	soon(t, "Read", func() {
		if n, err := ours.Read(make([]byte, 10)); n != 1 || err != nil {
			t.Errorf("read %d bytes, error %v", n, err)
		}
	})
}

func TestReadMessageWaitsForNoDescriptor(t *testing.T) {
	ours, theirs := pair(t, unix.SOCK_DGRAM)
	hosttest.SendLingering(t, theirs.UnixConn)
	soon(t, "ReadMessage", func() {
		if n, _, flags, err := ours.ReadMessage(make([]byte, 10), nil); n != 1 || flags&unix.MSG_CTRUNC == 0 || err != nil {
			t.Errorf("read %d bytes with flags %x, error %v", n, flags, err)
		}
	})
}

// TestCloseWaitsForNoDescriptor: nobody has read the message.
func TestCloseWaitsForNoDescriptor(t *testing.T) {
	ours, theirs := pair(t, unix.SOCK_STREAM)
	hosttest.SendLingering(t, theirs.UnixConn)
	soon(t, "Close", func() {
		ours.Close()
		if _, err := theirs.Read(make([]byte, 10)); err != io.EOF && !errors.Is(err, unix.ECONNRESET) {
			t.Errorf("got %v, want that the socket is closed", err)
		}
	})
}

// TestCloseEndsRead: a reader that waits returns.
func TestCloseEndsRead(t *testing.T) {
	ours, theirs := pair(t, unix.SOCK_STREAM)
	ended := make(chan error)
	go func() {
		var err error
		for err == nil {
			_, err = ours.Read(make([]byte, 10))
		}
		ended <- err
	}()
	soon(t, "Close", func() {
		if _, err := theirs.Write([]byte("x")); err != nil {
			t.Error(err)
		}
		ours.Close()
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("got %v", err)
		}
	})
}

// TestReadUntil: a deadline and the end of the other side end a read.
func TestReadUntil(t *testing.T) {
	ours, theirs := pair(t, unix.SOCK_STREAM)
	if err := ours.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := ours.Read(make([]byte, 10)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("past the deadline: %v", err)
	}
	if err := ours.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	if _, err := ours.Read(make([]byte, 10)); err != io.EOF {
		t.Errorf("closed by the other side: %v", err)
	}
}

package server

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/cronring/cronring/daemon/hosttest"
)

// sendLingering leaves a message on a new connection whose descriptor waits for an hour when it is closed.
func sendLingering(t *testing.T, path string) {
	t.Helper()
	hosttest.SendLingering(t, connect(t, path).(*net.UnixConn))
}

// TestRejectedDescriptors: a rejected connection with a descriptor does not delay the next one.
func TestRejectedDescriptors(t *testing.T) {
	path := t.TempDir() + "/s"
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	sendLingering(t, path)
	connect(t, path)
	admin := false // at the second connection
	limited := newLimitedListener(l, func(uint32) share { defer func() { admin = true }(); return share{admin: admin} }, nil)
	limited.nonAdmins = maxNonAdminConns
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := limited.Accept()
		if err != nil {
			t.Error(err)
		}
		accepted <- c
	}()
	c := await(t, "the connection after the rejected one", accepted)
	c.Close()
}

// TestDescriptorsLeaveTheServerItsEnd: a connection with a descriptor does not delay the end of the daemon.
func TestDescriptorsLeaveTheServerItsEnd(t *testing.T) {
	w := newWorld(t, etlCrontab)
	path := t.TempDir() + "/s"
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	sendLingering(t, path)
	stop := w.serveOn(l, w.server())
	if _, err := statusOn(path); err != nil { // the connection before it is served
		t.Error(err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestDescriptorsLeaveTheListenerItsEnd: a connection with a descriptor that nobody has accepted does not
// delay the end of the daemon.
func TestDescriptorsLeaveTheListenerItsEnd(t *testing.T) {
	path := t.TempDir() + "/s"
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t, path).(*net.UnixConn)
	hosttest.SendLingering(t, c)
	closed := make(chan error, 1)
	go func() { closed <- newLimitedListener(l, nil, nil).Close() }()
	if err := await(t, "the end of the listener", closed); err != nil {
		t.Error(err)
	}
	if _, err := c.Read(make([]byte, 1)); err != io.EOF && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v, want that the connection is closed", err)
	}
}

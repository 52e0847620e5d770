package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"

	"github.com/cronring/cronring/daemon/wake"
)

// connect makes a connection to systemd's private socket.
func connect(ctx context.Context) (*dbus.Conn, error) {
	conn, err := dbus.NewConnection(func() (*godbus.Conn, error) {
		conn, err := godbus.Dial("unix:path=/run/systemd/private")
		if err != nil {
			return nil, err
		}
		if err = conn.Auth([]godbus.Auth{godbus.AuthExternal(strconv.Itoa(os.Geteuid()))}); err == nil {
			err = greet(ctx, conn)
		}
		if err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return conn, nil
	})
	if err != nil {
		return nil, fmt.Errorf("connect to systemd: %w", err)
	}
	return conn, nil
}

// answer is the time limit for systemd to answer on a new connection. While it reloads, it does not
// answer for seconds.
const answer = time.Minute

// greet waits until systemd answers. If systemd reads a message together with the end of the
// authentication, it does not process the message before the next one arrives. If that message has
// descriptors with it, systemd closes the connection.
func greet(ctx context.Context, conn *godbus.Conn) error {
	systemd := conn.Object("org.freedesktop.systemd1", "/org/freedesktop/systemd1")
	late := time.Now().Add(answer)
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		limited, cancel := context.WithTimeout(ctx, pause)
		err := systemd.CallWithContext(limited, "org.freedesktop.DBus.Peer.Ping", 0).Err
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil || time.Now().After(late) {
			return err
		}
	}
}

// link is a connection that is made when it is first needed, and again after it was lost. systemd
// closes all connections whenever it re-executes itself.
type link struct {
	semaphore chan struct{} // semaphore of capacity 1 that guards conn
	conn      *dbus.Conn
}

// get returns the connection. It tries until ctx is done.
func (l *link) get(ctx context.Context) (*dbus.Conn, error) {
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		conn, err := l.once(ctx)
		if err == nil {
			return conn, nil
		}
		if wake.Sleep(ctx, pause) != nil {
			return nil, fmt.Errorf("wait for systemd: %w", err)
		}
	}
}

func (l *link) once(ctx context.Context) (*dbus.Conn, error) {
	select {
	case l.semaphore <- struct{}{}:
		defer func() { <-l.semaphore }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if l.conn != nil && l.conn.Connected() {
		return l.conn, nil
	}
	if l.conn != nil {
		l.conn.Close()
	}
	var err error
	l.conn, err = connect(ctx)
	return l.conn, err
}

// isLost reports whether a call failed because the connection ended, and not because systemd
// rejected the call or the context was done.
func isLost(err error) bool {
	return err != nil && !isRejected(err) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// isRejected reports whether systemd answered a call with an error.
func isRejected(err error) bool {
	_, ok := errors.AsType[godbus.Error](err)
	return ok
}

// property makes a property of a unit.
func property(name string, value any) dbus.Property {
	return dbus.Property{Name: name, Value: godbus.MakeVariant(value)}
}

// command is the type of ExecStart.
type command struct {
	Path  string
	Argv  []string
	Clean bool // ignore a failure
}

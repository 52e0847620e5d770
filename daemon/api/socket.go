package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/cronring/cronring/daemon/descriptor"
	"github.com/cronring/cronring/daemon/wake"
)

// SystemSocket is the path of the system daemon's socket.
const SystemSocket = "/run/cronring/cronring.sock"

// FindSocket returns the socket to connect to: $CRONRING_SOCKET, else SystemSocket if it exists,
// else the socket of a daemon that this user runs (UserSocket). For root it is never UserSocket:
// $HOME can be another user's, because sudo may keep it.
func FindSocket(getenv func(string) string) string { return findSocket(getenv, os.Geteuid()) }

func findSocket(getenv func(string) string, uid int) string {
	if named := getenv("CRONRING_SOCKET"); named != "" {
		return named
	}
	if _, err := os.Lstat(SystemSocket); err == nil || uid == 0 {
		return SystemSocket
	}
	return UserSocket(getenv)
}

// UserSocket is the default socket of a daemon that a user runs in the foreground.
func UserSocket(getenv func(string) string) string {
	state := getenv("XDG_STATE_HOME")
	if state == "" {
		state = filepath.Join(getenv("HOME"), ".local", "state")
	}
	return filepath.Join(state, "cronring", "cronring.sock")
}

// Connect connects to the daemon's socket at a path. The path may come from the
// environment or lie in a directory of another user, so the daemon must be
// root's or the caller's own: the file must belong to one of them, and according
// to the kernel one of them must listen there. Otherwise the error is an Error
// of kind NotAllowed, and nothing has been sent.
func Connect(ctx context.Context, path string) (net.Conn, error) {
	conn, err := dialSocket(ctx, path)
	if err != nil {
		return nil, err
	}
	if err := checkOwner(conn.(*net.UnixConn), path, os.Geteuid()); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// Probe connects to the daemon that FindSocket finds, and returns why that fails.
func Probe(ctx context.Context) error {
	conn, err := Connect(ctx, FindSocket(os.Getenv))
	if err == nil {
		conn.Close()
	}
	return err
}

// ConnectOwn connects to an abstract socket on which the caller must listen: another user could have taken
// its address.
func ConnectOwn(ctx context.Context, address string) (net.Conn, error) {
	return connectOwn(ctx, address, os.Geteuid())
}

func connectOwn(ctx context.Context, address string, self int) (net.Conn, error) {
	conn, err := dialSocket(ctx, address)
	if err != nil {
		return nil, err
	}
	uid, err := listenerOf(conn.(*net.UnixConn))
	if err == nil && uid != uint32(self) {
		err = fmt.Errorf("another user listens on %s", address)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// How long to wait for room in the socket's queue, which another user may keep
// full by connecting in a loop.
const (
	queueTime  = 10 * time.Second
	queuePause = time.Millisecond
)

// dialSocket connects to a socket. If its queue is full, it tries again.
func dialSocket(ctx context.Context, path string) (net.Conn, error) {
	for begun := time.Now(); ; {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
		if !errors.Is(err, syscall.EAGAIN) || time.Since(begun) > queueTime {
			return conn, err
		}
		if err := wake.Sleep(ctx, queuePause); err != nil {
			return nil, err
		}
	}
}

// checkOwner returns an error unless root or the user uid owns the socket.
func checkOwner(conn *net.UnixConn, path string, uid int) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	listener, err := listenerOf(conn)
	if err != nil {
		return fmt.Errorf("find who listens on %s: %w", path, err)
	}
	for _, owner := range []uint32{listener, info.Sys().(*syscall.Stat_t).Uid} {
		if !slices.Contains([]uint32{0, uint32(uid)}, owner) {
			return foreignSocket(path, owner, uid)
		}
	}
	return nil
}

// listenerOf returns the uid that listened on the socket of a connection.
func listenerOf(conn *net.UnixConn) (uid uint32, err error) { return descriptor.Use(conn, peerUID) }

func foreignSocket(path string, owner uint32, uid int) *Error {
	number := strconv.FormatUint(uint64(owner), 10)
	name, as := "uid "+number, "'#"+number+"'"
	if u, err := user.LookupId(number); err == nil {
		name, as = u.Username+" ("+name+")", u.Username
	}
	e := &Error{
		V: Version, Kind: NotAllowed, What: "cannot ask the daemon: the socket " + path + " belongs to " + name,
		Why: "that user would see what you ask and could answer anything; you can ask root's daemon and your own",
		Fix: "unset CRONRING_SOCKET    or leave out --socket",
	}
	if uid == 0 {
		e.Why = "that user could read your requests and forge the answers; root uses only root's daemon"
		e.Fix += "    or ask as that user: sudo -u " + as + " cronring --socket " + path + " ..."
	}
	return e
}

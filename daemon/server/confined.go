package server

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/descriptor"
)

// errConfined rejects a change by a process that must not have the daemon do what it cannot do
// itself.
var errConfined = &api.Error{
	Kind: api.NotAllowed, What: "cannot change anything from a process that cannot gain privileges",
	Why: "runs with sandbox= or network=no are such processes, and could start jobs outside of their limits",
	Fix: "do it outside of the job",
}

// confined reports whether the process that connected cannot gain privileges (PR_SET_NO_NEW_PRIVS).
// That is so for a run with sandbox= or network=no and for all that it starts, forever. A process
// that has ended counts as one: a run could let it connect, end, and wait until its number belongs
// to another process. Root is never confined, and nobody is if the daemon itself is.
func confined(conn syscall.Conn, peer *syscall.Ucred) bool {
	if own, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); peer.Uid == 0 || err == nil && own == 1 {
		return false
	}
	same, done := process(conn)
	defer done()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(int(peer.Pid)) + "/status")
	return err != nil || !strings.Contains(string(status), "\nNoNewPrivs:\t0\n") || !same()
}

// process returns a function that reports whether the process that connected still exists, and one
// that must be called at the end.
func process(conn syscall.Conn) (exists func() bool, done func()) {
	pidfd, err := descriptor.Use(conn, func(fd int) (int, error) { return unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PEERPIDFD) })
	switch {
	case errors.Is(err, unix.ENOPROTOOPT): // before Linux 6.5, the number must do
		return func() bool { return true }, func() {}
	case err != nil:
		return func() bool { return false }, func() {}
	}
	return func() bool { return unix.PidfdSendSignal(pidfd, 0, nil, 0) == nil }, func() { _ = unix.Close(pidfd) }
}

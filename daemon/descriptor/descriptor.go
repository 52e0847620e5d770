// Package descriptor owns system calls on the descriptors of open files and sockets.
package descriptor

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// Use calls f with the descriptor of a file or socket, which stays open until f returns. Unlike File.Fd
// it does not make the file blocking.
func Use[T any](c syscall.Conn, f func(fd int) (T, error)) (v T, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return v, err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { v, failed = f(int(fd)) })
	return v, errors.Join(err, failed)
}

// Copy returns a second descriptor of a file or socket. The caller closes it.
func Copy(c syscall.Conn) (fd int, err error) {
	return Use(c, func(fd int) (int, error) { return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3) })
}

// Package epoll owns the sets of descriptors that become readable, which Go's poller watches, so that
// waiting blocks no thread.
package epoll

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Set is an epoll instance.
type Set struct {
	fd   int
	file *os.File // the same instance
	conn syscall.RawConn
}

// Open makes an empty set.
func Open() (*Set, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create epoll: %w", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, errors.Join(fmt.Errorf("create epoll: %w", err), unix.Close(fd))
	}
	file := os.NewFile(uintptr(fd), "epoll")
	conn, err := file.SyscallConn()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create epoll: %w", err), file.Close())
	}
	return &Set{fd: fd, file: file, conn: conn}, nil
}

// Close closes the set. The descriptors in it stay open.
func (s *Set) Close() error { return s.file.Close() }

// Add adds a descriptor. With changes, Wait returns it once for each change, otherwise as long as it is
// readable.
func (s *Set) Add(fd int, changes bool) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}
	if changes {
		event.Events |= unix.EPOLLET
	}
	return unix.EpollCtl(s.fd, unix.EPOLL_CTL_ADD, fd, &event)
}

// Remove removes a descriptor.
func (s *Set) Remove(fd int) error { return unix.EpollCtl(s.fd, unix.EPOLL_CTL_DEL, fd, nil) }

// SetDeadline has Wait return os.ErrDeadlineExceeded at a time; the zero time never does. It can be called
// while another goroutine waits.
func (s *Set) SetDeadline(at time.Time) {
	if err := s.file.SetReadDeadline(at); err != nil {
		panic(fmt.Sprintf("set deadline: %v", err)) // the poller takes every epoll instance
	}
}

// Wait waits until a descriptor is ready, and returns the number of events. It reads nothing if the
// deadline has passed: see Poll.
func (s *Set) Wait(events []unix.EpollEvent) (n int, err error) {
	var failed error
	err = s.conn.Read(func(fd uintptr) bool {
		n, failed = unix.EpollWait(int(fd), events, 0)
		return n != 0
	})
	return max(n, 0), errors.Join(err, failed)
}

// Poll returns the number of events that there are now.
func (s *Set) Poll(events []unix.EpollEvent) int {
	n, _ := unix.EpollWait(s.fd, events, 0)
	return max(n, 0)
}

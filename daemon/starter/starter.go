package starter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Name is argv[0] of the starter.
const Name = "cronring-starter"

// patience is how long the daemon waits for the starter's answer, which takes less than a
// millisecond. After that it replaces the starter.
const patience = 20 * time.Second

// ErrUnknown reports that the starter ended, or was ended because it did not
// answer, after it had read the request: it is not known whether the process was
// started.
var ErrUnknown = errors.New("the process that starts jobs ended unexpectedly; another one takes its place")

// Starter is the daemon's side. The zero value is ready for use; the process is
// started when it is first needed. Its methods must not be called concurrently.
type Starter struct {
	pid  int   // 0: none, or reaped
	conn int   // our end of the socket; 0: none
	peak int64 // see Peak
}

// Start starts a process, a child of this process, and returns its number as
// soon as it exists. Whether its command could be executed is reported through
// c.Status.
//
// It returns an errno if the process could not be made, and ErrUnknown.
func (s *Starter) Start(c *Command) (pid int, err error) {
	request, err := c.encode()
	if err != nil {
		return 0, err
	}
	rights := unix.UnixRights(c.descriptors()...)
	reply, err := s.exchange(request, rights)
	if errors.Is(err, errNotRead) { // by a starter that had ended before; a new one may do better
		s.Close()
		reply, err = s.exchange(request, rights)
	}
	if err != nil {
		s.Close()
		return 0, err
	}
	s.peak = int64(reply.peak) << 10
	if reply.errno != 0 {
		return 0, syscall.Errno(reply.errno)
	}
	return int(reply.pid), nil
}

// open starts the starter. It is the only process that the daemon forks itself:
// it has the daemon's own user, and no user can delay it.
func (s *Starter) open() error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("start the starter: %w", err)
	}
	defer unix.Close(pair[1])
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return errors.Join(fmt.Errorf("start the starter: %w", err), unix.Close(pair[0]))
	}
	defer unix.Close(null)
	limit := unix.NsecToTimeval(patience.Nanoseconds())
	err = errors.Join(
		unix.SetsockoptTimeval(pair[0], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit),
		unix.SetsockoptTimeval(pair[0], unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit),
	)
	if err == nil {
		s.pid, err = syscall.ForkExec("/proc/self/exe", []string{Name}, &syscall.ProcAttr{
			Dir: "/", Env: []string{"GOMAXPROCS=1", "GOTRACEBACK=single"},
			Files: []uintptr{uintptr(null), uintptr(null), 2, uintptr(pair[1])},
			Sys:   &syscall.SysProcAttr{Setpgid: true}, // signals of a terminal do not reach it
		})
	}
	if err != nil {
		return errors.Join(fmt.Errorf("start the starter: %w", err), unix.Close(pair[0]))
	}
	s.conn = pair[0]
	return nil
}

// errNotRead reports that the starter ended before it had read the whole
// request: the process was not started.
var errNotRead = errors.New("start process: the process that starts jobs has ended")

// exchange sends a request and receives the reply.
func (s *Starter) exchange(request, rights []byte) (reply, error) {
	if s.conn == 0 {
		if err := s.open(); err != nil {
			return reply{}, err
		}
	}
	for sent := 0; sent < len(request); {
		n, err := unix.SendmsgN(s.conn, request[sent:], rights, nil, unix.MSG_NOSIGNAL)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return reply{}, fmt.Errorf("%w (%w)", errNotRead, err)
		}
		sent, rights = sent+n, nil
	}
	var answer [replySize]byte
	for got := 0; got < replySize; {
		n, err := unix.Read(s.conn, answer[got:])
		switch {
		case err == unix.EINTR:
		case err == unix.ECONNRESET: // what the kernel reports if a part was not read
			return reply{}, errNotRead
		case err != nil:
			return reply{}, fmt.Errorf("%w (%w)", ErrUnknown, err)
		case n == 0:
			return reply{}, ErrUnknown
		}
		got += max(n, 0)
	}
	return decodeReply(answer[:]), nil
}

// reply is the starter's answer.
type reply struct {
	pid   uint32
	errno uint32
	peak  uint32 // most resident memory of the starter, in KiB
}

const replySize = 12

func (r reply) encode(into []byte) {
	binary.LittleEndian.PutUint32(into, r.pid)
	binary.LittleEndian.PutUint32(into[4:], r.errno)
	binary.LittleEndian.PutUint32(into[8:], r.peak)
}

func decodeReply(from []byte) reply {
	return reply{binary.LittleEndian.Uint32(from), binary.LittleEndian.Uint32(from[4:]), binary.LittleEndian.Uint32(from[8:])}
}

// Reaped reports whether pid, a child that was just reaped, is the starter. The
// next Start makes another one.
func (s *Starter) Reaped(pid int) bool {
	if s.pid == 0 || pid != s.pid {
		return false
	}
	s.pid = 0
	s.Close()
	return true
}

// PID is the number of the starter's process, or 0.
func (s *Starter) PID() int { return s.pid }

// Peak is the most memory that the starter has used, in bytes. The kernel counts
// it as used by the processes that it has forked.
func (s *Starter) Peak() int64 { return s.peak }

// Close ends the starter, even if it no longer answers. Its children continue to run.
func (s *Starter) Close() {
	if s.conn != 0 {
		_ = unix.Close(s.conn)
		s.conn = 0
	}
	if s.pid != 0 {
		_ = unix.Kill(s.pid, unix.SIGKILL) // not reaped, so the number is still its own
		s.pid = 0
	}
}

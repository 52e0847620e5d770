package spawn

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/job"
)

// pump reads the output of all children. Its epoll instance hangs in Go's own
// poller, so that waiting parks no thread.
type pump struct {
	s    *Spawner
	fd   int
	file *os.File // the same epoll instance
	conn syscall.RawConn
	buf  []byte // for every read of every child

	// Guarded by Spawner.mu.
	streams   map[int32]stream // by descriptor, which the pump alone closes
	lingering []lingerer       // reaped children with an open pipe, oldest first
	stopped   bool
}

// stream is one output pipe of one child.
type stream struct {
	child *child
	name  job.Stream
}

// lingerer is a child that is read until a time.
type lingerer struct {
	child *child
	pipes pipes
	until time.Time
}

func openPump(s *Spawner) (*pump, error) {
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
	return &pump{
		s:       s,
		fd:      fd,
		file:    file,
		conn:    conn,
		buf:     make([]byte, 64<<10),
		streams: make(map[int32]stream),
	}, nil
}

// stop ends run. What a closed file does to a raw connection is an error that
// os keeps to itself, so that the deadline is the way to interrupt it.
func (p *pump) stop() {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.setDeadline(time.Unix(0, 1))
	p.stopped = true
}

func (p *pump) isStopped() bool {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.stopped
}

// count is how many pipes are open.
func (p *pump) count() int {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return len(p.streams)
}

// watch takes the pipes of a child over.
func (p *pump) watch(c *child, ends pipes) {
	if ends.count() == 0 {
		return
	}
	if err := p.addBoth(c, ends); err != nil {
		p.s.files.release(ends[:]...)
		p.s.note(c, outputLost, err)
	}
}

// addBoth holds the lock throughout, so that the pump sees nothing of a child
// before both pipes, or neither, are in the epoll set.
func (p *pump) addBoth(c *child, ends pipes) error {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	c.pipes = ends
	err := errors.Join(p.add(ends[0], c, job.Stdout), p.add(ends[1], c, job.Stderr))
	if err != nil {
		delete(p.streams, int32(ends[0]))
		delete(p.streams, int32(ends[1]))
		c.open = 0
	}
	return err
}

func (p *pump) add(fd int, c *child, name job.Stream) error {
	p.streams[int32(fd)] = stream{c, name}
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}
	return unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, fd, &event)
}

// linger lets a reaped child be read for a while longer: what it printed last
// may still be in the pipe, and background processes that it left behind may
// hold the pipe for ever. Spawner.mu is held.
func (p *pump) linger(c *child) {
	l := lingerer{c, c.pipes, time.Now().Add(p.s.options.Linger)}
	p.lingering = append(p.lingering, l)
	if len(p.lingering) == 1 {
		p.setDeadline(l.until)
	}
}

// setDeadline interrupts wait at a time; the zero time never does. After stop
// nothing puts the end off. Spawner.mu is held.
func (p *pump) setDeadline(at time.Time) {
	if p.stopped {
		return
	}
	if err := p.file.SetReadDeadline(at); err != nil {
		panic(fmt.Sprintf("set deadline: %v", err)) // the poller takes every epoll instance
	}
}

// run reads until stop.
func (p *pump) run() error {
	events := make([]unix.EpollEvent, 128)
	for {
		n, err := p.wait(events)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) && p.isStopped():
			return p.file.Close()
		case errors.Is(err, os.ErrDeadlineExceeded):
			p.expire()
		case err != nil:
			panic(fmt.Sprintf("await output: %v", err)) // the epoll instance is ours alone
		}
		at := now()
		for _, event := range events[:n] {
			p.read(event.Fd, at)
		}
	}
}

// wait asks the epoll instance when Go's poller says that it has something.
func (p *pump) wait(events []unix.EpollEvent) (n int, err error) {
	var failed error
	err = p.conn.Read(func(fd uintptr) bool {
		n, failed = unix.EpollWait(int(fd), events, 0)
		return n != 0
	})
	return max(n, 0), errors.Join(err, failed)
}

// read takes what one pipe has ready, a buffer's worth at most: a job that
// never stops printing must not keep the others waiting.
func (p *pump) read(fd int32, at time.Time) {
	p.s.mu.Lock()
	stream, ok := p.streams[fd]
	p.s.mu.Unlock()
	if !ok {
		return // closed in this round
	}
	n, err := unix.Read(int(fd), p.buf)
	switch {
	case n > 0:
		p.s.keep(stream.child, stream.name, at, p.buf[:n])
	case err == unix.EAGAIN || err == unix.EINTR:
	default:
		p.end(fd, stream.child)
	}
}

// end closes a pipe, and reports the child if that was the last of it. Closing
// alone would leave it in the epoll set for as long as a fork elsewhere holds a
// copy of our descriptors, and the pump would spin.
func (p *pump) end(fd int32, c *child) {
	if err := unix.EpollCtl(p.fd, unix.EPOLL_CTL_DEL, int(fd), nil); err != nil {
		panic(fmt.Sprintf("forget pipe: %v", err)) // it is in the set until here
	}
	p.s.mu.Lock()
	delete(p.streams, fd) // before its number is free for another pipe
	c.open--
	done := c.open == 0 && !c.outcome.IsZero()
	p.s.mu.Unlock()
	p.s.files.release(int(fd))
	if done {
		p.s.report(c)
	}
}

// expire ends the pipes of children that have lingered long enough.
func (p *pump) expire() {
	for _, l := range p.overdue(time.Now()) {
		for _, fd := range l.pipes {
			if p.holds(int32(fd), l.child) {
				p.end(int32(fd), l.child)
			}
		}
	}
}

// overdue takes out whoever's time is up, and sets the time for the next.
func (p *pump) overdue(at time.Time) []lingerer {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	n := 0
	for n < len(p.lingering) && !p.lingering[n].until.After(at) {
		n++
	}
	due := p.lingering[:n:n]
	p.lingering = p.lingering[n:]
	var next time.Time
	if len(p.lingering) > 0 {
		next = p.lingering[0].until
	}
	p.setDeadline(next)
	return due
}

// holds tells an open pipe of a child from a later one with the same number.
func (p *pump) holds(fd int32, c *child) bool {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.streams[fd].child == c
}

func now() time.Time { return time.Now().UTC().Round(0) }

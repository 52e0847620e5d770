package manager

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/wake"
)

// outbox holds messages for the manager, and the runs whose descriptors it stores.
type outbox struct {
	mu    sync.Mutex
	wake  chan struct{}      // queue is not empty
	queue []message          // messages that did not fit, in order
	kept  map[job.RunID]bool // runs that it stores, or is about to store
}

// message is a queued message.
type message struct {
	run   job.RunID // 0: no run
	state []byte
	fds   []int // copies of our own
}

// Keep stores copies of a run's descriptors, so that a daemon that starts after a crash finds them
// in Kept. A descriptor of 0 is none. They are safe when it returns, because sent messages survive
// their sender; they wait in this process only if the manager has a backlog. The caller may close
// its own at any time.
//
// The manager does not distinguish descriptors with the same name, so standard error gets O_APPEND,
// which has no effect at the reading end of a pipe.
func (m *Manager) Keep(run job.RunID, stdout, stderr, pidfd int) {
	if m.conn == nil {
		return
	}
	if stderr != 0 {
		mark(stderr)
	}
	fds := slices.DeleteFunc([]int{stdout, stderr, pidfd}, func(fd int) bool { return fd == 0 })
	if len(fds) == 0 {
		return
	}
	m.outbox.mu.Lock()
	defer m.outbox.mu.Unlock()
	m.outbox.kept[run] = true
	// FDPOLL=0 has the manager keep a pipe whose writer has ended: what it
	// wrote last is still in there.
	m.send(message{run, fmt.Appendf(nil, "FDSTORE=1\nFDPOLL=0\nFDNAME=run.%d", run), fds})
}

func mark(fd int) {
	if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err == nil {
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags|unix.O_APPEND) // a flag of every file
	}
}

// Forget takes a run that is over out of the store.
func (m *Manager) Forget(run job.RunID) {
	if m.conn == nil {
		return
	}
	s := &m.outbox
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.kept[run] {
		return
	}
	delete(s.kept, run)
	if i := slices.IndexFunc(s.queue, func(x message) bool { return x.run == run }); i >= 0 {
		s.queue[i].close()
		s.queue = slices.Delete(s.queue, i, i+1)
		return
	}
	m.send(message{run, fmt.Appendf(nil, "FDSTOREREMOVE=1\nFDNAME=run.%d", run), nil})
}

// Remember records that the store has descriptors of a run from another life of this process.
func (m *Manager) Remember(run job.RunID) {
	m.outbox.mu.Lock()
	defer m.outbox.mu.Unlock()
	m.outbox.kept[run] = true
}

// send sends a message to the manager, or queues it with copies of its descriptors. The outbox's
// lock is held.
func (m *Manager) send(x message) {
	s := &m.outbox
	if len(s.queue) == 0 && m.try(x) {
		return
	}
	copies := message{run: x.run, state: x.state}
	for _, fd := range x.fds {
		if own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, firstPassed); err == nil {
			copies.fds = append(copies.fds, own) // else out of descriptors: this one is lost with the daemon
		}
	}
	s.queue = append(s.queue, copies)
	wake.Up(s.wake)
}

// try sends a message without waiting, and reports whether it is out of our
// hands. UnixConn.WriteMsgUnix refuses a datagram socket that is connected.
func (m *Manager) try(x message) (gone bool) {
	raw, err := m.conn.SyscallConn()
	if err != nil {
		return true // closed
	}
	_ = raw.Write(func(conn uintptr) bool { // see Manager
		gone = unix.Sendmsg(int(conn), x.state, unix.UnixRights(x.fds...), nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT) != unix.EAGAIN
		return true
	})
	return gone
}

func (x message) close() {
	for _, fd := range x.fds {
		_ = unix.Close(fd) // a copy of our own
	}
}

// room is the time between two attempts if the manager has a backlog.
const room = 20 * time.Millisecond

// At the end, a manager with a backlog gets at most lastRoom, in steps of lastStep: the next daemon
// relies on the descriptors being stored.
const (
	lastRoom = time.Second
	lastStep = time.Millisecond
)

// Run sends what waits for room, until ctx ends.
func (m *Manager) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			for end := time.Now().Add(lastRoom); !m.flush() && time.Now().Before(end); {
				<-time.After(lastStep)
			}
			return nil
		case <-m.outbox.wake:
		case <-timer.C:
		}
		if !m.flush() {
			timer.Reset(room)
		}
	}
}

// flush sends what there is room for and reports whether that was all.
func (m *Manager) flush() bool {
	s := &m.outbox
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) > 0 {
		if !m.try(s.queue[0]) {
			return false
		}
		s.queue[0].close()
		s.queue = s.queue[1:]
	}
	s.queue = nil
	return true
}

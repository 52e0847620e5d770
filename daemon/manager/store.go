package manager

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/job"
)

// settle is how long a run must have lived before its descriptors are worth a
// message: most jobs end sooner, and a message costs the manager more than the
// start cost us.
const settle = 50 * time.Millisecond

// maxWaiting bounds the copies of descriptors that wait for settle; in a burst
// beyond it they are sent at once.
const maxWaiting = 200

// store is the daemon's side of the descriptor store.
type store struct {
	mu      sync.Mutex
	wake    chan struct{}
	queue   []job.RunID           // runs in waiting, oldest first; some may be over already
	waiting map[job.RunID]waiting // not yet sent
	kept    map[job.RunID]bool    // sent
}

// waiting is a run whose descriptors are not sent yet.
type waiting struct {
	fds   [3]int // copies; 0: none
	since time.Time
}

var keptWords = [3]string{"out", "err", "pid"}

// Keep gives copies of a run's descriptors to the store, so that a daemon
// that comes after a crash finds them in Kept. A descriptor of 0 is none. It
// keeps copies of its own, so that the caller may close these at any time.
func (m *Manager) Keep(run job.RunID, stdout, stderr, pidfd int) {
	if m.conn == nil {
		return
	}
	w := waiting{since: time.Now()}
	for i, fd := range []int{stdout, stderr, pidfd} {
		if fd == 0 {
			continue
		}
		copied, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, firstGiven)
		if err != nil {
			continue // out of descriptors: this one is lost with the daemon
		}
		w.fds[i] = copied
	}
	s := &m.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) >= maxWaiting {
		m.send(run, w)
		return
	}
	s.waiting[run] = w
	s.queue = append(s.queue, run)
	if len(s.queue) == 1 {
		s.nudge()
	}
}

// Forget takes a run that is over out of the store.
func (m *Manager) Forget(run job.RunID) {
	if m.conn == nil {
		return
	}
	s := &m.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if w, ok := s.waiting[run]; ok {
		w.close()
		delete(s.waiting, run)
		return
	}
	if !s.kept[run] {
		return
	}
	delete(s.kept, run)
	for _, what := range keptWords {
		m.tell(fmt.Sprintf("FDSTOREREMOVE=1\nFDNAME=%s.%d", what, run))
	}
}

// Run sends what has settled, until ctx ends; then everything.
func (m *Manager) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			m.flush(time.Time{})
			return nil
		case <-m.store.wake:
		case <-timer.C:
		}
		if next := m.flush(time.Now()); next > 0 {
			timer.Reset(next)
		}
	}
}

// Flush sends everything that waits: a successor must find it.
func (m *Manager) Flush() { m.flush(time.Time{}) }

// flush sends what has settled by now, or all if now is zero, and returns how
// long the next one still has to wait.
func (m *Manager) flush(now time.Time) time.Duration {
	s := &m.store
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) > 0 {
		run := s.queue[0]
		w, ok := s.waiting[run]
		if ok && !now.IsZero() {
			if left := settle - now.Sub(w.since); left > 0 {
				return left
			}
		}
		s.queue = s.queue[1:]
		if ok {
			delete(s.waiting, run)
			m.send(run, w)
		}
	}
	s.queue = nil
	return 0
}

// send gives descriptors away. FDPOLL=0 has the manager keep a pipe whose
// writer has ended: what it wrote last is still in there. The store's lock is
// held.
func (m *Manager) send(run job.RunID, w waiting) {
	defer w.close()
	for i, fd := range w.fds {
		if fd == 0 {
			continue
		}
		state := fmt.Appendf(nil, "FDSTORE=1\nFDPOLL=0\nFDNAME=%s.%d", keptWords[i], run)
		m.tellWith(state, fd)
	}
	m.store.kept[run] = true
}

// tellWith sends a descriptor along. UnixConn.WriteMsgUnix refuses a datagram
// socket that is connected.
func (m *Manager) tellWith(state []byte, fd int) {
	raw, err := m.conn.SyscallConn()
	if err != nil {
		return // closed
	}
	_ = raw.Write(func(conn uintptr) bool { // see Manager
		return unix.Sendmsg(int(conn), state, unix.UnixRights(fd), nil, unix.MSG_NOSIGNAL) != unix.EAGAIN
	})
}

func (w waiting) close() {
	for _, fd := range w.fds {
		if fd != 0 {
			_ = unix.Close(fd) // a copy of our own
		}
	}
}

// Remember says that the store has descriptors of a run which another life of
// this process gave it.
func (m *Manager) Remember(run job.RunID) {
	s := &m.store
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[run] = true
}

func (s *store) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

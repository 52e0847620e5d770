package spawn

import (
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/runoutput"
)

// pace counts how much of each user's output was read in this tick.
type pace struct {
	read  map[string]int // bytes
	all   int            // of all users
	since time.Time      // when the tick began
}

// In each tick paceBytes are read at most of one user, 100 MB a second. A pipe
// that the receiver is not ready for is read all the same after readyPatience:
// a log that takes nothing must not stop jobs.
const (
	paceTick      = 10 * time.Millisecond
	paceBytes     = 1 << 20
	readyPatience = time.Second
)

// A job prints some KB at a time, and to be woken for each costs more than to read
// it. After floodBytes in one tick the reader lets pipes fill for floodNap before it
// looks at them again. A pipe of 64 KiB that is full by then is still read faster
// than paceBytes allow.
const (
	floodBytes = 64 << 10
	floodNap   = 250 * time.Microsecond
)

// mayRead reports whether a stream can be read now. An output pipe that cannot
// is put aside until the next tick.
func (r *reader) mayRead(fd int32, s stream) bool {
	if !s.isOutput() {
		return true
	}
	at := time.Now() // monotonic, so that a clock that is set stops nothing
	if at.Sub(r.pace.since) >= paceTick {
		r.pace.begin(at)
	}
	ready := r.s.options.Ready == nil || r.s.options.Ready(s.child.user)
	switch {
	case r.pace.read[s.child.user] >= paceBytes:
	case ready || !s.since.IsZero() && at.Sub(s.since) >= readyPatience:
		if !s.since.IsZero() {
			s.since = time.Time{}
			r.put(fd, s)
		}
		return true
	case s.since.IsZero():
		s.since = at
	}
	r.putAside(fd, s)
	return false
}

func (s stream) isOutput() bool { return s.name == job.Stdout || s.name == job.Stderr }

func (r *reader) put(fd int32, s stream) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.streams[fd] = s
}

// putAside takes a pipe out of the epoll set until the next tick: a pipe that is
// left in it would be reported again and again.
func (r *reader) putAside(fd int32, s stream) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.leave(fd)
	s.waits = true
	r.streams[fd] = s
	r.waiting = append(r.waiting, waiter{fd, s.child})
	if len(r.waiting) == 1 {
		r.next = r.pace.since.Add(paceTick)
		r.setDeadline(r.nextDeadline())
	}
}

func (p *pace) begin(at time.Time) {
	clear(p.read)
	p.all, p.since = 0, at
}

func (p *pace) add(user string, n int) {
	p.read[user] += n
	p.all += n
}

// readOn begins a tick: pipes that were put aside return to the epoll set,
// oldest first, as many of each user as can be read in it.
func (r *reader) readOn() {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if len(r.waiting) == 0 || r.next.After(time.Now()) {
		return
	}
	r.pace.begin(time.Now())
	most := paceBytes / (len(r.buf) - runoutput.FrameHead)
	back := map[string]int{} // pipes, by user
	kept := r.waiting[:0]
	for _, w := range r.waiting {
		s, ok := r.streams[w.fd]
		switch user := w.child.user; {
		case !ok || s.child != w.child || !s.waits: // closed since
		case back[user] >= most:
			kept = append(kept, w)
		default:
			back[user]++
			s.waits = false
			r.streams[w.fd] = s
			r.enter(w.fd)
		}
	}
	clear(r.waiting[len(kept):])
	r.waiting = kept
	r.next = r.pace.since.Add(paceTick)
	r.setDeadline(r.nextDeadline())
}

func (r *reader) enter(fd int32) {
	if err := r.set.Add(int(fd), false); err != nil {
		panic("watch pipe again: " + err.Error()) // it was in the set before
	}
}

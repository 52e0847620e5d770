package spawn

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/epoll"
	"github.com/cronring/cronring/daemon/spawn/pipe"
	"github.com/cronring/cronring/daemon/spawn/runoutput"
)

// reader reads the output of all children.
type reader struct {
	s    *Spawner
	set  *epoll.Set // of the descriptors in streams, but for those that wait
	buf  []byte     // for every read of every child
	pace pace

	// Guarded by Spawner.mu.
	streams   map[int32]stream // by descriptor, which the reader alone closes
	waiting   []waiter         // output pipes that are not read for now, oldest first
	next      time.Time        // when they are looked at again
	lingering []lateReader     // reaped children with an open pipe, oldest first
	late      []*child         // tails with output to report
	lateAt    time.Time        // when it is reported
	slow      []*child         // tails without descriptors, in the order of reading
	slowAt    time.Time        // when some of them are
	pausing   *pauseRequest
	stopped   bool
}

// stream is one descriptor of one child: an output pipe, or one of three others that report its
// state.
type stream struct {
	child *child
	name  job.Stream

	waits bool      // it is in waiting, and not in the epoll set
	since time.Time // since when Options.Ready refuses it; zero: it does not
}

// waiter is a pipe that is not read for now. Its number may have been given to
// another pipe since, which has another child.
type waiter struct {
	fd    int32
	child *child
}

const (
	progressStream job.Stream = "progress" // what a new process reports before its command runs
	logStream      job.Stream = "log"      // what is wrong with the file of log=
	deathStream    job.Stream = "death"    // a pidfd
)

func openReader(s *Spawner) (*reader, error) {
	set, err := epoll.Open()
	if err != nil {
		return nil, err
	}
	return &reader{
		s:       s,
		set:     set,
		buf:     make([]byte, runoutput.FrameHead+64<<10),
		streams: make(map[int32]stream),
		pace:    pace{read: make(map[string]int)},
	}, nil
}

// stop ends run. What a closed file does to a raw connection is an error that
// os keeps to itself, so that the deadline is the way to interrupt it.
func (r *reader) stop() {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.setDeadline(time.Unix(0, 1))
	r.stopped = true
}

func (r *reader) isStopped() bool {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	return r.stopped
}

// room reports whether there are descriptors to spare for n more.
func (r *reader) room(n int) bool {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	return r.hasRoom(n)
}

func (r *reader) hasRoom(n int) bool {
	return int64(len(r.streams)+r.s.extra+n) <= r.s.files.Pipes.Load()
}

// spare reserves n descriptors that the reader does not read, if the limit allows it; a negative n
// releases them.
func (r *reader) spare(n int) bool {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if n > 0 && !r.hasRoom(n) {
		return false
	}
	r.s.extra += n
	return true
}

// watch begins to read the pipes of a child and the pipe for its reports.
func (r *reader) watch(c *child, ends pipe.Ends, status int) {
	err := r.addAll(c, ends, status)
	if err == nil {
		return
	}
	r.s.files.Release(ends[:]...)
	r.s.note(c, outputLost, err)
	r.assumeStarted(c, status)
}

// addAll holds the lock throughout, so that the reader sees nothing of a child
// before all of it, or nothing, is in the epoll set.
func (r *reader) addAll(c *child, ends pipe.Ends, status int) error {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	c.pipes = ends
	err := r.add(status, c, progressStream)
	for i, name := range pipeStreams {
		err = errors.Join(err, r.add(ends[i], c, name))
	}
	if err == nil {
		return nil
	}
	for _, fd := range append(ends[:], status) {
		_ = r.set.Remove(fd) // it may not be in the set
		delete(r.streams, int32(fd))
	}
	c.open -= ends.Count()
	return err
}

func (r *reader) addOne(fd int, c *child, name job.Stream) error {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	err := r.add(fd, c, name)
	if err != nil {
		delete(r.streams, int32(fd))
	}
	return err
}

// add ignores fd 0, which means none. A pidfd stays readable until the process is reaped, which may
// take a while: each change is reported once.
func (r *reader) add(fd int, c *child, name job.Stream) error {
	if fd == 0 {
		return nil
	}
	r.streams[int32(fd)] = stream{child: c, name: name}
	return r.set.Add(fd, name == deathStream)
}

// assumeStarted is for a child whose reports epoll cannot watch. Reading them to
// their end might take as long as its user likes.
func (r *reader) assumeStarted(c *child, status int) {
	r.s.files.Release(status)
	r.s.endStart(c)
	r.s.mu.Lock()
	c.open--
	r.s.mu.Unlock()
}

// setDeadline interrupts wait at a time; the zero time never does. After stop
// nothing puts the end off. Spawner.mu is held.
func (r *reader) setDeadline(at time.Time) {
	if !r.stopped && r.pausing == nil {
		r.set.SetDeadline(at)
	}
}

// run reads until stop.
func (r *reader) run() error {
	events := make([]unix.EpollEvent, 128)
	for {
		n, err := r.set.Wait(events)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) && r.isStopped():
			r.closeLate()
			return r.set.Close()
		case errors.Is(err, os.ErrDeadlineExceeded) && r.isPausing():
			r.waitForResume()
		case errors.Is(err, os.ErrDeadlineExceeded):
			r.readOn()
			r.expire()
			r.readSlow()
			r.reportLate(hasPassed)
			n = r.set.Poll(events) // Wait reads nothing if the next deadline has passed too
		case err != nil:
			panic(fmt.Sprintf("await output: %v", err)) // the epoll instance is ours alone
		}
		at := now()
		for _, event := range events[:n] {
			r.read(event, at)
		}
		if r.pace.all >= floodBytes && time.Since(r.pace.since) < paceTick {
			nap := unix.NsecToTimespec(int64(floodNap))
			_ = unix.Nanosleep(&nap, nil) // a signal may end it
		}
	}
}

// read takes what one pipe has ready, a buffer's worth at most: a job that
// never stops printing must not keep the others waiting. Nor must a user whose
// jobs print more than pace allows: they wait in the kernel, when they write.
func (r *reader) read(event unix.EpollEvent, at time.Time) {
	fd := event.Fd
	r.s.mu.Lock()
	stream, ok := r.streams[fd]
	r.s.mu.Unlock()
	switch {
	case !ok: // closed in this round
		return
	case stream.name == deathStream:
		r.s.seeDeath(stream.child, event.Events&unix.EPOLLHUP != 0, false)
		return
	case !r.mayRead(fd, stream):
		return
	}
	n, err := r.fetch(fd, stream)
	switch {
	case n > 0 && stream.name == progressStream:
		if full := stream.child.progress.Add(r.buf[runoutput.FrameHead : runoutput.FrameHead+n]); full {
			r.end(fd, stream)
		}
	case n > 0:
		r.take(stream, at, n)
		if stream.isOutput() {
			r.pace.add(stream.child.user, n)
		} else {
			r.end(fd, stream)
		}
	case err == unix.EAGAIN || err == unix.EINTR:
	default:
		r.end(fd, stream)
	}
}

// fetch reads a pipe into the buffer, behind the space for a frame's head. If
// the run's output is recorded, the file gets it first.
func (r *reader) fetch(fd int32, s stream) (n int, err error) {
	if s.isOutput() && r.s.records(s.child) {
		if n, ok, err := r.s.dir.Fetch(&s.child.file, s.child.run, int(fd), r.buf[runoutput.FrameHead:]); ok {
			return n, err
		}
	}
	return unix.Read(int(fd), r.buf[runoutput.FrameHead:])
}

// take passes on n bytes of the buffer: output, or the reason why the file of log= cannot be written. There
// is one reason, so the rest of that pipe is not read: its user could write to it forever, and the daemon's own
// words have no limit in the log.
func (r *reader) take(s stream, at time.Time, n int) {
	if s.name == logStream {
		r.s.note(s.child, "%s", bytes.TrimSpace(r.buf[runoutput.FrameHead:runoutput.FrameHead+min(n, mostLogWords)]))
		return
	}
	r.s.keep(s.child, s.name, at, r.buf[:runoutput.FrameHead+n])
}

// readRest reads what is left in a pipe of output or of log=, as it may have waited for its
// turn, and reports whether that was the end. A pipe holds little.
func (r *reader) readRest(fd int32, s stream) (ended bool) {
	if !s.isOutput() && s.name != logStream {
		return false
	}
	for range 16 {
		n, err := r.fetch(fd, s)
		if err == unix.EINTR {
			continue
		}
		if n <= 0 {
			return n == 0 && err == nil
		}
		r.take(s, now(), n)
		if s.name == logStream {
			return true
		}
	}
	return false
}

// records reports whether output of a child goes into a file.
func (s *Spawner) records(c *child) bool {
	return s.options.Runs != "" && c.tool == nil && !c.check && (c.tail == nil || s.options.Record || c.tail.left > 0)
}

// end closes a pipe, and reports the child if that was the last of it. The start
// is reported before that, so that no run ends before it began.
func (r *reader) end(fd int32, stream stream) {
	c := stream.child
	if stream.name == progressStream {
		r.s.endStart(c)
	}
	r.s.mu.Lock()
	r.forget(fd)
	c.open--
	if c.log.fd != 0 && r.hasPrinted(c) {
		r.s.closeLog(c)
		if c.tail != nil {
			r.s.killLogLater(c)
		}
	}
	done := c.open == 0 && (!c.outcome.IsZero() || r.s.loseUnseen(c))
	r.s.mu.Unlock()
	r.s.files.Release(int(fd))
	switch {
	case done && c.tail != nil:
		r.s.endTail(c)
	case done:
		r.s.report(c, nil)
	}
}

// forget removes a descriptor from the epoll set. Closing alone would leave it there while a copy
// is open, such as in a fork of another process, and the reader would spin. Spawner.mu is held, and
// the number cannot be reused before this.
func (r *reader) forget(fd int32) {
	if !r.streams[fd].waits {
		r.leave(fd)
	}
	delete(r.streams, fd)
}

func (r *reader) leave(fd int32) {
	if err := r.set.Remove(int(fd)); err != nil {
		panic(fmt.Sprintf("forget pipe: %v", err)) // it is in the set until here
	}
}

func (r *reader) nextDeadline() (next time.Time) {
	if len(r.lingering) > 0 {
		next = r.lingering[0].until
	}
	if len(r.waiting) > 0 && (next.IsZero() || r.next.Before(next)) {
		next = r.next
	}
	if len(r.late) > 0 && (next.IsZero() || r.lateAt.Before(next)) {
		next = r.lateAt
	}
	if len(r.slow) > 0 && (next.IsZero() || r.slowAt.Before(next)) {
		next = r.slowAt
	}
	return next
}

// holds distinguishes an open pipe of a child from a later one with the same number.
func (r *reader) holds(fd int32, c *child) (stream, bool) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	stream, ok := r.streams[fd]
	return stream, ok && stream.child == c
}

func now() time.Time { return time.Now().UTC().Round(0) }

// chunkBytes is the size of a chunk in addition to its data.
const chunkBytes = int64(unsafe.Sizeof(job.Chunk{}))

// minRoom is how many bytes of output memory is reserved for at first: few runs print more.
const minRoom = 4 << 10

// makeRoom takes memory for n more bytes of a run's output. If the share of the
// user does not allow that, the run keeps no more than it has room for by then,
// its first and its last bytes.
func (c *child) makeRoom(n int) {
	for want := min(c.out.Size()+n, c.limit); c.room < want; {
		step := min(max(c.room, minRoom), c.limit-c.room)
		if !c.memory.Grow(int64(step) * runoutput.Cost) {
			c.limit = c.room
			return
		}
		c.room += step
	}
}

// endRecording returns the file of an ended run and the space that it uses, if Claim accepts it.
// Otherwise dir.Remove must be called once the end is reported.
func (s *Spawner) endRecording(c *child) (path string, space *budget.Lease) {
	s.dir.Close(&c.file)
	if c.file.Begun && s.options.Claim != nil && s.options.Claim(c.run) {
		return s.dir.Base(c.run), c.file.Space
	}
	return "", nil
}

// note adds the daemon's own words to a run's output.
func (s *Spawner) note(c *child, format string, args ...any) {
	s.appendOutput(c, job.System, format, args...)
}

func (s *Spawner) appendOutput(c *child, stream job.Stream, format string, args ...any) {
	room := make([]byte, runoutput.FrameHead, 256)
	s.keep(c, stream, now(), fmt.Appendf(room, format+"\n", args...))
}

// keep takes a piece of output, which has room for a frame's head before it.
// The memory is the caller's again afterwards.
func (s *Spawner) keep(c *child, stream job.Stream, at time.Time, room []byte) {
	data := room[runoutput.FrameHead:]
	switch {
	case c.tool != nil:
		c.tool.keep(stream, data)
		return
	case c.check:
		return
	case c.tail != nil:
		s.keepLate(c, stream, at, room)
		return
	}
	c.makeRoom(len(data))
	c.out.Add(c.limit, stream, at, data)
	if stream != job.System {
		c.log.write(data)
	}
	if s.options.Runs != "" {
		s.dir.Record(&c.file, c.run, stream, at, room)
	}
	if s.options.Live != nil {
		s.options.Live(job.Chunk{Run: c.run, Job: c.job, User: c.user, Stream: stream, At: at, Data: data})
	}
}

package spawn

import (
	"fmt"
	"time"

	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/handed"
	"github.com/cronring/cronring/daemon/spawn/pipe"
	"github.com/cronring/cronring/daemon/spawn/runoutput"
	"github.com/cronring/cronring/daemon/spawn/self"
)

// A run ends when its first process does. Background processes of that process keep the output
// pipes. Under cron they stay alive, and so they must here. If the pipes were closed, SIGPIPE would
// end them at their next line.

// tail is the remainder of a run whose end was reported, while a process holds its output open.
type tail struct {
	left  int  // bytes of output that are still reported
	waits bool // child.out has output that is not reported yet
	slow  bool // it has no descriptors, and its pipes are opened now and then
	share *budget.Lease
}

const (
	lateSlow = "background processes of this run hold its output open, but too many pipes are open already: they are read slowly"
	lateShut = "background processes of this run hold its output open, but too many earlier runs of the user have such processes: the output is closed"
	lateFull = "further output of background processes of this run is not kept"
)

// In each slowTick some of the tails without descriptors are read. Otherwise
// their processes would wait for ever when the pipe is full.
const (
	slowTick  = time.Second
	slowBatch = 256
)

// maxSlow limits the tails without descriptors of all users, and as many of root. Each keeps files
// in Options.Runs for as long as a process holds its pipes open, also if their names are removed. So
// a user with too many gets no more runs whose pipes have names, and the output of further tails is
// closed.
const maxSlow = 2000

// tailShare returns how many descriptors the tails of users can take, and as many those of root. Runs
// need the others.
func tailShare(files *self.Files) int64 { return files.Pipes.Load() / 4 }

// leaveOpen makes a tail of a child that has lingered long enough, if a process
// holds an output pipe, and reports its end. Otherwise it returns false. It first reads
// what is left: on a busy machine, the end of a pipe may not have been read yet, and then
// no process holds it.
func (r *reader) leaveOpen(c *child) bool {
	if c.tool != nil || c.progress != nil {
		return false
	}
	outputs := r.outputsOf(c)
	for fd, stream := range outputs {
		if r.readRest(fd, stream) {
			delete(outputs, fd)
			r.end(fd, stream)
		}
	}
	if len(outputs) == 0 {
		return false
	}
	left := &tail{left: max(c.limit, minRoom)}
	switch {
	case !r.s.takeShare(c, left):
		r.s.note(c, lateShut)
		return false
	case left.slow:
		r.s.note(c, lateSlow)
	}
	r.s.report(c, left)
	if left.slow {
		r.closeOutputs(c, outputs)
		r.readSlowly(c)
	}
	return true
}

// takeShare takes the user's share for a tail: descriptors, or if there are too few, the right to have
// its pipes opened by their names. It returns false if neither is left.
func (s *Spawner) takeShare(c *child, t *tail) bool {
	if s.takeDescriptors(c, t) {
		return true
	}
	t.slow, t.share = true, s.slow.Lease(c.user)
	return c.named && t.share.Grow(1)
}

// takeDescriptors takes the user's share of descriptors for a tail. Its lease is empty if that fails.
func (s *Spawner) takeDescriptors(c *child, t *tail) bool {
	t.share = s.tails.Lease(c.user)
	return t.share.Grow(int64(len(c.pipes)))
}

func (r *reader) closeOutputs(c *child, outputs map[int32]stream) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	for fd := range outputs {
		r.forget(fd)
		r.s.files.Release(int(fd))
		c.open--
	}
}

// readSlowly has the pipes of a tail opened and read now and then.
func (r *reader) readSlowly(c *child) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.slow = append(r.slow, c)
	if len(r.slow) == 1 {
		r.slowAt = time.Now().Add(slowTick)
		r.setDeadline(r.nextDeadline())
	}
}

// readSlow reads the tails whose turn it is, if it is time for that.
func (r *reader) readSlow() {
	r.s.mu.Lock()
	var due []*child
	if len(r.slow) > 0 && hasPassed(r.slowAt) {
		n := min(len(r.slow), slowBatch)
		due, r.slow = r.slow[:n:n], r.slow[n:]
		r.slowAt = time.Now().Add(slowTick)
		r.setDeadline(r.nextDeadline())
	}
	r.s.mu.Unlock()
	for _, c := range due {
		if r.readNames(c) {
			r.readSlowly(c)
			continue
		}
		r.s.mu.Lock()
		done := c.open == 0
		if c.log.fd != 0 { // its end ends the tail
			r.s.closeLog(c)
			r.s.killLogLater(c)
		}
		r.s.mu.Unlock()
		if done {
			r.s.endTail(c)
		}
	}
}

// readNames reads what is in the pipes of a tail, and reports whether a process
// holds one of them open.
func (r *reader) readNames(c *child) (open bool) {
	if r.s.options.Runs == "" {
		return false
	}
	out, err := handed.OpenPipes(r.s.dir.Base(c.run))
	for i, fd := range []int{out, err} {
		if fd != 0 {
			open = !r.readRest(int32(fd), stream{child: c, name: pipeStreams[i]}) || open
			r.s.files.Release(fd)
		}
	}
	return open
}

// outputsOf returns the output pipes of a child that are open.
func (r *reader) outputsOf(c *child) map[int32]stream {
	outputs := map[int32]stream{}
	for _, fd := range c.pipes[:2] {
		if stream, ok := r.holds(int32(fd), c); ok && fd != 0 {
			outputs[int32(fd)] = stream
		}
	}
	return outputs
}

// begin lets a child take output again after what it had was reported.
func (t *tail) begin(s *Spawner, c *child) {
	if t.left < runoutput.MinLimit {
		t.left = 0
	}
	c.out, c.memory, c.room, c.limit = runoutput.Capture{}, s.options.Memory.Lease(c.user), 0, t.left
	if !s.options.Record {
		c.file = runoutput.File{Late: true, Space: s.space.Lease(c.user)}
	}
}

// keepLate takes a piece of output of a tail.
func (s *Spawner) keepLate(c *child, stream job.Stream, at time.Time, room []byte) {
	data := room[runoutput.FrameHead:]
	if stream != job.System {
		c.log.write(data)
	}
	switch {
	case s.options.Record:
		s.dir.Record(&c.file, c.run, stream, at, room)
	case c.tail.left > 0:
		c.makeRoom(len(data))
		c.out.Add(c.limit, stream, at, data)
		if s.options.Runs != "" {
			s.dir.Record(&c.file, c.run, stream, at, room)
		}
		if !c.tail.waits {
			c.tail.waits = true
			s.reader.reportLater(c)
		}
	}
}

// reportLater has the output of a tail reported together with that of others.
func (r *reader) reportLater(c *child) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.late = append(r.late, c)
	if len(r.late) == 1 {
		r.lateAt = time.Now().Add(r.s.options.Linger)
		r.setDeadline(r.nextDeadline())
	}
}

// reportLate reports what tails have, if it is time for that.
func (r *reader) reportLate(isTime func(time.Time) bool) {
	r.s.mu.Lock()
	var due []*child
	if len(r.late) > 0 && isTime(r.lateAt) {
		due, r.late = r.late, nil
		r.setDeadline(r.nextDeadline())
	}
	r.s.mu.Unlock()
	for _, c := range due {
		if c.tail.waits { // else it has ended
			r.s.sendLate(c, false)
		}
	}
}

// closeLate closes the files of tails with output that is not reported any more. The next daemon
// reads it there.
func (r *reader) closeLate() {
	for _, c := range r.late {
		r.s.dir.Close(&c.file)
	}
}

func always(time.Time) bool { return true }

func hasPassed(at time.Time) bool { return !at.After(time.Now()) }

// sendLate reports what a tail has.
func (s *Spawner) sendLate(c *child, last bool) {
	c.tail.waits = false
	c.tail.left -= c.out.Size()
	full := c.tail.left < runoutput.MinLimit && c.out.Size() > 0
	output := c.out.Chunks(c.run, c.job)
	if full {
		output = append(output, job.Chunk{Run: c.run, Job: c.job, Stream: job.System, At: now(), Data: fmt.Appendln(nil, lateFull)})
	}
	c.memory.Add(int64(len(output)) * chunkBytes)
	s.dir.Close(&c.file)
	late := Late{Run: c.run, User: c.user, Output: output, Memory: c.memory, Space: c.file.Space, Last: last}
	if c.file.Begun {
		late.File = s.dir.PathOf(&c.file, c.run)
	}
	c.tail.begin(s, c)
	s.events <- late
}

// endTail is called when the last process has closed the output of a run.
func (s *Spawner) endTail(c *child) {
	s.endLog(c)
	c.tail.share.Release()
	s.forgetNames(c)
	s.sendLate(c, true)
	c.memory.Release()
}

// lateReader is a child that is read until a time.
type lateReader struct {
	child *child
	pipes pipe.Ends
	until time.Time
}

// linger delays the report of a reaped child while a pipe is open: what it
// printed last may still be in the pipe. Background processes that it left
// behind may hold the pipe for ever. Spawner.mu is held.
func (r *reader) linger(c *child) {
	l := lateReader{c, c.pipes, time.Now().Add(r.s.options.Linger)}
	r.lingering = append(r.lingering, l)
	if len(r.lingering) == 1 {
		r.setDeadline(r.nextDeadline())
	}
}

// expire reports the children that have lingered long enough. The pipes that
// background processes hold stay open; the others are closed.
func (r *reader) expire() {
	for _, l := range r.overdue(time.Now()) {
		if r.lingerAgain(l.child) || r.leaveOpen(l.child) {
			continue
		}
		for _, fd := range l.pipes {
			if stream, ok := r.holds(int32(fd), l.child); ok {
				r.readRest(int32(fd), stream)
				r.end(int32(fd), stream)
			}
		}
	}
}

// lingerAgain lets a child linger once more if it has ended before its start could be reported: on a
// busy machine the reader may get to both late. Whether its background processes may keep its output
// depends on whether its command ran.
func (r *reader) lingerAgain(c *child) bool {
	if c.progress == nil || c.progress.Failure() != nil {
		return false
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.linger(c)
	return true
}

// overdue removes the lingerers whose time has passed, and sets the deadline for the next.
func (r *reader) overdue(at time.Time) []lateReader {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	n := 0
	for n < len(r.lingering) && !r.lingering[n].until.After(at) {
		n++
	}
	due := r.lingering[:n:n]
	r.lingering = r.lingering[n:]
	r.setDeadline(r.nextDeadline())
	return due
}

package spawn

import (
	"fmt"
	"time"

	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/handed"
	"github.com/cronring/cronring/daemon/spawn/runoutput"
)

// A run ends when its first process does. Background processes of that process keep the output
// pipes. Under cron they stay alive, and so they must here. If the pipes were closed, SIGPIPE would
// end them at their next line.

// tail is the remainder of a run whose end was reported, while a process holds its output open.
type tail struct {
	left  int  // bytes of output that are still reported
	waits bool // child.out has output that is not reported yet
	slow  bool // it has no descriptors, and its pipes are opened now and then
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
// a user with too many gets no more runs whose pipes have names.
const maxSlow = 2000

// tailBudget returns how many descriptors tails can take. Runs need the others.
func tailBudget(pipes int64) *budget.Budget { return budget.New(pipes/4, pipes/4) }

// leaveOpen makes a tail of a child that has lingered long enough, if a process
// holds an output pipe, and reports its end. Otherwise it returns false. It first reads
// what is left: on a busy machine, the end of a pipe may not have been read yet, and then
// no process holds it.
func (p *pump) leaveOpen(c *child) bool {
	if c.tool != nil || c.progress != nil {
		return false
	}
	outputs := p.outputsOf(c)
	for fd, stream := range outputs {
		if p.readRest(fd, stream) {
			delete(outputs, fd)
			p.end(fd, stream)
		}
	}
	if len(outputs) == 0 {
		return false
	}
	left := &tail{left: max(c.limit, minRoom), slow: !p.s.tails.Take(c.user, int64(len(c.pipes)))}
	switch {
	case left.slow && !c.named:
		p.s.note(c, lateShut)
		return false
	case left.slow:
		p.s.note(c, lateSlow)
		p.s.slow.Add(c.user, 1)
	}
	p.s.report(c, left)
	if left.slow {
		p.closeOutputs(c, outputs)
		p.readSlowly(c)
	}
	return true
}

func (p *pump) closeOutputs(c *child, outputs map[int32]stream) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	for fd := range outputs {
		p.forget(fd)
		p.s.files.Release(int(fd))
		c.open--
	}
}

// readSlowly has the pipes of a tail opened and read now and then.
func (p *pump) readSlowly(c *child) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.slow = append(p.slow, c)
	if len(p.slow) == 1 {
		p.slowAt = time.Now().Add(slowTick)
		p.setDeadline(p.nextDeadline())
	}
}

// readSlow reads the tails whose turn it is, if it is time for that.
func (p *pump) readSlow() {
	p.s.mu.Lock()
	var due []*child
	if len(p.slow) > 0 && hasPassed(p.slowAt) {
		n := min(len(p.slow), slowBatch)
		due, p.slow = p.slow[:n:n], p.slow[n:]
		p.slowAt = time.Now().Add(slowTick)
		p.setDeadline(p.nextDeadline())
	}
	p.s.mu.Unlock()
	for _, c := range due {
		if p.readNames(c) {
			p.readSlowly(c)
			continue
		}
		p.s.mu.Lock()
		done := c.open == 0
		if c.log.fd != 0 { // its end ends the tail
			p.s.closeLog(c)
			p.s.killLogLater(c)
		}
		p.s.mu.Unlock()
		if done {
			p.s.endTail(c)
		}
	}
}

// readNames reads what is in the pipes of a tail, and reports whether a process
// holds one of them open.
func (p *pump) readNames(c *child) (open bool) {
	if p.s.options.Runs == "" {
		return false
	}
	out, err := handed.OpenPipes(p.s.dir.Base(c.run))
	for i, fd := range []int{out, err} {
		if fd != 0 {
			open = !p.readRest(int32(fd), stream{child: c, name: pipeStreams[i]}) || open
			p.s.files.Release(fd)
		}
	}
	return open
}

// outputsOf returns the output pipes of a child that are open.
func (p *pump) outputsOf(c *child) map[int32]stream {
	outputs := map[int32]stream{}
	for _, fd := range c.pipes[:2] {
		if stream, ok := p.holds(int32(fd), c); ok && fd != 0 {
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
			s.pump.reportLater(c)
		}
	}
}

// reportLater has the output of a tail reported together with that of others.
func (p *pump) reportLater(c *child) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.late = append(p.late, c)
	if len(p.late) == 1 {
		p.lateAt = time.Now().Add(p.s.options.Linger)
		p.setDeadline(p.nextDeadline())
	}
}

// reportLate reports what tails have, if it is time for that.
func (p *pump) reportLate(isTime func(time.Time) bool) {
	p.s.mu.Lock()
	var due []*child
	if len(p.late) > 0 && isTime(p.lateAt) {
		due, p.late = p.late, nil
		p.setDeadline(p.nextDeadline())
	}
	p.s.mu.Unlock()
	for _, c := range due {
		if c.tail.waits { // else it has ended
			p.s.sendLate(c, false)
		}
	}
}

// closeLate closes the files of tails with output that is not reported any more. The next daemon
// reads it there.
func (p *pump) closeLate() {
	for _, c := range p.late {
		p.s.dir.Close(&c.file)
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
	if c.tail.slow {
		s.slow.Return(c.user, 1)
	} else {
		s.tails.Return(c.user, int64(len(c.pipes)))
	}
	s.forgetNames(c)
	s.sendLate(c, true)
	c.memory.Release()
}

package spawn

import (
	"cmp"
	"os"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/handed"
	"github.com/cronring/cronring/daemon/spawn/pipe"
	"github.com/cronring/cronring/daemon/spawn/runoutput"
)

// adoption is a run of another daemon until Run takes it in.
type adoption struct {
	child *child
	from  handed.Run
}

// Adopt takes over the processes of another daemon: all that Handover returned before exec or,
// after a crash, the remaining ones. It must be called before Run, which then reports their ends
// but not their starts.
//
// After a crash Child is false, and PID, Out, Err and PIDFD come from the service manager or from
// Find, as far as they exist:
//   - With a pidfd the outcome is known if the kernel reports it (Linux 6.15),
//     and lost if not; either way the end is noticed, and Kill works.
//   - With pipes alone the run is lost when both are closed.
//   - With neither it is lost immediately.
//
// The output before the crash comes from Options.Runs. Adopt also reads the remaining output of a
// run that has ended meanwhile, and of a tail.
func (s *Spawner) Adopt(children []handed.Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range children {
		c := s.adopted(&h)
		s.taken = append(s.taken, adoption{c, h})
		if c.tail != nil {
			continue
		}
		if c.outcome.IsZero() {
			s.living[c.run] = c
		}
		s.owed++
	}
}

// adopted makes a child from h. It keeps only descriptors of the expected type. Spawner.mu is held.
func (s *Spawner) adopted(h *handed.Run) *child {
	c := &child{
		run: h.Run, job: h.Job, user: h.User, pid: h.PID,
		memory: s.options.Memory.Lease(h.User), file: runoutput.File{Space: s.space.Lease(h.User)},
		outcome: h.Outcome, ended: h.Ended, usage: h.Usage, reached: h.Limit,
		limit: cmp.Or(h.OutputMax, s.options.Output, runoutput.DefaultLimit), stopped: h.Stopped, over: h.Over,
		session: h.Session && s.options.Sessions != nil,
		kept:    s.options.Keep != nil,
		named:   s.hasNames(h.Run),
		begun:   h.Progress == nil,
	}
	if c.session && h.Outcome.Kind == job.Lost { // the previous daemon could not query the session's manager
		h.Outcome = job.Outcome{}
		c.outcome = h.Outcome
	}
	ours := h.Child && !h.Session && (!h.Outcome.IsZero() || isChild(h.PID))
	c.foreign = !ours && !c.session
	if ours && h.Outcome.IsZero() {
		s.byPID[h.PID] = c
	}
	if !ours || h.Progress == nil {
		h.Status = 0 // this process does not wait for it, so another process's number is not valid here
	}
	c.group = s.groupOf(h)
	if h.LogStatus != 0 && pipe.Usable(h.Log) {
		c.log.fd = h.Log
		s.extra++
	}
	for _, fd := range []*int{&h.Out, &h.Err, &h.Status, &h.LogStatus} {
		if !pipe.Usable(*fd) {
			*fd = 0
			continue
		}
		c.open++
	}
	if h.Status != 0 {
		c.progress = h.Progress
	}
	switch {
	case !isPidfd(h.PIDFD):
	case c.session: // whose end comes another way
		s.files.Release(h.PIDFD)
	default:
		c.pidfd = h.PIDFD
	}
	if h.Tail {
		c.tail, c.file.Late = &tail{left: h.OutputMax}, true
		c.tail.begin(s, c)
		s.openTail(c, h)
		return c
	}
	s.remember(c, h)
	return c
}

// openTail opens the pipes of a tail within its user's share of descriptors. It is
// called before the daemon is ready, because what a process wrote is lost if it
// ends while nothing else has its pipe open. The tail had a share under the previous
// daemon, so it is never refused, but further ones can be. Spawner.mu is held.
func (s *Spawner) openTail(c *child, h *handed.Run) {
	switch {
	case s.takeDescriptors(c, c.tail):
	case c.named:
		c.tail.slow, c.tail.share = true, s.slow.Lease(c.user)
		c.tail.share.Add(1)
	default:
		c.tail.share.Add(int64(len(c.pipes)))
	}
	switch {
	case c.tail.slow:
		for _, fd := range []*int{&h.Out, &h.Err} {
			if *fd != 0 {
				s.files.Release(*fd)
				*fd = 0
				c.open--
			}
		}
	case h.Out == 0 && h.Err == 0 && c.named:
		h.Out, h.Err = handed.OpenPipes(s.dir.Base(c.run))
		c.open += pipe.Ends{h.Out, h.Err}.Count()
	}
}

// hasNames reports whether the pipes of a run of another daemon have names.
func (s *Spawner) hasNames(run job.RunID) bool {
	if s.options.Runs == "" {
		return false
	}
	_, err := os.Lstat(s.dir.Base(run) + pipe.OutSuffix)
	return err == nil
}

// isChild checks without reaping.
func isChild(pid int) bool {
	const options = unix.WEXITED | unix.WNOHANG | unix.WNOWAIT
	return pid > 0 && unix.Waitid(unix.P_PID, pid, nil, options, nil) == nil
}

// isPidfd sends no signal: any answer but that the file is of another kind
// will do.
func isPidfd(fd int) bool {
	if fd <= 2 {
		return false
	}
	err := unix.PidfdSendSignal(fd, 0, nil, 0)
	return err != unix.EBADF && err != unix.ENOSYS && err != unix.EINVAL
}

// remember restores the output that a run had printed. Spawner.mu is held.
func (s *Spawner) remember(c *child, h *handed.Run) {
	output := h.Output
	if s.options.Runs != "" {
		loaded := s.dir.Resume(&c.file, c.run)
		if !h.Child && len(output) == 0 {
			output = loaded
		}
	}
	for _, chunk := range output {
		c.makeRoom(len(chunk.Data))
	}
	c.out.Restore(c.limit, output)
}

// takeIn has the reader watch what was adopted. It runs before the reader and the
// process loop do.
func (s *Spawner) takeIn() {
	for _, a := range s.taken {
		s.takeOne(a.child, a.from)
	}
	s.taken = nil
	if s.options.Notify != nil {
		s.mu.Lock()
		s.extra += s.options.Notify.Count()
		s.mu.Unlock()
	}
	s.adoptCredentials()
}

func (s *Spawner) takeOne(c *child, from handed.Run) {
	if c.tail != nil && c.tail.slow {
		s.reader.readSlowly(c)
	}
	s.reader.watchAdopted(c, pipe.Ends{from.Out, from.Err, from.LogStatus}, from.Status)
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.tail != nil {
		if c.open == 0 && !c.tail.slow {
			s.loop.Call(func() { s.endTail(c) })
		}
		return
	}
	switch {
	case c.pidfd != 0 && (!c.foreign || !c.outcome.IsZero() || !c.over.IsZero()):
		s.extra++
		if !c.outcome.IsZero() {
			s.dropPidfd(c)
		}
	case c.pidfd != 0 && s.reader.add(c.pidfd, c, deathStream) != nil:
		delete(s.reader.streams, int32(c.pidfd))
		s.files.Release(c.pidfd)
		c.pidfd = 0
	}
	switch {
	case !c.outcome.IsZero() && c.open > 0:
		s.reader.linger(c)
	case !c.outcome.IsZero():
		s.loop.Call(func() { s.report(c, nil) })
	case !c.over.IsZero():
		s.awaitGroup(c)
	case c.session:
		s.awaitSession(c)
	case c.open == 0 && c.foreign && c.pidfd == 0:
		s.loop.Call(func() { s.giveUpUnseen(c) })
	}
}

func (s *Spawner) giveUpUnseen(c *child) {
	s.mu.Lock()
	done := c.outcome.IsZero() && s.loseUnseen(c)
	s.mu.Unlock()
	if done {
		s.report(c, nil)
	}
}

// watchAdopted does without a pipe that cannot be watched.
func (r *reader) watchAdopted(c *child, ends pipe.Ends, status int) {
	c.pipes = ends
	for i, name := range pipeStreams {
		if ends[i] == 0 {
			continue
		}
		if err := r.addOne(ends[i], c, name); err != nil {
			r.s.files.Release(ends[i])
			r.s.note(c, outputLost, err)
			c.open--
		}
	}
	if status != 0 && r.addOne(status, c, progressStream) != nil {
		r.assumeStarted(c, status)
	}
}

// groupOf finds the group of a run of another daemon.
func (s *Spawner) groupOf(h *handed.Run) Group {
	text := []byte(h.Group)
	if len(text) == 0 && s.options.Runs != "" {
		text, _ = os.ReadFile(s.dir.Base(h.Run) + groupSuffix) // most have none
	}
	if len(text) == 0 || s.options.Groups == nil {
		return nil
	}
	g, err := s.options.Groups.Find(text)
	if err != nil {
		return nil
	}
	return g
}

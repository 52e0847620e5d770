package spawn

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/spawn/command"
	"github.com/cronring/cronring/daemon/spawn/logfile"
	"github.com/cronring/cronring/daemon/spawn/pipe"
	"github.com/cronring/cronring/daemon/spawn/proc"
)

// A process of the run's user appends the output of a run with log=file:PATH to the file, and gets
// it through a pipe. So nothing is opened with root's rights, and a file that blocks, such as one
// on a network or on the user's own file system, delays only this process.

// logPipe is the maximum output in bytes that waits for such a file in the kernel's memory. When it
// is full, further output is missing from the file, and the run continues.
const logPipe = 256 << 10

// mostLogWords is the number of bytes that the user's process for log= can add to a run's output.
const mostLogWords = 512

// logFile is the connection to a run's file. The zero value means no file.
type logFile struct {
	fd   int   // 0: none, or closed
	pid  int   // of the process that writes; 0: it has ended
	lost int64 // bytes that the pipe did not accept

	unstarted bool // the process could not become the program that writes
	last      bool // all output of the run was passed to the process
}

// write never waits.
func (l *logFile) write(data []byte) {
	if l.fd == 0 {
		return
	}
	n, err := unix.Write(l.fd, data)
	if err != nil {
		n = 0
	}
	l.lost += int64(len(data) - n)
}

// openLog starts the process that writes a run's file. If it fails, the run continues without it.
func (s *Spawner) openLog(c *child, io *pipe.Stdio, file string, cmd command.Command) {
	status, input, err := s.startLog(c, file, cmd)
	if err != nil {
		s.note(c, logfile.CannotAppend, file, err)
		return
	}
	c.log.fd, io.Ours[2] = input, status
}

func (s *Spawner) startLog(c *child, file string, cmd command.Command) (status, input int, err error) {
	in, err := pipe.Open(nil)
	if err != nil {
		return 0, 0, err
	}
	defer s.files.Release(in[0])
	said, err := pipe.Open(nil)
	if err != nil {
		s.files.Release(in[1])
		return 0, 0, err
	}
	defer s.files.Release(said[1])
	err = errors.Join(unix.SetNonblock(in[0], false), unix.SetNonblock(in[1], true), s.admitLog(c.user))
	_, _ = unix.FcntlInt(uintptr(in[1]), unix.F_SETPIPE_SZ, logPipe) // a smaller one loses more
	if err == nil && (!s.reader.room(4) || !s.reader.spare(1)) {
		err = errNoneLeft
	}
	if err != nil {
		s.files.Release(in[1], said[0])
		return 0, 0, err
	}
	own := logfile.Command(file, cmd.Cred)
	request := own.Request(s.files.Original, s.priority)
	request.Files = []int{in[0], s.files.Null, s.files.Null, said[1]}
	pid, err := s.starter.Start(&request)
	if err != nil {
		s.reader.spare(-1)
		s.files.Release(in[1], said[0])
		return 0, 0, err
	}
	s.mu.Lock()
	c.log.pid, s.logs[pid] = pid, c
	s.mu.Unlock()
	return said[0], in[1], nil
}

// logPatience is the time that the process has for the output in its pipe after the run has ended.
// A user may have a file system that does not answer: without this limit the number of such
// processes would grow, outside of the user's own limits.
const logPatience = time.Minute

// maxLastLogs is the maximum number of such processes of a user. Without this limit, a user could have
// any number until logPatience is over, or for longer if they cannot be killed.
const maxLastLogs = 64

func (s *Spawner) admitLog(user string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lastLogs[user] >= maxLastLogs {
		return fmt.Errorf("the processes that write the files of %d ended runs of %s have not ended; a file system may not answer them", maxLastLogs, user)
	}
	return nil
}

// endLog is called when a run is over.
func (s *Spawner) endLog(c *child) {
	s.mu.Lock()
	if c.log.fd != 0 {
		s.closeLog(c)
	}
	s.killLogLater(c)
	unstarted := c.log.unstarted
	s.mu.Unlock()
	if unstarted {
		s.note(c, logfile.CannotAppend, "the file of log=", "its process could not be started")
	}
	if c.log.lost > 0 {
		s.note(c, "%d bytes are missing in the file of log=, which did not take them in time", c.log.lost)
	}
}

// killLogLater bounds how long the process of a run's file has. Spawner.mu is
// held.
func (s *Spawner) killLogLater(c *child) {
	if c.log.pid != 0 && !c.log.last {
		c.log.last = true
		s.lastLogs[c.user]++
		time.AfterFunc(s.logPatience, func() { s.killLog(c) })
	}
}

// killLog ends the process of a run's file, if it is still there.
func (s *Spawner) killLog(c *child) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.log.pid != 0 {
		proc.SignalGroup(c.log.pid, syscall.SIGKILL)
	}
}

// closeLog lets the process of a run's file come to its end. Spawner.mu is held.
func (s *Spawner) closeLog(c *child) {
	s.files.Release(c.log.fd)
	s.extra--
	c.log.fd = 0
}

// hasPrinted reports whether all output of a run was read. Spawner.mu is held.
func (r *reader) hasPrinted(c *child) bool {
	for _, fd := range c.pipes[:2] {
		if held, ok := r.streams[int32(fd)]; ok && held.child == c {
			return false
		}
	}
	return true
}

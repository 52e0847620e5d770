package spawn

import (
	"syscall"

	"github.com/cronring/cronring/daemon/job"
)

// reap takes the status of every child that is dead. One SIGCHLD may stand
// for many of them.
func (s *Spawner) reap() {
	for {
		c, more := s.bury()
		if c != nil {
			s.report(c, nil)
		}
		if !more {
			return
		}
	}
}

// bury reaps one child. It returns the child if nothing more is to come of
// it, and whether there may be more dead. The lock is held throughout, so that
// Kill cannot signal a number that is free for another process.
func (s *Spawner) bury() (done *child, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pid, status, used, err := waitAny()
	if err != nil || pid == 0 {
		return nil, false
	}
	if c := s.logs[pid]; c != nil {
		s.reapLog(c, status)
		return nil, true
	}
	c := s.byPID[pid]
	if c == nil { // an orphan that came to us, as PID 1, or the starter
		s.starter.Reaped(pid)
		return nil, true
	}
	delete(s.byPID, pid)
	c.usage = usageOf(&used, s.starter.Peak())
	if !s.settle(c, outcome(status)) {
		return nil, true
	}
	return c, true
}

func waitAny() (pid int, status syscall.WaitStatus, used syscall.Rusage, err error) {
	for {
		pid, err = syscall.Wait4(-1, &status, syscall.WNOHANG, &used)
		if err != syscall.EINTR {
			return pid, status, used, err
		}
	}
}

func outcome(status syscall.WaitStatus) job.Outcome {
	if status.Signaled() {
		return job.Outcome{Kind: job.Signalled, Signal: int(status.Signal())}
	}
	return job.Outcome{Kind: job.Exited, Code: status.ExitStatus()}
}

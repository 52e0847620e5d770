package spawn

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/job"
)

// reap collects the status of all dead children. One SIGCHLD may represent many of them.
func (s *Spawner) reap() {
	for pid := nextDead(); pid > 0; pid = nextDead() {
		s.mu.Lock()
		c := s.byPID[pid]
		s.mu.Unlock()
		if c != nil {
			s.tellBegun(c)
		}
		if c = s.bury(pid); c != nil {
			s.report(c, nil)
		}
	}
}

// bury reaps a dead child, and returns it if no more events are expected from it. The lock is held
// throughout, so that Kill cannot signal a number that another process has meanwhile.
func (s *Spawner) bury(pid int) (done *child) {
	s.mu.Lock()
	defer s.mu.Unlock()
	status, used := wait(pid)
	if c := s.logs[pid]; c != nil {
		s.reapLog(c, status)
		return nil
	}
	c := s.byPID[pid]
	if c == nil { // an orphan that came to us, as PID 1, or the starter
		s.starter.Reaped(pid)
		return nil
	}
	delete(s.byPID, pid)
	c.usage = usageOf(&used, s.starter.Peak())
	if !s.settle(c, outcome(status)) {
		return nil
	}
	return c
}

// nextDead returns a child that is dead and not reaped, or 0.
func nextDead() int {
	for {
		var info unix.Siginfo
		switch err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err {
		case nil:
			const word = unsafe.Sizeof(uintptr(0))
			const first = (3*4 + word - 1) &^ (word - 1) // of the fields after si_signo, si_errno and si_code: si_pid
			return int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), first)))
		case unix.EINTR:
		default:
			return 0
		}
	}
}

// wait reaps a dead child. It is the only function in this process that does.
func wait(pid int) (status syscall.WaitStatus, used syscall.Rusage) {
	for {
		if _, err := syscall.Wait4(pid, &status, 0, &used); err != syscall.EINTR {
			return status, used
		}
	}
}

func outcome(status syscall.WaitStatus) job.Outcome {
	if status.Signaled() {
		return job.Outcome{Kind: job.Signalled, Signal: int(status.Signal())}
	}
	return job.Outcome{Kind: job.Exited, Code: status.ExitStatus()}
}

package spawn

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/job"
)

// Keeper puts the descriptors of running jobs where they outlive this process:
// the descriptor store of the service manager. Neither method may wait, as
// every run's start and end passes through them.
type Keeper interface {
	// Keep is called once for each run when its process exists, with the
	// reading ends of its output and a pidfd; 0 stands for one that there is
	// not. They are closed when the Spawner needs them no more: whoever uses
	// them after Keep has returned makes duplicates first.
	Keep(run job.RunID, out, err, pidfd int)

	// Forget is called once for each run that was kept or adopted, after its
	// end was reported.
	Forget(run job.RunID)
}

// tellKeeper makes the pidfd while the hand, which alone reaps, still holds
// the process's number. That of a session may be another's by now.
func (s *Spawner) tellKeeper(c *child, ours pipes) {
	s.markProcess(c)
	if s.options.Keep == nil {
		return
	}
	s.mu.Lock()
	if !c.session && s.pump.hasRoom(1) {
		s.openPidfd(c)
	}
	c.kept = true
	pidfd := c.pidfd
	s.mu.Unlock()
	s.options.Keep.Keep(c.run, ours[0], ours[1], pidfd)
}

// openPidfd makes one if it can: without, the pipes have to do. Spawner.mu is
// held.
func (s *Spawner) openPidfd(c *child) {
	fd, err := unix.PidfdOpen(c.pid, 0)
	if err == nil {
		c.pidfd = fd
		s.extra++
	}
}

// dropPidfd closes the pidfd of a child of ours. Spawner.mu is held.
func (s *Spawner) dropPidfd(c *child) {
	if c.pidfd != 0 {
		s.files.release(c.pidfd)
		s.extra--
		c.pidfd = 0
	}
}

// killForeign signals the process group of somebody else's child. Spawner.mu
// is held.
//
// A pidfd names the process and, as the process leads a group, the group: not
// by a number that may be given to another, and also when the leader is dead.
// Kernels before 6.9 know that for the process alone. There the group is
// signalled by number, if the leader was alive or unreaped just before; a
// number cannot be given anew while any member of its group is left, so that
// the whole group would have to end, and the number to come round, between
// the two calls.
func (s *Spawner) killForeign(c *child, sig syscall.Signal) {
	switch {
	case c.pidfd != 0:
		err := unix.PidfdSendSignal(c.pidfd, sig, nil, unix.PIDFD_SIGNAL_PROCESS_GROUP)
		if err == unix.EINVAL && unix.PidfdSendSignal(c.pidfd, 0, nil, 0) == nil && c.pid > 1 {
			signalGroup(c.pid, sig)
		}
	case sig == syscall.SIGKILL:
		s.acts = append(s.acts, func() { s.giveUp(c) })
		s.nudge()
	}
}

const (
	lostUnseen = "its end was not seen: the daemon that started it was killed"
	lostMute   = lostUnseen + ", and this kernel tells nobody but a parent how a process ended"
	lostBeyond = lostUnseen + ", and there is no sure way left to signal it; it may still be running"
)

func lost(why string) job.Outcome { return job.Outcome{Kind: job.Lost, Error: why} }

// giveUp ends a run whose process is out of reach, so that nobody waits for it
// for ever.
func (s *Spawner) giveUp(c *child) {
	s.mu.Lock()
	if !c.outcome.IsZero() {
		s.mu.Unlock()
		return
	}
	done := s.settle(c, lost(lostBeyond))
	s.mu.Unlock()
	if done {
		s.report(c, nil)
	}
}

// loseUnseen ends a run of which nothing is left but the pipes, when those are
// at their end. Spawner.mu is held.
func (s *Spawner) loseUnseen(c *child) bool {
	return c.foreign && c.pidfd == 0 && s.settle(c, lost(lostUnseen))
}

// seeDeath is called by the pump when a pidfd has news.
func (s *Spawner) seeDeath(c *child, reaped bool) {
	s.mu.Lock()
	outcome, known := exitOf(c.pidfd, reaped)
	if !known {
		s.mu.Unlock()
		return
	}
	fd := c.pidfd
	s.pump.forget(int32(fd))
	c.pidfd = 0
	done := c.outcome.IsZero() && s.settle(c, outcome)
	s.mu.Unlock()
	s.files.release(fd)
	if done {
		s.report(c, nil)
	}
}

// exitOf asks the kernel how a process ended. Since Linux 6.15 it tells, once
// the process is reaped; since 6.9 the pidfd says when that is. It is not
// known yet while a newer kernel still waits for somebody to reap it.
func exitOf(pidfd int, reaped bool) (end job.Outcome, known bool) {
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	err := unix.IoctlPidfdInfo(pidfd, &info)
	switch {
	case err == nil && info.Mask&unix.PIDFD_INFO_EXIT != 0:
		return outcome(syscall.WaitStatus(info.Exit_code)), true
	case err == nil && !reaped:
		return job.Outcome{}, false
	}
	return lost(lostMute), true
}

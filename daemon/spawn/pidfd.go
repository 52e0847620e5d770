package spawn

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/handed"
	"github.com/cronring/cronring/daemon/spawn/pipe"
	"github.com/cronring/cronring/daemon/spawn/proc"
)

// DescriptorStore puts the descriptors of running jobs where they outlive this process:
// the descriptor store of the service manager. Neither method may wait, as
// every run's start and end passes through them.
type DescriptorStore interface {
	// Keep is called once for each run when its process exists, with the reading ends of its output
	// and a pidfd; 0 means none. They are closed when the Spawner no longer needs them: to use them
	// after Keep has returned, duplicate them first.
	Keep(run job.RunID, out, err, pidfd int)

	// Forget is called once for each run that was kept or adopted, after its
	// end was reported.
	Forget(run job.RunID)
}

// storeDescriptors makes the pidfd while the hand, which alone reaps, still holds
// the process's number. That of a session may be another's by now.
func (s *Spawner) storeDescriptors(c *child, ours pipe.Ends) {
	if s.options.Runs != "" {
		handed.Process{Job: c.job, User: c.user, PID: c.pid, Boot: s.options.Boot, OutputMax: c.limit}.Mark(s.dir.Base(c.run))
	}
	if s.options.Keep == nil {
		return
	}
	s.mu.Lock()
	if !c.session {
		s.openPidfd(c)
	}
	c.kept = true
	pidfd := c.pidfd
	s.mu.Unlock()
	s.options.Keep.Keep(c.run, ours[0], ours[1], pidfd)
}

// openPidfd opens the pidfd of a child of ours that is not reaped, if there is none
// and it can. Spawner.mu is held.
func (s *Spawner) openPidfd(c *child) {
	if c.pidfd != 0 || !s.pump.hasRoom(1) {
		return
	}
	fd, err := unix.PidfdOpen(c.pid, 0)
	if err == nil {
		c.pidfd = fd
		s.extra++
	}
}

// dropPidfd closes the pidfd of a child, unless the pump watches it. Spawner.mu is
// held.
func (s *Spawner) dropPidfd(c *child) {
	if c.pidfd != 0 {
		s.files.Release(c.pidfd)
		s.extra--
		c.pidfd = 0
	}
}

// killForeign signals the process group of a process that is not our child. Spawner.mu is held.
//
// A pidfd identifies the process and, because the process leads a group, the group: without a
// number that may be reused, and also when the leader is dead. Kernels before 6.9 support that for
// the process alone. There the group is signalled by number, if the leader was alive or unreaped
// just before. A number cannot be reused while any member of its group is left, so the whole group
// would have to end, and the number be reused, between the two calls.
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

// giveUp ends a run whose process is out of reach, so that nothing waits for it forever.
func (s *Spawner) giveUp(c *child) {
	s.mu.Lock()
	if !c.outcome.IsZero() {
		s.mu.Unlock()
		return
	}
	done := s.settle(c, handed.Lost(handed.Beyond))
	s.mu.Unlock()
	if done {
		s.report(c, nil)
	}
}

// loseUnseen ends a run of which only the pipes are left, when those are closed. Spawner.mu is
// held.
func (s *Spawner) loseUnseen(c *child) bool {
	return c.foreign && c.pidfd == 0 && c.over.IsZero() && s.settle(c, handed.Lost(handed.Unseen))
}

// seeDeath is called by the pump when a pidfd reports something, and by the hand, with
// last set, when a dead process was not reaped for long.
func (s *Spawner) seeDeath(c *child, reaped, last bool) {
	s.mu.Lock()
	fd := c.pidfd
	if _, watched := s.pump.streams[int32(fd)]; !watched {
		s.mu.Unlock()
		return
	}
	outcome, known := c.exit(reaped, last)
	if !known {
		if c.reaping == nil {
			c.reaping = time.AfterFunc(s.options.Linger, func() { s.later(func() { s.seeDeath(c, false, true) }) })
		}
		s.mu.Unlock()
		return
	}
	if c.reaping != nil {
		c.reaping.Stop()
	}
	s.pump.forget(int32(fd))
	s.extra++
	done := s.settle(c, outcome)
	s.mu.Unlock()
	if done {
		s.report(c, nil)
	}
}

// exit returns how a process of another parent ended. Kernels from 6.15 report that once it is
// reaped; from 6.9 the pidfd reports when that is. A process that is not reaped yet shows it in
// /proc. The end is unknown while neither holds and the process may still be reaped; in some
// containers process 1 never does.
func (c *child) exit(reaped, last bool) (end job.Outcome, known bool) {
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	err := unix.IoctlPidfdInfo(c.pidfd, &info)
	if err == nil && info.Mask&unix.PIDFD_INFO_EXIT != 0 {
		return proc.Outcome(syscall.WaitStatus(info.Exit_code)), true
	}
	if status, ok := proc.ZombieStatus(c.pid, c.pidfd); ok {
		return proc.Outcome(status), true
	}
	switch {
	case err == nil && !reaped && !last:
		return job.Outcome{}, false
	case last:
		return handed.Lost(handed.Unreaped), true
	}
	return handed.Lost(handed.Mute), true
}

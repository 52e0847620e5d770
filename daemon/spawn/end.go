package spawn

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/spawn/proc"
)

// reap collects the status of all dead children. One SIGCHLD may represent many of them.
func (s *Spawner) reap() {
	for pid := proc.NextDead(); pid > 0; pid = proc.NextDead() {
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
	status, used := proc.Wait(pid)
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
	c.usage = proc.UsageOf(&used, s.starter.Peak())
	if !s.settle(c, proc.Outcome(status)) {
		return nil
	}
	return c
}

// A run that was asked to end is over when its whole process group has ended. A
// shell ends at the first SIGTERM; the programs that it waited for may need a moment,
// or ignore the signal. Until they have ended the run stays live, so that its SIGKILL
// reaches them when stop-grace= is over.
//
// These programs are children of init, so no event reports their ends: a goroutine
// looks at them, at growing intervals.

// The intervals between two looks at process groups.
const (
	firstLook = 10 * time.Millisecond
	lastLook  = 500 * time.Millisecond
)

// leavesGroup reports whether a child whose process has ended was asked to end while other
// processes of its group are alive. Spawner.mu is held, and has been since before the process was
// reaped.
func (c *child) leavesGroup() bool {
	known := c.pidfd != 0 || !c.foreign // else the number may be another's
	return c.stopped && !c.killed && known && c.signalGroup(0) != unix.ESRCH
}

// signalGroup signals the process group of a child whose process has ended.
//
// A pidfd identifies the group for as long as it has members. Kernels before 6.9 identify groups
// only by number. The number is not reused while the group has members, and awaitGroup soon notices
// when it has none; a process that gets the number later leads another group.
func (c *child) signalGroup(sig syscall.Signal) error {
	if c.pidfd != 0 {
		if err := unix.PidfdSendSignal(c.pidfd, sig, nil, unix.PIDFD_SIGNAL_PROCESS_GROUP); err != unix.EINVAL {
			return err
		}
	}
	if c.pid <= 1 || proc.IsAlive(c.pid) {
		return unix.ESRCH
	}
	return syscall.Kill(-c.pid, sig)
}

// killLeftover signals the process group of a child whose process has ended. After
// SIGKILL the child is over. Spawner.mu is held.
func (s *Spawner) killLeftover(c *child, sig syscall.Signal) {
	_ = c.signalGroup(sig) // it may have ended
	if sig == syscall.SIGKILL {
		if c.session {
			s.options.Sessions.Kill(c.sessionName(), sig)
		}
		s.acts = append(s.acts, func() { s.endLeftover(c) })
		s.nudge()
	}
}

// awaitGroup has the process group of a child waited for. Spawner.mu is held.
func (s *Spawner) awaitGroup(c *child) {
	s.leftovers = append(s.leftovers, c)
	if len(s.leftovers) == 1 {
		s.tasks.Go(s.awaitGroups)
	}
}

func (s *Spawner) awaitGroups() {
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		select {
		case <-s.life.Done():
			return
		case <-time.After(pause):
		}
		groups, err := proc.LivingGroups()
		s.mu.Lock()
		waiting := s.leftovers[:0]
		for _, c := range s.leftovers {
			switch {
			case c.over.IsZero(): // it was killed
			case err != nil || groups[c.pid]:
				waiting = append(waiting, c)
			default:
				s.acts = append(s.acts, func() { s.endLeftover(c) })
			}
		}
		clear(s.leftovers[len(waiting):])
		s.leftovers = waiting
		s.mu.Unlock()
		s.nudge()
		if len(waiting) == 0 {
			return
		}
	}
}

// endLeftover reports the end of a child whose process group has ended, or was
// killed. It is called by the hand.
func (s *Spawner) endLeftover(c *child) {
	s.mu.Lock()
	outcome := c.over
	if outcome.IsZero() {
		s.mu.Unlock()
		return
	}
	done := s.conclude(c, outcome)
	s.mu.Unlock()
	if done {
		s.report(c, nil)
	}
}

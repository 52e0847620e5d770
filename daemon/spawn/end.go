package spawn

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/atomicfile"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/handed"
	"github.com/cronring/cronring/daemon/spawn/pipe"
	"github.com/cronring/cronring/daemon/spawn/proc"
	"github.com/cronring/cronring/daemon/starter"
)

// reap collects the status of all dead children. One SIGCHLD may represent many of them.
func (s *Spawner) reap() {
	for pid := proc.NextDead(); pid > 0; pid = proc.NextDead() {
		s.mu.Lock()
		c := s.byPID[pid]
		s.mu.Unlock()
		if c != nil {
			s.reportBegun(c)
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
	status, used, dead := proc.Wait(pid)
	if !dead {
		return nil
	}
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

// settle records how the process of a child ended, and returns whether nothing more
// comes of the child. Spawner.mu is held.
func (s *Spawner) settle(c *child, outcome job.Outcome) (done bool) {
	if c.leavesGroup() {
		c.over = outcome
		s.awaitGroup(c)
		return false
	}
	return s.conclude(c, outcome)
}

// conclude ends a child that has no process. Spawner.mu is held.
func (s *Spawner) conclude(c *child, outcome job.Outcome) (done bool) {
	if s.living[c.run] == c {
		delete(s.living, c.run)
	}
	s.dropPidfd(c)
	c.over, c.outcome, c.ended = job.Outcome{}, outcome, now()
	if c.open > 0 {
		s.reader.linger(c)
		return false
	}
	return true
}

// endUnstarted sets the outcome of a child whose command did not run.
//
// If cron does not find SHELL, it has already forked, so its message about that is output, and is
// mailed. It is output here as well.
func (s *Spawner) endUnstarted(c *child) {
	why := c.progress.Failure()
	shell, ok := errors.AsType[*starter.ExecError](why)
	switch {
	case c.tool != nil:
		c.tool.err = why
	case ok:
		reason := shell.Errno.Error() // as strerror(3) spells it, except for its capital letter
		s.appendOutput(c, job.Stderr, "%s: execle: %s", shell.Command, strings.ToUpper(reason[:1])+reason[1:])
		why = fmt.Errorf("run SHELL %s: %w", shell.Command, shell.Errno)
	}
	c.outcome, c.unrun = job.Outcome{Kind: job.NotStarted, Error: why.Error()}, true
}

// storeDescriptors makes the pidfd while the process loop, which alone reaps, still holds
// the process's number. That of a session may be another's by now.
func (s *Spawner) storeDescriptors(c *child, ours pipe.Ends) {
	if c.session && c.named { // the starter does it for others
		atomicfile.Link(s.processOf(c).Mark(s.dir.Base(c.run)))
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
	if c.pidfd != 0 || !s.reader.hasRoom(1) {
		return
	}
	fd, err := unix.PidfdOpen(c.pid, 0)
	if err == nil {
		c.pidfd = fd
		s.extra++
	}
}

// dropPidfd closes the pidfd of a child, unless the reader watches it. Spawner.mu is
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
			proc.SignalGroup(c.pid, sig)
		}
	case sig == syscall.SIGKILL:
		s.loop.Call(func() { s.giveUp(c) })
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

// seeDeath is called by the reader when a pidfd reports something, and by the process loop, with
// last set, when a dead process was not reaped for long.
func (s *Spawner) seeDeath(c *child, reaped, last bool) {
	s.mu.Lock()
	fd := c.pidfd
	if _, watched := s.reader.streams[int32(fd)]; !watched {
		s.mu.Unlock()
		return
	}
	outcome, known := c.exit(reaped, last)
	if !known {
		if c.reaping == nil {
			c.reaping = time.AfterFunc(s.options.Linger, func() { s.loop.Call(func() { s.seeDeath(c, false, true) }) })
		}
		s.mu.Unlock()
		return
	}
	if c.reaping != nil {
		c.reaping.Stop()
	}
	s.reader.forget(int32(fd))
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
// containers process 1 never does. While a process is being reaped, these kernels answer ESRCH.
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
	case (err == nil || err == unix.ESRCH) && !reaped && !last:
		return job.Outcome{}, false
	case last:
		return handed.Lost(handed.Unreaped), true
	}
	return handed.Lost(handed.Mute), true
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
		s.loop.Call(func() { s.endLeftover(c) })
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
				s.loop.Call(func() { s.endLeftover(c) })
			}
		}
		clear(s.leftovers[len(waiting):])
		s.leftovers = waiting
		s.mu.Unlock()
		s.loop.Wake()
		if len(waiting) == 0 {
			return
		}
	}
}

// endLeftover reports the end of a child whose process group has ended, or was
// killed. It is called by the process loop.
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

// endStart is called by the reader when the pipe for reports is closed: the
// command runs, or never will.
func (s *Spawner) endStart(c *child) {
	s.reportBegun(c)
	if c.tool == nil {
		for _, warning := range c.progress.Warnings() {
			s.note(c, "%s", warning)
		}
	}
	if c.progress.Failure() == nil {
		c.progress = nil
		if c.tool == nil && !c.check {
			s.events <- event.Started{Run: c.run, PID: c.pid, At: s.startOf(c)}
		}
	}
}

// startOf is now, or the end of a child that was reaped before.
func (s *Spawner) startOf(c *child) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := now(); c.ended.IsZero() || at.Before(c.ended) {
		return at
	}
	return c.ended
}

// reportBegun has Options.Began called. The reader does so when the command runs or never
// will, and the process loop before it reaps the process, whichever comes first.
func (s *Spawner) reportBegun(c *child) {
	if s.options.Began == nil || c.tool != nil || c.check {
		return
	}
	s.beginning.Lock()
	defer s.beginning.Unlock()
	if !c.begun {
		c.begun = true
		s.options.Began(c.run, c.pid)
	}
}

// abandon reports a child that never had a process, as far as is known.
func (s *Spawner) abandon(c *child, why error) {
	s.mu.Lock()
	delete(s.living, c.run)
	c.outcome, c.ended = job.Outcome{Kind: job.NotStarted, Error: why.Error()}, now()
	if errors.Is(why, starter.ErrUnknown) {
		c.outcome.Kind = job.Lost
	} else {
		c.unrun = !errors.Is(why, ErrUnsure) && !errors.Is(why, errStopping) && !errors.Is(why, errCancelled)
	}
	s.mu.Unlock()
	if c.tool != nil {
		c.tool.err = why
		s.files.Release(c.tool.stdin)
	}
	s.report(c, nil)
}

// reapLog is called when the process of a run's file has ended. Spawner.mu is
// held.
func (s *Spawner) reapLog(c *child, status syscall.WaitStatus) {
	delete(s.logs, c.log.pid)
	c.log.pid = 0
	if c.log.last {
		if s.lastLogs[c.user]--; s.lastLogs[c.user] == 0 {
			delete(s.lastLogs, c.user)
		}
	}
	c.log.unstarted = status.Exited() && status.ExitStatus() == starter.ExitFailed
}

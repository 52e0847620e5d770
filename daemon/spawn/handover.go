package spawn

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/handed"
	"github.com/cronring/cronring/daemon/spawn/proc"
)

// pauseRequest is one request to pause.
type pauseRequest struct {
	readerPaused chan struct{} // closed when the reader has paused
	paused       chan struct{} // closed when the process loop has paused too
	resumed      chan struct{} // closed to continue
	forced       bool          // guarded by Spawner.mu: do not wait for anything
	once         sync.Once
	failed       bool // Run ended instead; set before paused is closed
}

func (h *pauseRequest) fail() {
	h.once.Do(func() {
		h.failed = true
		close(h.paused)
	})
}

// Hold makes the Spawner pause, so that another program can replace this one: from its return until
// Resume, nothing is forked, reaped, read or reported. It returns the runs that were passed to
// Start and have no process. They begin after Resume; otherwise the caller passes them to the next
// Spawner.
//
// To hand over without losing an event, the caller
//
//  1. calls Hold on another goroutine, and drains Events until it returns;
//  2. takes the remaining Events without waiting for more, and handles them.
//     Then Started was sent for the runs that Handover returns, except for one
//     with Progress set, and Ended was not;
//  3. does not call Start or Exec any more: they only queue;
//  4. calls Handover, stores what it and Hold returned, and calls exec;
//  5. calls Resume if that fails.
//
// Before it pauses, the Spawner waits for programs that Exec started, unless they were killed, and for
// sessions that are being begun. When ctx is done it stops waiting and kills those programs: their work
// must be repeated.
//
// Hold is for a Spawner whose Run is going, and is called by one goroutine at
// a time. While it holds, Run does not see the end of its own context.
func (s *Spawner) Hold(ctx context.Context) ([]effect.Start, error) {
	h := &pauseRequest{readerPaused: make(chan struct{}), paused: make(chan struct{}), resumed: make(chan struct{})}
	s.mu.Lock()
	if s.closed || s.hold != nil {
		s.mu.Unlock()
		return nil, fmt.Errorf("hold processes: %w", errStopping)
	}
	s.hold = h
	s.mu.Unlock()
	s.loop.Wake()
	select {
	case <-h.paused:
	case <-ctx.Done():
		s.force(h)
		<-h.paused
	}
	if h.failed {
		return nil, fmt.Errorf("hold processes: %w", errStopping)
	}
	return s.waitingStarts(), nil
}

func (s *Spawner) force(h *pauseRequest) {
	s.mu.Lock()
	h.forced = true
	for c := range s.busy {
		if c.pid != 0 && c.outcome.IsZero() {
			proc.SignalGroup(c.pid, syscall.SIGKILL)
		}
	}
	s.mu.Unlock()
	s.loop.Wake()
}

// pauseIfQuiet pauses if Hold was called and no operation is in progress that cannot be handed over.
func (s *Spawner) pauseIfQuiet() {
	h, cancelled := s.quiet()
	if h == nil {
		return
	}
	for _, c := range cancelled {
		s.abandon(c, errCancelled)
	}
	s.reader.pauseFor(h)
	<-h.readerPaused
	h.once.Do(func() { close(h.paused) })
	<-h.resumed
}

// quiet removes the runs that were stopped before they started from the queue, so that the next
// Spawner does not start them.
func (s *Spawner) quiet() (h *pauseRequest, cancelled []*child) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h = s.hold
	if h == nil || !h.forced && (s.toolRuns() || s.unsure > 0 || s.groups.pauseWaits()) {
		return nil, nil
	}
	s.killChecks(true)
	for c := range s.groups.all { // their groups come too late
		delete(s.groups.all, c)
		s.queue.Put(c.user, c)
	}
	isCancelled := func(c *child) bool {
		if c.kill != 0 {
			cancelled = append(cancelled, c)
		}
		return c.kill != 0
	}
	s.queue.DeleteFunc(isCancelled)
	for name, waiting := range s.ask.waiting {
		s.ask.waiting[name] = slices.DeleteFunc(waiting, isCancelled)
	}
	return h, cancelled
}

// toolRuns reports whether a program is running. It ignores killed ones: a process that traces them, or a
// file system that does not answer, can hide their ends. Spawner.mu is held.
func (s *Spawner) toolRuns() bool {
	for c := range s.busy {
		if c.kill == 0 && c.pid != 0 {
			return true
		}
	}
	return false
}

func (s *Spawner) waitingStarts() []effect.Start {
	s.mu.Lock()
	defer s.mu.Unlock()
	var starts []effect.Start
	for _, c := range s.living {
		if !c.check && !c.hasBegun() {
			starts = append(starts, *c.start)
		}
	}
	slices.SortFunc(starts, func(a, b effect.Start) int { return cmp.Compare(a.Run.ID, b.Run.ID) })
	return starts
}

// Resume ends a Hold: the Spawner continues as before.
func (s *Spawner) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hold == nil || s.hold.failed {
		return
	}
	s.inherit(s.begunRuns(), false)
	close(s.hold.resumed)
	s.hold = nil
	s.loop.Wake()
}

// Handover returns all runs with a process, for Adopt in the program that replaces this one, and
// keeps their descriptors open for it. Hold must have returned. Each child then has a pidfd, if the
// kernel supports them, so that the other program need not be their parent.
func (s *Spawner) Handover() []handed.Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.byPID {
		if c.tool == nil && !c.check {
			s.openPidfd(c)
		}
	}
	all := s.begunRuns()
	s.inherit(all, true)
	list := make([]handed.Run, 0, len(all))
	for _, h := range all {
		list = append(list, *h)
	}
	slices.SortFunc(list, func(a, b handed.Run) int { return cmp.Compare(a.Run, b.Run) })
	return list
}

// begunRuns returns the runs that began: living ones, dead ones whose output is still read, and
// tails. Spawner.mu is held.
func (s *Spawner) begunRuns() map[*child]*handed.Run {
	all := make(map[*child]*handed.Run)
	for _, c := range s.living {
		if !c.check && c.hasBegun() {
			all[c] = describe(c)
		}
	}
	for _, c := range s.reader.slow {
		all[c] = describe(c)
	}
	for fd, stream := range s.reader.streams {
		c := stream.child
		if c.tool != nil || c.check {
			continue
		}
		if all[c] == nil {
			all[c] = describe(c)
		}
		switch stream.name {
		case job.Stdout:
			all[c].Out = int(fd)
		case job.Stderr:
			all[c].Err = int(fd)
		case progressStream:
			all[c].Status = int(fd)
		case logStream:
			all[c].LogStatus = int(fd)
		}
	}
	return all
}

// hasBegun reports whether a living run may have a process.
func (c *child) hasBegun() bool { return c.pid != 0 || c.session || c.foreign }

// describe leaves out the descriptors that the reader has.
func describe(c *child) *handed.Run {
	h := &handed.Run{
		Run: c.run, Job: c.job, User: c.user, PID: c.pid, PIDFD: c.pidfd,
		Child: !c.foreign && !c.session, Session: c.session,
		Output:  c.out.Chunks(c.run, c.job),
		Outcome: c.outcome, Ended: c.ended, Usage: c.usage, Limit: c.reached, Over: c.over,
		Progress: c.progress, OutputMax: c.limit, Log: c.log.fd, Stopped: c.stopped,
	}
	if c.group != nil {
		h.Group, _ = c.group.MarshalJSON() // without it the group is only not known
	}
	if c.unsure { // the reader does not have its pipes yet
		h.Out, h.Err, h.LogStatus = c.pipes[0], c.pipes[1], c.pipes[2]
	}
	if c.tail != nil {
		h.Tail, h.OutputMax, h.Child, h.Session = true, c.tail.left, false, false
	}
	return h
}

// inherit decides whether the descriptors of runs outlive exec. The limit of
// open files and the priority that the daemon raised for itself must not: the
// next program would give them to jobs, as what it was started with. Spawner.mu
// is held.
func (s *Spawner) inherit(all map[*child]*handed.Run, yes bool) {
	flag := unix.FD_CLOEXEC
	if yes {
		flag = 0
	}
	for c, h := range all {
		for _, fd := range []int{c.pidfd, h.Out, h.Err, h.Status, h.Log, h.LogStatus} {
			if fd != 0 {
				_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFD, flag) // it is open
			}
		}
	}
	s.files.Lend(yes)
	switch {
	case yes:
		s.priority.Restore()
	case s.options.Precedence:
		s.priority.Raise()
	}
}

// pauseFor pauses the reader after its current work.
func (r *reader) pauseFor(h *pauseRequest) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.setDeadline(time.Unix(0, 1))
	r.pausing = h
}

func (r *reader) isPausing() bool {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	return r.pausing != nil
}

func (r *reader) waitForResume() {
	r.reportLate(always)
	r.s.mu.Lock()
	h := r.pausing
	r.s.mu.Unlock()
	close(h.readerPaused)
	<-h.resumed
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if r.pausing == h { // and not the next one already
		r.pausing = nil
		r.setDeadline(r.nextDeadline())
	}
}

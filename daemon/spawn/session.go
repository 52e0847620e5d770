package spawn

import (
	"context"
	"errors"

	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/command"
	"github.com/cronring/cronring/daemon/spawn/pipe"
)

// SessionOf is the name of a run's session.
func SessionOf(run job.RunID) string { return "run-" + run.String() }

// sessionName names the session of a child. The command of if= has one of its
// own.
func (c *child) sessionName() string {
	if c.check {
		return "check-" + c.run.String()
	}
	return SessionOf(c.run)
}

func (s *Spawner) takesSession(c *child) bool {
	return s.options.Sessions != nil && s.options.Sessions.Takes(&c.start.Job)
}

// beginSession has a session begun without waiting for it.
func (s *Spawner) beginSession(ctx context.Context, c *child, who account.Account) {
	cmd, err := s.maker.Make(c.start, who, true)
	if m := s.made(c); err == nil && m != nil {
		err = m.err
	}
	if err != nil {
		s.abandon(c, err)
		return
	}
	if c.secrets.dir != "" {
		cmd.SetCredentials(c.secrets.dir)
	}
	io, err := s.openStdio(c, cmd)
	if err != nil {
		s.abandon(c, err)
		return
	}
	s.openNotify(c, cmd.Account.UID)
	session := Session{
		Name: c.sessionName(), Job: c.start.Job, Account: cmd.Account,
		Argv: cmd.Argv, Env: cmd.Env, Dir: cmd.Dir, Anyhow: cmd.DirOptional,
		EnvFile: cmd.EnvFile, Kept: cmd.Kept, Sandbox: cmd.Sandbox, NoNetwork: cmd.NoNetwork,
		Files: io.Child, Options: command.OptionsOf(c.start),
	}
	s.call(c, io.Ours, func() {
		pid, note, err := s.callSession(ctx, c, session)
		s.loop.Call(func() { s.sessionBegan(c, io, pid, note, err) })
	})
}

// call queues a call for the goroutines of the user.
func (s *Spawner) call(c *child, ours pipe.Ends, call func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.session, c.unsure, c.pipes = true, true, ours
	s.unsure++
	s.calls.Add(c.user, call)
}

// callSession does not begin a session that is no longer wanted. It does not interrupt a call,
// because its result would be unknown.
func (s *Spawner) callSession(ctx context.Context, c *child, session Session) (pid int, note string, err error) {
	switch {
	case ctx.Err() != nil:
		return 0, "", errStopping
	case s.cancelled(c):
		return 0, "", errCancelled
	case s.isHeld():
		return 0, "", errHeld
	}
	return s.options.Sessions.Start(context.WithoutCancel(ctx), session)
}

// errHeld means that a session must be begun later.
var errHeld = errors.New("the daemon is being replaced")

func (s *Spawner) isHeld() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hold != nil
}

// sessionBegan is called by the process loop.
func (s *Spawner) sessionBegan(c *child, io pipe.Stdio, pid int, note string, err error) {
	s.files.Release(io.Child[:]...)
	s.mu.Lock()
	s.unsure--
	c.unsure = false
	c.session = err == nil
	switch err {
	case nil:
		if c.check {
			s.limitCheck(c)
		} else {
			c.start = nil
		}
		c.found = nil
		c.pid = pid
		c.open = io.Ours.Count()
	case errHeld:
		s.queue.Put(c.user, c)
	}
	kill := c.kill
	s.mu.Unlock()
	if err != nil {
		s.files.Release(io.Ours[:]...)
	}
	switch err {
	case nil:
	case errHeld:
		s.closeNotify(c)
		return
	default:
		s.abandon(c, err)
		return
	}
	if kill != 0 {
		s.options.Sessions.Kill(c.sessionName(), kill)
	}
	if note != "" {
		s.note(c, "%s", note)
	}
	if !c.check {
		s.storeDescriptors(c, io.Ours)
		s.reportBegun(c)
		s.events <- event.Started{Run: c.run, PID: pid, At: now()}
	}
	s.reader.watch(c, io.Ours, 0)
	s.awaitSession(c)
}

// awaitSession makes the process loop handle the end of a session. It is called by that loop, or before
// the loop runs.
func (s *Spawner) awaitSession(c *child) {
	name, check := c.sessionName(), c.check
	s.tasks.Go(func() {
		end, err := s.options.Sessions.Wait(s.life, name)
		if err != nil {
			return // Run has returned
		}
		if check {
			s.options.Sessions.Release(name)
		}
		s.loop.Call(func() { s.endSession(c, end) })
	})
}

// endSession is called by the process loop.
func (s *Spawner) endSession(c *child, end SessionEnd) {
	s.mu.Lock()
	c.usage, c.reached = end.Usage, end.Limit
	done := s.settle(c, end.Outcome)
	if !end.At.IsZero() {
		c.ended = end.At
	}
	s.mu.Unlock()
	if done {
		s.report(c, nil)
	}
}

package spawn

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
)

// Sessions starts jobs through somebody else, who is their parent: the service
// manager, which gives each a unit and a PAM session.
type Sessions interface {
	// Takes says whether a job is started that way.
	Takes(*job.Job) bool

	// Start begins a session and returns the process of its command, 0 if
	// that is not known, and what the job's output should say about the start,
	// if anything. It may wait, and has to give up by itself. An error says
	// that there is no session and will be none.
	Start(ctx context.Context, session Session) (pid int, note string, err error)

	// Kill signals all processes of a run's session. It must not wait, nor
	// call the Spawner.
	Kill(run job.RunID, sig syscall.Signal)

	// Ends tells of the end of each session that began, adopted ones too, once.
	Ends() <-chan SessionEnd
}

// Session is what to start. The descriptors are good until Start returns.
type Session struct {
	Run     job.RunID
	Job     job.Job
	Account account.Account
	Argv    []string // Argv[0] is the path
	Env     []string // without Options.BaseEnv, as PAM has its own
	Dir     string
	Anyhow  bool   // it runs in / where Dir cannot be entered
	Files   [3]int // standard input, output and error
	Options *crontab.Options
}

// SessionEnd is how a session ended.
type SessionEnd struct {
	Run     job.RunID
	Outcome job.Outcome
	At      time.Time // zero: now
	Usage   job.Usage
	Limit   job.Reason // that it ran into, or ""
}

// sessionCallers is how many calls of Sessions.Start there are at once.
const sessionCallers = 4

func (s *Spawner) sessionEnds() <-chan SessionEnd {
	if s.options.Sessions == nil {
		return nil
	}
	return s.options.Sessions.Ends()
}

// beginSession has a session begun without waiting for it.
func (s *Spawner) beginSession(ctx context.Context, c *child, who account.Account) {
	cmd, err := s.command(c.start, who, nil)
	if err != nil {
		s.abandon(c, err)
		return
	}
	io, err := s.openStdio(c, cmd)
	if err != nil {
		s.abandon(c, err)
		return
	}
	session := Session{
		Run: c.run, Job: c.start.Job, Account: who,
		Argv: cmd.argv, Env: cmd.env, Dir: cmd.dir, Anyhow: cmd.dirOptional,
		Files: io.child, Options: options(c.start),
	}
	s.call(c, io.ours, func() {
		pid, note, err := s.callSession(ctx, c, session)
		s.later(func() { s.sessionBegan(c, io, pid, note, err) })
	})
}

// call queues a call for goroutines of which there are only a few.
func (s *Spawner) call(c *child, ours pipes, call func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.session, c.unsure, c.pipes = true, true, ours
	s.unsure++
	s.calls = append(s.calls, call)
	if s.callers < sessionCallers {
		s.callers++
		s.crew.Go(s.makeCalls)
	}
}

func (s *Spawner) makeCalls() {
	for {
		s.mu.Lock()
		if len(s.calls) == 0 {
			s.callers--
			s.mu.Unlock()
			return
		}
		call := s.calls[0]
		s.calls = s.calls[1:]
		s.mu.Unlock()
		call()
	}
}

// callSession does not begin what is no longer wanted. A call that is made is
// not cut off, as nobody would know what came of it.
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

// errHeld says that a session is to be begun another time.
var errHeld = errors.New("the daemon is being replaced")

func (s *Spawner) isHeld() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hold != nil
}

// sessionBegan is called by the hand.
func (s *Spawner) sessionBegan(c *child, io stdio, pid int, note string, err error) {
	s.files.release(io.child[:]...)
	s.mu.Lock()
	s.unsure--
	c.unsure = false
	c.session = err == nil
	switch err {
	case nil:
		c.start, c.found = nil, nil
		c.pid = pid
		c.open = io.ours.count()
	case errHeld:
		s.queue = append(s.queue, c)
	}
	kill, end := c.kill, c.early
	s.mu.Unlock()
	if err != nil {
		s.files.release(io.ours[:]...)
	}
	switch err {
	case nil:
	case errHeld:
		return
	default:
		s.abandon(c, err)
		return
	}
	if kill != 0 {
		s.options.Sessions.Kill(c.run, kill)
	}
	if note != "" {
		s.note(c, "%s", note)
	}
	s.tellKeeper(c, io.ours)
	s.events <- engine.Started{Run: c.run, PID: pid, At: now()}
	s.pump.watch(c, io.ours, 0)
	if end != nil {
		s.endSession(*end)
	}
}

// endSession is called by the hand. An end may come before it is known that
// the session began.
func (s *Spawner) endSession(end SessionEnd) {
	s.mu.Lock()
	c := s.living[end.Run]
	done := false
	switch {
	case c == nil || !c.session:
	case c.unsure:
		c.early = &end
	default:
		c.usage, c.reached = end.Usage, end.Limit
		done = s.settle(c, end.Outcome)
		if !end.At.IsZero() {
			c.ended = end.At
		}
	}
	s.mu.Unlock()
	if done {
		s.report(c, nil)
	}
}

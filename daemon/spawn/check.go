package spawn

import (
	"syscall"
	"time"

	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
)

// defaultCheckTime is how long the command of if= may take.
const defaultCheckTime = time.Minute

// Check asks the command of if= whether a run may start; engine.Checked tells.
// It runs as the run itself would: as its account, in its environment, under
// its limits and in a session, but that nobody reads what it prints.
// Kill ends it. A daemon that takes over asks again.
func (s *Spawner) Check(check engine.Check) {
	start := check.Start
	start.Job.Command, start.Job.Stdin = check.Command, ""
	c := s.newChild(&start)
	c.check = true
	s.take(c)
}

// limitCheck ends the command of if= when its time is over.
func (s *Spawner) limitCheck(c *child) {
	c.timer = time.AfterFunc(s.checkTime, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if c.outcome.IsZero() && !c.again {
			c.late = true
			s.kill(c, syscall.SIGKILL)
		}
	})
}

// endCheck tells how the command of if= ended. One that was ended for a hold
// that came to nothing is run again.
func (s *Spawner) endCheck(c *child) {
	if c.timer != nil {
		c.timer.Stop()
	}
	s.endGroup(c)
	s.mu.Lock()
	again, outcome := c.again, c.outcome
	if again {
		start := c.start
		s.owed--
		s.mu.Unlock()
		fresh := s.newChild(start)
		fresh.check = true
		s.take(fresh)
		return
	}
	if c.late {
		outcome = job.Outcome{Kind: job.TimedOut, Signal: int(syscall.SIGKILL)}
	}
	s.mu.Unlock()
	s.events <- engine.Checked{Run: c.run, Outcome: outcome}
	s.settleOwed()
}

// dropChecks ends the commands of if= that run, so that the daemon can stand
// still. Spawner.mu is held.
func (s *Spawner) dropChecks() {
	for _, c := range s.living {
		if c.check && c.pid != 0 {
			c.again = true
			s.kill(c, syscall.SIGKILL)
		}
	}
}

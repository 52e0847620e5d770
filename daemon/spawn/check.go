package spawn

import (
	"syscall"
	"time"

	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
)

// defaultCheckTime is the time limit of the if= command.
const defaultCheckTime = time.Minute

// Check runs the if= command to decide whether a run may start, and sends event.Checked. The
// command runs like the run itself: as its user, in its environment, under its limits and in a
// session; its output is discarded. Kill ends it. After a hand-over the new daemon runs the check
// again.
func (s *Spawner) Check(check effect.Check) {
	start := check.Start
	start.Job.Command, start.Job.Stdin = check.Command, ""
	c := s.newChild(&start)
	c.check = true
	s.take(c)
}

// endCheck reports how the if= command ended. If it was killed for a Hold that failed, it runs
// again.
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
	s.events <- event.Checked{Run: c.run, Outcome: outcome}
	s.settleOwed()
}

// killChecks kills the if= commands that run, so that the Spawner can pause or end. If it pauses, they
// run again. Spawner.mu is held.
func (s *Spawner) killChecks(again bool) {
	for _, c := range s.living {
		if c.check && c.pid != 0 {
			c.again = again
			s.kill(c, syscall.SIGKILL)
		}
	}
}

// awaitsRun reports whether the end of a run is not reported yet. It ignores killed if= commands, as
// toolRuns ignores killed programs. Spawner.mu is held.
func (s *Spawner) awaitsRun() bool {
	owed := s.owed
	for _, c := range s.living {
		if c.check && c.killed && c.pid != 0 {
			owed--
		}
	}
	return owed > 0
}

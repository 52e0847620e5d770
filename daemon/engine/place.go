package engine

import "github.com/cronring/cronring/daemon/job"

// place is the last gate. Nothing passes it while the daemon drains.
func (e *Engine) place(r *run) answer {
	if e.draining {
		e.wait(r, job.RunQueued, job.WaitsForPlace, "the daemon is about to be replaced")
		return waits
	}
	return passes
}

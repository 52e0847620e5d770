package engine

import (
	"fmt"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/job"
)

// mostHeld limits how many live runs without a process one user can have, over all jobs:
// runs that wait for others, for a time or for a slot, or are about to start. A run that
// waits for parents counts once more for each parent, because it stores how the parent
// ended. Each job may have one such run regardless of the limit.
//
// Without the limit, some crontabs would fill the daemon's memory and delay the runs of
// all other users. One example is an entry that fails every second and is retried a year
// later. Another is a chain of job pairs in which both jobs of a pair start on the end of
// either job of the pair before.
const mostHeld = 10_000

// unstartedRuns counts, for each user, the live runs without a process.
type unstartedRuns map[string]int

func (c unstartedRuns) join(r *run) {
	if r.State != job.RunRunning {
		r.unstartedRuns = 1 + len(r.options.After)
		c[r.User] += r.unstartedRuns
	}
}

func (c unstartedRuns) leave(r *run) {
	if r.unstartedRuns == 0 {
		return
	}
	if c[r.User] -= r.unstartedRuns; c[r.User] == 0 {
		delete(c, r.User)
	}
	r.unstartedRuns = 0
}

// flooded returns why no further run of a job is made, or "".
func (e *Engine) flooded(j *firing, live []*run) string {
	many, most := e.stalled[j.entry.User()], max(mostHeld, e.places.limits.QueueMax)
	if many < most || len(live) == 0 || j.options.Overlap == option.OverlapReplace || j.options.Overlap == option.OverlapKill {
		return ""
	}
	return fmt.Sprintf("%d of %s, with those that they wait for; %d are of this job", many, j.entry.User(), len(live))
}

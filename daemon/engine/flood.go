package engine

import (
	"fmt"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// mostHeld is how many runs of one account may live without a process, all of
// its jobs together: that wait for others, for a time or for a place, or are
// about to start. One that waits for others counts once more for each of them,
// as it remembers how they ended. Each job may have one all the same. Without a bound one line
// that fails each second and is tried again in a year, or two jobs that both
// start on the end of two others, and so on, would fill the daemon's memory and
// keep the runs of all others from their turn.
const mostHeld = 10_000

// crowd counts the runs of accounts that live without a process.
type crowd map[string]int

func (c crowd) join(r *run) {
	if r.State != job.RunRunning {
		r.crowds = 1 + len(r.options.After)
		c[r.User] += r.crowds
	}
}

func (c crowd) leave(r *run) {
	if r.crowds == 0 {
		return
	}
	if c[r.User] -= r.crowds; c[r.User] == 0 {
		delete(c, r.User)
	}
	r.crowds = 0
}

// flooded says why no further run of a job is made, or "".
func (e *Engine) flooded(j *firing, live []*run) string {
	many, most := e.stalled[j.entry.User()], max(mostHeld, e.places.limits.QueueMax)
	if many < most || len(live) == 0 || j.options.Overlap == crontab.OverlapReplace || j.options.Overlap == crontab.OverlapKill {
		return ""
	}
	return fmt.Sprintf("%d of %s, with those that they wait for; %d are of this job", many, j.entry.User(), len(live))
}

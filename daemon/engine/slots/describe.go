package slots

import (
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// Describe describes what the run of a claim waits for, and which runs are in the way.
// Users other than root do not see the names of other users' jobs.
func (q *Queue) Describe(c *Claim, now time.Duration) string {
	u := q.users[c.User]
	switch x := c.pool; {
	case !q.hasSlot():
		return job.HostSlots(q.running, q.Limits.MaxRunning, len(u.holders), c.User)
	case q.isFull(u):
		return job.UserSlots(len(u.holders), q.Limits.PerUser(c.User), c.User, takers(u.holders, c.User))
	case x == nil:
		return job.OthersFirst("")
	case x.taken+c.Slots > x.Size:
		return job.PoolSlots(x.name, x.taken, x.Size, takers(x.holders, c.User), c.Slots)
	case x.until > now:
		return job.PoolRate(x.name, x.Rate, x.Per, x.until-now)
	default:
		return job.OthersFirst(x.name)
	}
}

// takers lists the runs that hold slots, as far as a user may see them.
func takers(holders []*Claim, user string) string {
	const few = 3
	var runs []string
	for _, h := range holders {
		if len(runs) < few && (h.User == user || user == "root") {
			runs = append(runs, job.RunOf(h.Run, h.Job))
		}
	}
	return job.Takers(runs, len(holders)-len(runs))
}

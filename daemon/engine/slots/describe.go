package slots

import (
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// Describe describes what the run of a claim waits for, and which runs are in the way.
// Users other than root do not see the names of other users' jobs.
func (q *Queue) Describe(c *Claim, now time.Duration) job.Detail {
	u := q.users[c.User]
	switch x := c.pool; {
	case !q.hasSlot():
		return job.DetailHostSlots(q.running, q.Limits.MaxRunning, len(u.holders), c.User)
	case q.isFull(u):
		return job.DetailUserSlots(len(u.holders), q.Limits.PerUser(c.User), c.User, holdersOf(u.holders, c.User))
	case x == nil:
		return job.DetailOthersFirst("")
	case x.taken+c.Slots > x.Size:
		return job.DetailPoolSlots(x.name, x.taken, x.Size, holdersOf(x.holders, c.User), c.Slots)
	case x.until > now:
		return job.DetailPoolRate(x.name, x.Rate, x.Per, x.until-now)
	default:
		return job.DetailOthersFirst(x.name)
	}
}

// holdersOf lists the runs that hold slots, as far as a user may see them.
func holdersOf(holders []*Claim, user string) job.Detail {
	const few = 3
	var runs []job.Detail
	for _, h := range holders {
		if len(runs) < few && (h.User == user || user == "root") {
			runs = append(runs, job.DetailRun(h.Run, h.Job))
		}
	}
	return job.SlotHolders(runs, len(holders)-len(runs))
}

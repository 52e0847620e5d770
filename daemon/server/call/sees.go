package call

import (
	"slices"

	"github.com/cronring/cronring/daemon/job"
)

// Visible returns the numbers of all jobs that the caller sees, in crontab order.
func (c *Call) Visible() []int {
	seen := make([]int, 0, c.View.Len())
	for i := range c.View.Len() {
		if c.SeesJob(i) {
			seen = append(seen, i)
		}
	}
	return seen
}

// SeesJob reports whether the caller may see job i or, of a call that acts, operate it.
func (c *Call) SeesJob(i int) bool {
	return c.Peer.Admin || c.Peer.May(c.need, c.View.Entry(i))
}

// SeesRun is stricter than SeesJob: the name of a job can have been that of
// another account's job before.
func (c *Call) SeesRun(r *job.Run) bool {
	return c.Peer.MayOf(c.need, c.View, r.Job, r.User)
}

// Where returns the visible jobs for which choose is true.
func (c *Call) Where(choose func(i int) bool) []int {
	return slices.DeleteFunc(c.Visible(), func(i int) bool { return !choose(i) })
}

// SeesDecision is SeesRun for a decision, which has a run or, for a skip, its own user.
func (c *Call) SeesDecision(r job.Record) bool {
	if r.Run != nil {
		return c.SeesRun(r.Run)
	}
	return c.Peer.MayOf(c.need, c.View, r.Job, r.User)
}

// IDs returns the names of jobs.
func (c *Call) IDs(jobs []int) []job.ID {
	ids := make([]job.ID, len(jobs))
	for k, i := range jobs {
		ids[k] = c.View.ID(i)
	}
	return ids
}

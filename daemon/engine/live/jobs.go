package live

import (
	"maps"
	"slices"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/job"
)

// TooMany returns which runs already reach max-instances=, or "". With other values of
// overlap=, a job has at most one run anyway.
func TooMany(o *option.Options, live []*Run) job.Detail {
	if o.MaxInstances == 0 || len(live) < o.MaxInstances || o.Overlap != option.OverlapAllow {
		return ""
	}
	first := make([]job.RunID, min(3, len(live))) // there may be 100,000 runs
	for i := range first {
		first[i] = live[i].ID
	}
	return job.DetailInstances(first, len(live), o.MaxInstances)
}

// Queued returns the oldest queued run, or nil.
func Queued(live []*Run) *Run {
	for _, r := range live {
		if r.IsQueued() {
			return r
		}
	}
	return nil
}

// NextQueued returns, of all live runs of a job, the oldest queued one whose user has no
// other of them in progress.
func NextQueued(live []*Run) *Run {
	var busy []string // users; there is hardly ever more than one
	for _, r := range live {
		if !r.IsQueued() && !slices.Contains(busy, r.User) {
			busy = append(busy, r.User)
		}
	}
	i := slices.IndexFunc(live, func(r *Run) bool { return r.IsQueued() && !slices.Contains(busy, r.User) })
	if i < 0 {
		return nil
	}
	return live[i]
}

// MostUnstarted limits how many live runs without a process one user can have, over all jobs:
// runs that wait for others, for a time or for a slot, or are about to start. A run that
// waits for parents counts once more for each parent, because it stores how the parent
// ended. Each job can have one such run regardless of the limit.
//
// Without the limit, some crontabs would fill the daemon's memory and delay the runs of
// all other users. One example is an entry that fails every second and is retried a year
// later. Another is a chain of job pairs in which both jobs of a pair start on the end of
// either job of the pair before.
const MostUnstarted = 10_000

// Unstarted counts, for each user, live runs without a process. Each job in the after= of such a run
// counts as one more, and so does each KiB of its variables and parents.
type Unstarted map[string]int

// Add counts a run that is new and may have no process.
func (c Unstarted) Add(r *Run) {
	if r.State != job.RunRunning {
		r.counted = 1 + len(r.Options.After) + r.Bulk()>>10
		c[r.User] += r.counted
	}
}

// Remove stops counting a run that has a process or is over.
func (c Unstarted) Remove(r *Run) {
	if r.counted == 0 {
		return
	}
	if c[r.User] -= r.counted; c[r.User] == 0 {
		delete(c, r.User)
	}
	r.counted = 0
}

// Flood returns why a user must have no further runs without a process, or "". queueMax is
// the user's limit of runs that wait for a slot; of the live runs of the same job, there
// are ofJob.
func (c Unstarted) Flood(user string, queueMax, ofJob int) job.Detail {
	if many := c[user]; many >= max(MostUnstarted, queueMax) {
		return job.DetailUnstartedRuns(many, user, ofJob)
	}
	return ""
}

// Sorted returns runs, oldest first.
func Sorted(runs map[job.RunID]*Run) []*Run {
	return slices.SortedFunc(maps.Values(runs), func(a, b *Run) int { return int(a.ID - b.ID) })
}

// OfUser returns the runs of a user, of all live runs of a job. If another user had a job
// of that name before, runs of that job are not included. The result is valid until one of
// them ends.
func OfUser(all []*Run, user string) []*Run {
	isOthers := func(r *Run) bool { return !IsOf(r, user) }
	if !slices.ContainsFunc(all, isOthers) { // avoid a copy: a job may have thousands of runs
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), isOthers)
}

// OfPeriod returns the oldest run of a period, other than but; or nil.
func OfPeriod(runs map[job.RunID]*Run, p *timetable.Period, but *Run) *Run {
	var oldest *Run
	for _, r := range runs {
		if q := r.Options.Period; q != nil && q.ID == p.ID && r != but && (oldest == nil || r.ID < oldest.ID) {
			oldest = r
		}
	}
	return oldest
}

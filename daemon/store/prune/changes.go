package prune

import (
	"sync"

	"github.com/cronring/cronring/daemon/job"
)

// changes lists the jobs with rows that Prune has not checked yet.
type changes struct {
	mu sync.Mutex
	unchecked
}

// unchecked are jobs with new rows.
type unchecked struct {
	runs, skips map[int64]job.ID // jobs by number
	users       map[string]bool  // their users
}

// note takes a record of the job with a number.
func (k *changes) note(n int64, r *job.Record) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.runs == nil {
		k.unchecked = unchecked{map[int64]job.ID{}, map[int64]job.ID{}, map[string]bool{}}
	}
	if r.Run == nil {
		k.skips[n], k.users[r.User] = r.Job, true
		return
	}
	k.runs[n], k.users[r.Run.User] = r.Job, true
}

// take returns what was noted since the last call.
func (k *changes) take() unchecked {
	k.mu.Lock()
	defer k.mu.Unlock()
	taken := k.unchecked
	k.unchecked = unchecked{}
	return taken
}

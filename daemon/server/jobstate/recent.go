package jobstate

import "github.com/cronring/cronring/daemon/job"

// mostRecent limits the runs that recentRuns keeps.
const mostRecent = 1000

// recentRuns keeps the newest ended runs. In a burst, the history gets them later, and not at all
// while its disk is full.
type recentRuns struct {
	byID   map[job.RunID]*job.Run
	byUser map[string][]job.RunID // oldest first
}

// add keeps a run without its variables and parents, which can be large.
func (k *recentRuns) add(r *job.Run) {
	if k.byID == nil {
		k.byID, k.byUser = map[job.RunID]*job.Run{}, map[string][]job.RunID{}
	}
	if k.byID[r.ID] == nil {
		k.byUser[r.User] = append(k.byUser[r.User], r.ID)
	}
	brief := *r
	brief.Env, brief.Parents = nil, nil
	k.byID[r.ID] = &brief
	if len(k.byID) > mostRecent {
		k.evict()
	}
}

// evict removes the oldest run of the user with most, so that a user cannot evict the runs of
// users with fewer.
func (k *recentRuns) evict() {
	var user string
	var most []job.RunID
	for name, runs := range k.byUser {
		if len(runs) > len(most) || len(runs) == len(most) && runs[0] < most[0] {
			user, most = name, runs
		}
	}
	delete(k.byID, most[0])
	if k.byUser[user] = most[1:]; len(most) == 1 {
		delete(k.byUser, user)
	}
}

// recentRun returns one of the newest runs that ended, or nil.
func (m *memory) recentRun(id job.RunID) *job.Run {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.recent.byID[id]
}

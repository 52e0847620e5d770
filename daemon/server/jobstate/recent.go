package jobstate

import "github.com/cronring/cronring/daemon/job"

// mostRecent limits the runs that recentRuns keeps.
const mostRecent = 500

// recentRuns keeps the newest runs that ended, because the history does not have them yet in a
// burst, and not at all while its disk is full.
type recentRuns struct {
	byID   map[job.RunID]*job.Run
	order  []job.RunID // a ring
	oldest int
}

// add keeps a run without its variables and parents, which can be large.
func (k *recentRuns) add(r *job.Run) {
	brief := *r
	brief.Env, brief.Parents = nil, nil
	if len(k.order) < mostRecent {
		k.order = append(k.order, r.ID)
	} else {
		delete(k.byID, k.order[k.oldest])
		k.order[k.oldest] = r.ID
		k.oldest = (k.oldest + 1) % mostRecent
	}
	if k.byID == nil {
		k.byID = map[job.RunID]*job.Run{}
	}
	k.byID[r.ID] = &brief
}

// recentRun returns one of the newest runs that ended, or nil.
func (m *memory) recentRun(id job.RunID) *job.Run {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.recent.byID[id]
}

package jobstate

import (
	"testing"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
)

// Until the first board or list, the memory stores nothing but some recent runs.
func TestMemoryThatNobodyUsesIsEmpty(t *testing.T) {
	e := engine.New(engine.State{})
	file, _ := crontab.Parse("/etc/cron.d/etl", "* * * * * ann sync\n", crontab.Config{Format: crontab.System})
	e.Step(job.Moment{}, event.Load{Crontabs: []*crontab.File{file}})
	m := newMemory(nil, e.View)
	run := &job.Run{ID: 1, Job: e.View().ID(0), User: "ann", State: job.RunEnded}
	m.Tap([]job.Record{{Kind: job.Ended, Job: run.Job, Run: run}}, []job.Summary{{Job: run.Job, User: "ann", Bad: 1}})
	if m.numbering != nil || m.lasts != nil || m.ends != 0 || len(m.missed.ended)+len(m.missed.streaks) != 0 {
		t.Errorf("it stores %+v", m)
	}
}

// The newest runs are known without the history, and not too many of them. The many runs of one user
// do not replace the few of another.
func TestRecentRuns(t *testing.T) {
	m := newMemory(nil, nil)
	for id := range job.RunID(mostRecent + 10) {
		r := &job.Run{ID: id + 1, User: "ann", State: job.RunEnded, Env: []string{"A=1"}}
		if id < 2 {
			r.User = "bob"
		}
		m.Tap([]job.Record{{Kind: job.Ended, Run: r}}, nil)
	}
	for _, id := range []job.RunID{3, 12} {
		if r := m.recentRun(id); r != nil || len(m.recent.byID) != mostRecent {
			t.Errorf("%d runs are kept, run %d is %v", len(m.recent.byID), id, r)
		}
	}
	for _, id := range []job.RunID{1, 2, 13, mostRecent + 10} {
		if r := m.recentRun(id); r == nil || r.ID != id || r.Env != nil {
			t.Errorf("run %d is %v", id, r)
		}
	}
}

// A user cannot have any number of boards; admins can.
func TestWatchersOfAUserAreBounded(t *testing.T) {
	m := newMemory(nil, nil)
	for i := range userBoards + 1 {
		if w := m.Watch(call.Peer{UID: 20001, Name: "ann"}); (w != nil) != (i < userBoards) {
			t.Errorf("board %d of ann's is given: %t", i+1, w != nil)
		}
	}
	given := 0
	for uid := range uint32(2 * nonAdminBoards) {
		if m.Watch(call.Peer{UID: 30000 + uid, Name: "user"}) != nil {
			given++
		}
	}
	if want := nonAdminBoards - userBoards; given != want {
		t.Errorf("%d boards are given to others, want %d", given, want)
	}
	if m.Watch(call.Peer{Admin: true}) == nil {
		t.Error("root gets no board")
	}
}

package actions

import (
	"fmt"
	"testing"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
)

// viewed counts how often its view is looked at.
type viewed struct {
	Daemon
	view  *view.View
	looks int
}

func (v *viewed) View() *view.View {
	v.looks++
	return v.view
}

// A caller can wait for 10,000 runs. Each event costs it one look at the live runs at most.
func TestWaitLooksAtLiveRunsOnceForEachEvent(t *testing.T) {
	var runs []job.Run
	var p view.Parts
	for id := range job.RunID(100) {
		runs = append(runs, job.Run{ID: id, Invocation: fmt.Sprint(id)})
		p.Live = append(p.Live, &job.Run{ID: id, Invocation: fmt.Sprint(id)})
	}
	d := &viewed{view: view.New(p)}
	events := make(chan api.Event, 3)
	events <- api.Event{Gap: &api.Gap{Lost: 1}}
	events <- api.Event{Record: &job.Record{Run: &job.Run{ID: 7, Invocation: "7", State: job.RunEnded}}} // another attempt is live
	events <- api.Event{Record: &job.Record{Run: &job.Run{ID: 700, Invocation: "700", State: job.RunEnded}}}
	close(events)
	if _, err := (&Actor{daemon: d}).await(t.Context(), nil, events, runs); err == nil {
		t.Error("the wait is over, although all runs are live")
	}
	if d.looks != 2 {
		t.Errorf("the live runs were looked at %d times for 3 events, want 2", d.looks)
	}
}

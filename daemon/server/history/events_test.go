package history

import (
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
)

// present is a daemon that nothing happens in.
type present struct {
	Daemon
	view *view.View
}

func (p present) View() *view.View { return p.view }

// If a user reuses the name of another user's job, they must not receive the output of a live run
// of that job.
func TestOutputIsHeardByTheRunsAccountAlone(t *testing.T) {
	x := engine.New(engine.State{})
	step := func(e event.Event) {
		x.Step(job.Moment{Wall: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC), Up: time.Hour}, e)
	}
	load := func(text string) {
		file, _ := crontab.Parse("/etc/cron.d/etl", text, crontab.Config{Format: crontab.System, Zone: time.LoadLocation})
		step(event.Load{Crontabs: []*crontab.File{file}})
	}
	load("#@ name=ann-job\n0 0 1 1 * ann true\n")
	step(event.RunNow{Job: "ann-job", By: "ann"})
	runs := x.View().Runs()
	if len(runs) != 1 {
		t.Fatalf("%d runs, want the one that was asked for", len(runs))
	}
	load("#@ name=ann-job\n0 0 1 1 * bob true\n")
	s := &Reader{daemon: present{view: x.View()}}
	e := api.Event{Chunk: &job.Chunk{Run: runs[0].ID, Job: "ann-job", User: runs[0].User, Stream: job.Stdout, Data: []byte("ann-secret-output")}}
	for _, test := range []struct {
		who   call.Peer
		hears bool
	}{
		{call.Peer{UID: 20002, Name: "bob"}, false},
		{call.Peer{UID: 20001, Name: "ann"}, true},
		{call.Peer{UID: 0, Name: "root", Admin: true}, true},
	} {
		if got := s.maySee(test.who, e); got != test.hears {
			t.Errorf("%s hears the output of ann's run: %t, want %t", test.who, got, test.hears)
		}
	}
}

// A stream does little work for the events of others, however many patterns it has.
func TestEventsOfOthersAreComparedWithNoPattern(t *testing.T) {
	s := &Reader{daemon: present{view: engine.New(engine.State{}).View()}}
	compared := 0
	choose := s.choose(call.Peer{UID: 20002, Name: "bob"}, func(job.ID) bool { compared++; return true })
	for user, want := range map[string]bool{"ann": false, "bob": true} {
		for _, e := range []api.Event{
			{Record: &job.Record{Kind: job.Ended, Job: "a", Run: &job.Run{Job: "a", User: user}}},
			{Record: &job.Record{Kind: job.Decided, Job: "a", User: user}},
			{Chunk: &job.Chunk{Run: 7, Job: "a", User: user}},
			{Notice: &job.Notice{Job: "a", User: user}},
		} {
			compared = 0
			if sent, _ := choose(e); sent != want || compared > 0 != want {
				t.Errorf("bob hears %+v of %s: %t, after %d comparisons; want %t", e, user, sent, compared, want)
			}
		}
	}
}

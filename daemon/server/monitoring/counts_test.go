package monitoring

import (
	"fmt"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
)

func TestCountsForgetJobsThatAreGone(t *testing.T) {
	file, _ := crontab.Parse("/etc/cron.d/etl", "#@ name=stays\n* * * * * ann true\n", crontab.Config{Format: crontab.System, Zone: time.LoadLocation})
	e := engine.New(engine.State{})
	e.Step(job.Moment{Wall: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC), Up: time.Hour}, event.Load{Crontabs: []*crontab.File{file}})
	c := newCounts(nil, e.View, time.Time{})
	ended := func(id job.ID) {
		r := job.Run{Job: id, User: "ann", State: job.RunEnded, Attempt: 1, Outcome: job.Outcome{Kind: job.Exited}}
		c.Tap([]job.Record{{Kind: job.Ended, Job: id, Run: &r}})
	}
	ended("stays")
	for i := range 3 * countRoom {
		ended(job.ID(fmt.Sprint("gone-", i)))
	}
	if got, _ := c.job("stays", "ann"); got[0] != 1 {
		t.Errorf("the job that stays has %d runs, want 1", got[0])
	}
	if most := 2 + countRoom; len(c.jobs) > most {
		t.Errorf("%d jobs are counted, want at most %d", len(c.jobs), most)
	}
	if c.totals().ended[0] != 3*countRoom+1 {
		t.Errorf("%d runs in all, want %d", c.totals().ended[0], 3*countRoom+1)
	}
}

// BenchmarkCounts measures their cost in a step of the loop.
func BenchmarkCounts(b *testing.B) {
	c := newCounts(nil, func() *view.View { return engine.New(engine.State{}).View() }, time.Time{})
	r := job.Run{Job: "x", User: "ann", State: job.RunEnded, Attempt: 1, Outcome: job.Outcome{Kind: job.Exited}}
	facts := []job.Record{{Kind: job.Started, Job: "x", Run: &r}, {Kind: job.Ended, Job: "x", Run: &r}}
	for b.Loop() {
		c.Tap(facts)
	}
}

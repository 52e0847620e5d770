package daemon

import (
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/prune"
)

func TestPolicySaysWhatEntriesKeep(t *testing.T) {
	text := "* * * * * a\n#@ name=probe keep=20\n* * * * * b\n#@ name=other keep=20\n* * * * * c\n#@ name=audit keep=365d\n* * * * * d\n"
	file, diagnostics := crontab.Parse("/spool/ann", text, crontab.Config{Owner: "ann", Zone: time.LoadLocation})
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	e := engine.New(engine.State{})
	e.Step(job.Moment{Wall: time.Unix(0, 0).UTC()}, event.Load{Crontabs: []*crontab.File{file}})
	p := policy(e.View(), 7)
	usual := option.DefaultOptions().Keep
	if p.PerJob != usual.Runs || p.Age != usual.Age || p.PerJob == 0 || p.DeadLetters == 0 || p.Rows != 7 || p.Gone == 0 {
		t.Errorf("policy: %+v", p)
	}
	for id, want := range map[job.ID]prune.Keep{
		"ann/probe": {User: "ann", PerJob: 20}, "ann/other": {User: "ann", PerJob: 20}, "ann/audit": {User: "ann", Age: 365 * 24 * time.Hour},
	} {
		if k, ok := p.Own(id); !ok || k != want {
			t.Errorf("of %s is kept %+v, %t, want %+v", id, k, ok, want)
		}
	}
	if k, ok := p.Own(e.View().ID(0)); ok {
		t.Errorf("of a job without keep= is kept %+v, want what is usual", k)
	}
	if !p.Installed("ann/probe", "ann") || p.Installed("ann/probe", "bob") || p.Installed("gone", "ann") {
		t.Error("what is installed is not known")
	}
}

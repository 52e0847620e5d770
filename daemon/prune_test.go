package daemon

import (
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/store"
)

func TestPolicySaysWhatEntriesKeep(t *testing.T) {
	text := "* * * * * a\n#@ name=probe keep=20\n* * * * * b\n#@ name=other keep=20\n* * * * * c\n#@ name=audit keep=365d\n* * * * * d\n"
	table, remarks := crontab.Parse("/spool/ann", text, crontab.Config{Owner: "ann", Zone: time.LoadLocation})
	if len(remarks) > 0 {
		t.Fatal(remarks)
	}
	e := engine.New(engine.State{})
	e.Step(engine.Moment{Wall: time.Unix(0, 0).UTC()}, engine.Load{Tables: []*crontab.Table{table}})
	p := policy(e.View(), 7)
	usual := crontab.DefaultOptions().Keep
	if p.PerJob != usual.Runs || p.Age != usual.Age || p.PerJob == 0 || p.Letters == 0 || p.Rows != 7 || p.Gone == 0 || len(p.Other) != 2 {
		t.Errorf("policy: %+v", p)
	}
	other := map[int][]store.Keep{}
	for _, k := range p.Other {
		other[len(k.Jobs)] = append(other[len(k.Jobs)], k)
	}
	if k := other[2]; len(k) != 1 || k[0].PerJob != 20 {
		t.Errorf("of two jobs: %+v, want 20 runs each", k)
	}
	if k := other[1]; len(k) != 1 || k[0].Jobs[0] != "ann/audit" || k[0].Age != 365*24*time.Hour {
		t.Errorf("of one job: %+v, want audit, a year", k)
	}
	if !p.Installed("ann/probe", "ann") || p.Installed("ann/probe", "bob") || p.Installed("gone", "ann") {
		t.Error("what is installed is not known")
	}
}

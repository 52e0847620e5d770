package engine

import (
	"fmt"
	"hash/fnv"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
)

// An upgraded daemon finds a roster with keys of the earlier form, and decides exactly as
// with current keys.
func TestUpgradeDecidesAsWithKeysOfToday(t *testing.T) {
	w := newSimHost(t, noon, time.UTC)
	host := w.crontab("host", "#@ name=decided catchup=once\n0 * * * * a\n#@ name=idle catchup=once\n0 * * * * b\n#@ name=edited catchup=once\n30 * * * * c\n")
	twins := w.crontab("twins", "#@ catchup=once\n0 * * * * x\n#@ catchup=once shards=2\n0 * * * * x\n")
	late := w.users("bob", "#@ name=late catchup=once\n0 * * * * d\n#@ catchup=once\n0 * * * * x\n#@ catchup=once shards=2\n0 * * * * x\n")
	edited := w.crontab("host", "#@ name=decided catchup=once\n0 * * * * a\n#@ name=idle catchup=once\n0 * * * * b\n#@ name=edited catchup=once\n20 * * * * c\n#@ name=new catchup=once\n0 * * * * e\n")
	up := func(at time.Time) job.Moment { return job.Moment{Wall: at, Up: at.Sub(noon) + 24*time.Hour} }
	var known, former []effect.Known
	before := New(State{})
	for _, e := range before.Step(up(noon.Add(-3*time.Hour-time.Minute)), event.Load{Crontabs: []*crontab.File{host, twins, late}}) {
		if r, ok := e.(effect.Roster); ok {
			known = r.All()
		}
	}
	for slot, id := range []string{
		"decided", "idle", "edited", "twins.ann.2d711642", "twins.ann.2d711642#0", "twins.ann.2d711642#1",
		"late", "bob.bob.2d711642", "bob.bob.2d711642#0", "bob.bob.2d711642#1",
	} {
		k := known[slot]
		h := fnv.New64a()
		h.Write([]byte(id))
		k.Key = catalog.FormerKey(h.Sum64())
		former = append(former, k)
	}
	marks := []job.Mark{{Job: "decided", Due: noon}, {Job: "bob/late", Due: noon.Add(-2 * time.Hour)}}
	live := func(known []effect.Known) string {
		e := New(State{Known: known, Marks: marks, LastSeen: noon.Add(-3 * time.Hour), NextRun: 1})
		said := ""
		for i, load := range []event.Load{
			{Crontabs: []*crontab.File{edited, twins}, Awaited: map[string]bool{late.Name: false}},
			{Crontabs: []*crontab.File{edited, twins, late}},
			{Crontabs: []*crontab.File{edited, late}},
		} {
			for _, x := range e.Step(up(noon.Add(time.Duration(1+i)*time.Minute)), load) {
				switch x := x.(type) {
				case effect.Start:
					said += fmt.Sprintf("%s runs for %s by %s\n", x.Job.ID, x.Run.Due.Format(time.TimeOnly), x.Run.Trigger)
				case effect.Roster:
					said += fmt.Sprintln(x)
				}
			}
		}
		return said
	}
	want, got := live(known), live(former)
	if got != want || want == "" {
		t.Errorf("with the keys of before:\n%s\nwith those of today:\n%s", got, want)
	}
}

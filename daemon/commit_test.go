package daemon

import (
	"testing"

	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store"
)

func TestBacklogKeepsOrderAndNewestRoster(t *testing.T) {
	var k backlog
	old, fresh := &engine.Roster{}, &engine.Roster{}
	k.keep(store.Batch{Records: []job.Record{{Detail: "1"}}, Roster: old})
	k.keep(k.with(store.Batch{Records: []job.Record{{Detail: "2"}}}))
	b := k.with(store.Batch{Records: []job.Record{{Detail: "3"}}, Roster: fresh})
	if len(b.Records) != 3 || b.Records[0].Detail != "1" || b.Records[2].Detail != "3" {
		t.Errorf("records: %v", b.Records)
	}
	if b.Roster != fresh {
		t.Error("an old roster would be written over the new one")
	}
	if k.with(store.Batch{}).Roster != old {
		t.Error("a roster that waits was forgotten")
	}
}

func TestBacklogIsBounded(t *testing.T) {
	var k backlog
	k.keep(store.Batch{Records: make([]job.Record, maxUnwritten+10)})
	if n := len(k.batch.Records); n != maxUnwritten || k.lost != 10 {
		t.Errorf("%d records wait and %d are lost, want %d and 10", n, k.lost, maxUnwritten)
	}
	big := job.Chunk{Data: make([]byte, 1<<20)}
	var outputs []store.Output
	for run := range job.RunID(40) {
		outputs = append(outputs, store.Output{Run: run, Chunks: []job.Chunk{big}})
	}
	k.keep(store.Batch{Outputs: outputs})
	if n := len(k.batch.Outputs); n != 16 || k.batch.Outputs[n-1].Run != 39 {
		t.Errorf("%d outputs of 1 MB wait, want the newest 16", n)
	}
	if k.again() == nil {
		t.Error("nothing asks the store again")
	}
	if err := (&backlog{batch: store.Batch{Records: make([]job.Record, 3)}}).lastWords(); err == nil {
		t.Error("records are lost without a word")
	}
}

func TestWithoutLeavesOutRefused(t *testing.T) {
	got := without([]job.Record{{Detail: "a"}, {Detail: "b"}, {Detail: "c"}}, []int{1})
	if len(got) != 2 || got[0].Detail != "a" || got[1].Detail != "c" {
		t.Errorf("got %v", got)
	}
}

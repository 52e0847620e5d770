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
	k.add(store.Batch{Records: []job.Record{{Detail: "1"}}, Roster: old})
	k.add(store.Batch{Records: []job.Record{{Detail: "2"}}, Roster: fresh})
	k.add(store.Batch{Records: []job.Record{{Detail: "3"}}})
	b := k.part(store.Batch{})
	if len(b.Records) != 3 || b.Records[0].Detail != "1" || b.Records[2].Detail != "3" {
		t.Errorf("records: %v", b.Records)
	}
	if b.Roster != fresh {
		t.Error("an old roster would be written over the new one, or none")
	}
	if k.done(b); !k.empty() {
		t.Error("what was written still waits")
	}
}

// Outputs wait for the last part: their runs must be known.
func TestBacklogIsWrittenInParts(t *testing.T) {
	var k backlog
	k.add(store.Batch{Records: make([]job.Record, retryPart+1), Outputs: []store.Output{{Run: 1}}})
	first := k.part(store.Batch{})
	if len(first.Records) != retryPart || len(first.Outputs) != 0 {
		t.Errorf("the first part has %d records and %d outputs", len(first.Records), len(first.Outputs))
	}
	k.done(first)
	last := k.part(store.Batch{})
	if len(last.Records) != 1 || len(last.Outputs) != 1 {
		t.Errorf("the last part has %d records and %d outputs", len(last.Records), len(last.Outputs))
	}
	if k.done(last); !k.empty() {
		t.Error("what was written still waits")
	}
}

func TestBacklogIsBounded(t *testing.T) {
	var k backlog
	k.add(store.Batch{Records: make([]job.Record, maxUnwritten+10)})
	if n := len(k.records); n != maxUnwritten || k.lost != 10 {
		t.Errorf("%d records wait and %d are lost, want %d and 10", n, k.lost, maxUnwritten)
	}
	big := job.Chunk{Data: make([]byte, 1<<20)}
	for run := range job.RunID(40) {
		k.add(store.Batch{Outputs: []store.Output{{Run: run, Chunks: []job.Chunk{big}}}})
	}
	if n := len(k.outputs); n != 16 || k.outputs[n-1].Run != 39 {
		t.Errorf("%d outputs of 1 MB wait, want the newest 16", n)
	}
	if err := k.lastWords(); err == nil {
		t.Error("records are lost without a word")
	}
}

func TestWithoutLeavesOutRefused(t *testing.T) {
	got := without([]job.Record{{Detail: "a"}, {Detail: "b"}, {Detail: "c"}}, []int{1})
	if len(got) != 2 || got[0].Detail != "a" || got[1].Detail != "c" {
		t.Errorf("got %v", got)
	}
}

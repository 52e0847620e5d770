package recorder

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store"
)

func TestBacklogKeepsOrderAndNewestRoster(t *testing.T) {
	var k backlog
	old := &effect.Roster{Whole: true, Crontabs: []effect.RosterCrontab{{Name: "a"}, {Name: "b"}}}
	fresh := &effect.Roster{Crontabs: []effect.RosterCrontab{{Name: "b", Known: []effect.Known{{Spec: 1}}}}}
	k.add(store.Batch{Records: []job.Record{{Detail: "1"}}, Roster: old})
	k.add(store.Batch{Records: []job.Record{{Detail: "2"}}, Roster: fresh})
	k.add(store.Batch{Records: []job.Record{{Detail: "3"}}})
	b := k.next(store.Batch{})
	if len(b.Records) != 3 || b.Records[0].Detail != "1" || b.Records[2].Detail != "3" {
		t.Errorf("records: %v", b.Records)
	}
	if r := b.Roster; !r.Whole || len(r.Crontabs) != 2 || len(r.All()) != 1 {
		t.Errorf("the roster %+v is not the older one with what changed since", r)
	}
	if k.done(b); !k.empty() {
		t.Error("what was written still waits")
	}
}

// Outputs wait for the last part: their runs must be known.
func TestBacklogIsWrittenInParts(t *testing.T) {
	var k backlog
	k.add(store.Batch{Records: make([]job.Record, retryPart+1)})
	first := k.next(store.Batch{})
	if len(first.Records) != retryPart {
		t.Errorf("the first part has %d records", len(first.Records))
	}
	k.done(first)
	last := k.next(store.Batch{})
	if len(last.Records) != 1 {
		t.Errorf("the last part has %d records", len(last.Records))
	}
	if k.done(last); !k.empty() {
		t.Error("what was written still waits")
	}
}

// printed is output of a user's run.
func printed(user string, run job.RunID, size int, memory *budget.Lease) pendingOutput {
	return pendingOutput{store.Output{Run: run, Chunks: []job.Chunk{{Data: make([]byte, size)}}}, user, Held{Memory: memory}}
}

// A flood of output is written in batches of limited size, shared round-robin between users:
// output of other users does not wait for the end of the flood.
func TestOutputsAreWrittenInPartsInTurn(t *testing.T) {
	var k backlog
	memory := budget.New(1<<30, 1<<30)
	for run := range job.RunID(20) {
		lease := memory.Lease("ann")
		lease.Add(100)
		k.put(printed("ann", run, 100<<10, lease))
	}
	k.put(printed("root", 100, 100, nil))
	k.put(printed("bob", 101, 100, nil))
	var first []job.RunID
	parts := 0
	for k.size > 0 {
		part, again := k.nextOutputs(), k.nextOutputs()
		if len(part) != len(again) || part[0].Run != again[0].Run {
			t.Fatalf("a part that was not written is another one when it is tried again: %v, %v", part, again)
		}
		k.written(part, errors.New("disk full"))
		size := 0
		for i, o := range part {
			if parts == 0 {
				first = append(first, o.Run)
			}
			if size += len(o.Chunks[0].Data); size > partOutput && i < len(part)-1 {
				t.Errorf("a part has %d bytes before its last output", size)
			}
		}
		k.written(part, nil)
		parts++
	}
	if !slices.Equal(first[:3], []job.RunID{0, 100, 101}) || parts != 4 {
		t.Errorf("%d parts, the first is of runs %v, want four, and root's and bob's in turn", parts, first)
	}
	if held := memory.Held("ann"); held != 0 || !k.empty() {
		t.Errorf("%d bytes are held of what was written", held)
	}
}

func TestBacklogIsBounded(t *testing.T) {
	var k backlog
	k.add(store.Batch{Records: make([]job.Record, maxUnwritten+10)})
	if n := len(k.records); n != maxUnwritten || k.lost != 10 {
		t.Errorf("%d records wait and %d are lost, want %d and 10", n, k.lost, maxUnwritten)
	}
	k.put(printed("bob", 100, 1<<20, nil))
	for run := range job.RunID(40) {
		k.put(printed("ann", run, 1<<20, nil))
		k.add(store.Batch{})
	}
	waiting := k.unwritten()
	if n := len(waiting); n != 15 || waiting[0].Run != 100 || waiting[n-1].Run != 39 {
		t.Errorf("%d outputs of 1 MB wait, want bob's and the newest of ann", n)
	}
	if err := k.Err(); err == nil {
		t.Error("records are lost without a word")
	}
}

// A user with many records loses the own oldest ones, and not those of other users: without the records of a run
// the next daemon would start it again.
func TestRecordsOfOthersStayInTheBacklog(t *testing.T) {
	var k backlog
	record := func(user, detail string) job.Record {
		return job.Record{Detail: job.Text(detail), Run: &job.Run{User: user}}
	}
	k.add(store.Batch{Records: []job.Record{record("root", "1"), {Detail: "2"}, {Detail: "3", User: "bob"}, {Detail: "4", Backfill: &job.Backfill{User: "bob"}}}})
	for n := range 3 {
		flood := make([]job.Record, maxUnwritten)
		for i := range flood {
			flood[i] = record("ann", fmt.Sprint(n, " ", i))
		}
		k.add(store.Batch{Records: flood})
	}
	if n := len(k.records); n != maxUnwritten || k.lost != 2*maxUnwritten+4 {
		t.Fatalf("%d records wait and %d are lost, want %d and %d", n, k.lost, maxUnwritten, 2*maxUnwritten+4)
	}
	for i, want := range []string{"1", "2", "3", "4", "2 4"} {
		if got := k.records[i].Detail.Words(); got != want {
			t.Errorf("record %d is %q, want %q: the oldest ones of ann are lost", i, got, want)
		}
	}
	if got, want := k.records[maxUnwritten-1].Detail.Words(), fmt.Sprint("2 ", maxUnwritten-1); got != want {
		t.Errorf("the last record is %q, want the newest, %q", got, want)
	}
}

func TestWithoutLeavesOutRefused(t *testing.T) {
	got := without([]job.Record{{Detail: "a"}, {Detail: "b"}, {Detail: "c"}}, []int{1})
	if len(got) != 2 || got[0].Detail != "a" || got[1].Detail != "c" {
		t.Errorf("got %v", got)
	}
}

// The history may refuse a decision and then fail to take the rest of the batch.
// The run of that decision must not start, whether records waited before or not.
func TestRefusedRunIsKnownIfTheRestCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	history, err := store.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer history.Close()
	due := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	decided := func(id job.RunID) []job.Record {
		run := &job.Run{ID: id, Job: "a", User: "ann", Due: due, Attempt: 1, Trigger: job.TriggerClock, State: job.RunDecided}
		return []job.Record{{Kind: job.Decided, Job: "a", Due: due, User: "ann", Decision: job.DecideRun, Run: run}}
	}
	if err := history.Commit(t.Context(), store.Batch{Records: decided(1)}); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "cronring.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TRIGGER full BEFORE INSERT ON ledger BEGIN SELECT RAISE(ABORT, 'full'); END"); err != nil {
		t.Fatal(err)
	}
	for _, waited := range []bool{false, true} {
		var state atomic.Pointer[Problem]
		state.Store(&Problem{})
		r := New(history, slog.New(slog.DiscardHandler), &state)
		r.failing, r.due = waited, waited
		refused := r.Commit(store.Batch{Records: decided(2), Summaries: []job.Summary{{Job: "a", User: "ann"}}})
		if !refused[2] || state.Load().Err == nil || len(r.records) != 1 {
			t.Errorf("records waited %t: refused %v, problem %v, %d records wait; want run 2 refused, and its record to wait",
				waited, refused, state.Load().Err, len(r.records))
		}
	}
}

func TestBacklogKeepsTheNewestSummaryOfAnAccountsJob(t *testing.T) {
	var k backlog
	k.add(store.Batch{Summaries: []job.Summary{{Job: "a", User: "ann", Bad: 1}, {Job: "a", User: "bob", Bad: 5}}})
	if k.empty() {
		t.Error("a summary is forgotten")
	}
	k.add(store.Batch{Records: make([]job.Record, retryPart+1), Summaries: []job.Summary{{Job: "a", User: "ann", Bad: 2}}})
	first := k.next(store.Batch{})
	if len(first.Summaries) != 0 {
		t.Error("summaries are written before the runs that they speak of")
	}
	k.done(first)
	last := k.next(store.Batch{})
	got := map[string]int{}
	for _, l := range last.Summaries {
		got[l.User] = l.Bad
	}
	if len(last.Summaries) != 2 || got["ann"] != 2 || got["bob"] != 5 {
		t.Errorf("summaries: %v", last.Summaries)
	}
	if k.done(last); !k.empty() {
		t.Error("what was written still waits")
	}
}

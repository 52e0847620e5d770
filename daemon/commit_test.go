package daemon

import (
	"database/sql"
	"errors"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store"
)

func TestBacklogKeepsOrderAndNewestRoster(t *testing.T) {
	var k backlog
	old := &engine.Roster{Whole: true, Crontabs: []engine.RosterCrontab{{Name: "a"}, {Name: "b"}}}
	fresh := &engine.Roster{Crontabs: []engine.RosterCrontab{{Name: "b", Known: []engine.Known{{Spec: 1}}}}}
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
	return pendingOutput{store.Output{Run: run, Chunks: []job.Chunk{{Data: make([]byte, size)}}}, user, held{memory: memory}}
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
	if err := k.unwrittenError(); err == nil {
		t.Error("records are lost without a word")
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
		l := &loop{shared: shared{history: history, log: slog.New(slog.DiscardHandler)}, backlog: backlog{failing: waited, due: waited}}
		l.trouble.Store(&trouble{})
		refused := l.commit(store.Batch{Records: decided(2), Ledgers: []job.Ledger{{Job: "a", User: "ann"}}})
		if !refused[2] || l.trouble.Load().err == nil || len(l.backlog.records) != 1 {
			t.Errorf("records waited %t: refused %v, trouble %v, %d records wait; want run 2 refused, and its record to wait",
				waited, refused, l.trouble.Load().err, len(l.backlog.records))
		}
	}
}

func TestBacklogKeepsTheNewestLedgerOfAnAccountsJob(t *testing.T) {
	var k backlog
	k.add(store.Batch{Ledgers: []job.Ledger{{Job: "a", User: "ann", Bad: 1}, {Job: "a", User: "bob", Bad: 5}}})
	if k.empty() {
		t.Error("a ledger is forgotten")
	}
	k.add(store.Batch{Records: make([]job.Record, retryPart+1), Ledgers: []job.Ledger{{Job: "a", User: "ann", Bad: 2}}})
	first := k.next(store.Batch{})
	if len(first.Ledgers) != 0 {
		t.Error("ledgers are written before the runs that they speak of")
	}
	k.done(first)
	last := k.next(store.Batch{})
	got := map[string]int{}
	for _, l := range last.Ledgers {
		got[l.User] = l.Bad
	}
	if len(last.Ledgers) != 2 || got["ann"] != 2 || got["bob"] != 5 {
		t.Errorf("ledgers: %v", last.Ledgers)
	}
	if k.done(last); !k.empty() {
		t.Error("what was written still waits")
	}
}

// A daemon that takes over from one whose store rejected all writes still receives the active
// backfills, and the runs since they began.
func TestReplayKnowsBackfillsThatWereNotWritten(t *testing.T) {
	history, err := store.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer history.Close()
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	fill := func(id int64, state job.BackfillState) job.Record {
		return job.Record{Kind: job.Filled, Job: "a", Backfill: &job.Backfill{
			ID: id, Job: "a", User: "ann", From: from, To: from.Add(time.Hour), State: state,
		}}
	}
	run := func(id job.RunID, user string, due time.Time, v job.Verdict) *job.Run {
		return &job.Run{ID: id, Job: "a", User: user, Due: due, Attempt: 1, Trigger: job.TriggerBackfill, State: job.RunEnded, Verdict: v}
	}
	ended := func(r *job.Run) job.Record { return job.Record{Kind: job.Ended, Job: "a", Run: r} }
	batch := store.Batch{Records: []job.Record{
		fill(1, job.BackfillGoing), ended(run(1, "ann", from, job.VerdictOK)), ended(run(2, "ann", from.Add(time.Minute), job.VerdictFail)),
	}}
	if err := history.Commit(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	m, err := history.Restore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h := handover{Ledgers: []job.Ledger{{Job: "a", User: "ann", Bad: 3}}, Records: []job.Record{
		fill(1, job.BackfillDone), fill(2, job.BackfillGoing),
		ended(run(3, "ann", from.Add(time.Minute), job.VerdictOK)), ended(run(4, "bob", from, job.VerdictDead)),
		ended(run(5, "ann", from.Add(2*time.Hour), job.VerdictOK)),
	}}
	h.replay(&m, "boot")
	if err := h.replayRan(t.Context(), history, &m); err != nil {
		t.Fatal(err)
	}
	want := map[int64]job.Verdict{from.UnixNano(): job.VerdictOK, from.Add(time.Minute).UnixNano(): job.VerdictOK}
	if len(m.Backfills) != 1 || m.Backfills[0].ID != 2 || m.NextBackfill != 3 || !maps.Equal(m.Ran[2], want) {
		t.Errorf("backfills %v, next %d, ran %v; want number 2 alone and %v", m.Backfills, m.NextBackfill, m.Ran, want)
	}
	if len(m.Ledgers) != 1 || m.Ledgers[0].Bad != 3 {
		t.Errorf("ledgers: %v", m.Ledgers)
	}
}

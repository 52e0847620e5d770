package store

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cronring/cronring/daemon/job"
)

// same compares what was read to what was written; no list is an empty list.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// life is a run with all fields set, as a series of records.
func life(id job.RunID, outcome job.Outcome) []job.Record {
	due := noon.Add(time.Duration(id) * time.Minute).Add(123456789)
	r := job.Run{
		ID: id, Job: "backup", Due: due, Era: 3, Attempt: 2, Lost: 1, Trigger: job.TriggerCatchup, By: "ann",
		State: job.RunQueued, Reason: job.WaitsForRun, Invocation: job.Invocation("backup", due, 3, 0),
		Decided: due.Add(time.Second), User: "bob", Backfill: 12, Env: []string{"FULL=yes", "A=b c\n"},
		Forced: true, Previous: due.Add(-time.Minute),
	}
	records := []job.Record{recordOf(job.Decided, job.DecideHold, r)}
	records[0].Detail = "run 7 had been running for 5s"
	step := func(kind job.RecordKind, change func(*job.Run)) {
		change(&r)
		records = append(records, recordOf(kind, "", r))
	}
	step(job.Ready, func(r *job.Run) {
		r.State, r.Reason = job.RunDecided, job.RanAfterQueue
		r.Parents = []job.Parent{{Job: "dump", Run: 5, Verdict: job.VerdictOK}, {Job: "load"}}
	})
	step(job.Started, func(r *job.Run) { r.State, r.Started, r.PID = job.RunRunning, due.Add(2*time.Second), 4711 })
	step(job.Stopping, func(r *job.Run) {
		r.Stop = &job.Stop{By: "ann", At: due.Add(3 * time.Second), Signal: "HUP", Grace: 5 * time.Second}
	})
	step(job.Ended, func(r *job.Run) {
		r.State, r.Ended, r.Outcome = job.RunEnded, due.Add(3*time.Second), outcome
		r.Verdict, r.Usage = job.VerdictRetry, job.Usage{CPU: time.Second, Memory: 1 << 40, Read: 3, Write: 4}
	})
	return records
}

func TestCommitRunComesBackAfterEachRecord(t *testing.T) {
	for n, outcome := range []job.Outcome{
		{Kind: job.Exited}, {Kind: job.Exited, Code: 3}, {Kind: job.Signalled, Signal: 9},
		{Kind: job.TimedOut, Signal: 15}, {Kind: job.NotStarted, Error: "no such user"}, {Kind: job.Lost, Error: "died"},
	} {
		t.Run(outcome.String(), func(t *testing.T) {
			s := open(t, t.TempDir())
			records := life(job.RunID(n+1), outcome)
			for _, rec := range records {
				commit(t, s, Batch{Records: []job.Record{rec}})
				got, ok, err := s.Run(t.Context(), rec.Run.ID)
				if err != nil || !ok {
					t.Fatalf("after %s: no run %d: %v", rec.Kind, rec.Run.ID, err)
				}
				same(t, "run after "+string(rec.Kind), got, *rec.Run)
			}
			want := records[0]
			want.Run = records[len(records)-1].Run
			got, ok, err := s.DecisionAt(t.Context(), "backup", want.Due)
			if err != nil || !ok {
				t.Fatalf("no decision: %v", err)
			}
			same(t, "decision", got, want)
		})
	}
}

func TestCommitRetryAndManualRunsAreNotInSummary(t *testing.T) {
	s := open(t, t.TempDir())
	first := ended(1, "a", noon, 1)
	retry := *first.Run
	retry.ID, retry.Attempt, retry.Trigger, retry.State = 2, 2, job.TriggerRetry, job.RunWaiting
	retry.Reason, retry.NotBefore, retry.First, retry.Outcome = job.WaitsForRetry, noon.Add(time.Minute), noon, job.Outcome{}
	queued := recordOf(job.Queued, job.DecideHold, retry)
	dropped := retry
	dropped.State, dropped.Reason = job.RunDropped, job.JobRemoved
	manual := retry
	manual.ID, manual.Trigger, manual.By, manual.NotBefore, manual.First = 3, job.TriggerManual, "ann", time.Time{}, time.Time{}
	again := manual
	again.ID = 4
	commit(t, s, Batch{Records: []job.Record{
		first, queued, recordOf(job.Dropped, "", dropped),
		recordOf(job.Decided, job.DecideRun, manual), recordOf(job.Decided, job.DecideRun, again),
	}})
	runs, err := s.Runs(t.Context(), Filter{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "runs", runs, []job.Run{again, manual, dropped, *first.Run})
	decisions, err := s.Decisions(t.Context(), "a", time.Time{}, noon.Add(time.Hour), 10)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "decisions", decisions, []job.Record{first})
}

func TestCommitDecidedBeforeWritesNothing(t *testing.T) {
	s := open(t, t.TempDir())
	commit(t, s, Batch{Records: []job.Record{decided(1, "a", noon), skipped("b", noon, job.IsPaused)}})
	before := restore(t, s)

	next := noon.Add(time.Minute)
	batch := Batch{At: next, Era: 0, Records: []job.Record{
		decided(2, "c", noon),               // new
		decided(3, "a", noon),               // run before
		decided(4, "b", noon),               // skipped before
		skipped("a", next, job.Overlapping), // new
		skipped("a", noon, job.Overlapping), // run before
		skipped("c", noon, job.Overlapping), // run in this very batch
		{At: next, Kind: job.Loaded},        // no decision
		recordOf(job.Started, "", job.Run{ID: 1, Job: "a", Due: noon, Attempt: 1, State: job.RunRunning, Decided: noon}),
	}, Outputs: []Output{{Run: 1, Chunks: []job.Chunk{{Stream: job.Stdout, Data: []byte("x")}}}}}
	err := s.Commit(t.Context(), batch)
	var decidedErr *DecidedError
	if !errors.As(err, &decidedErr) || !slices.Equal(decidedErr.Records, []int{1, 2, 4, 5}) {
		t.Fatalf("Commit: %v (%+v), want a DecidedError of 1, 2, 4, 5", err, decidedErr)
	}
	if want := "a at 2026-03-14T12:00:00Z, era 0"; decidedErr.First != want {
		t.Errorf("First = %q, want %q", decidedErr.First, want)
	}
	same(t, "restored after a refusal", restore(t, s), before)
	if chunks, _ := s.Output(t.Context(), 1); len(chunks) != 0 {
		t.Errorf("output of a refused batch: %v", chunks)
	}

	batch.Records = []job.Record{batch.Records[0], batch.Records[3], batch.Records[6], batch.Records[7]}
	commit(t, s, batch)
	if got := restore(t, s).NextRun; got != 3 {
		t.Errorf("next run = %d, want 3", got)
	}
}

func TestCommitSameTimeInAnotherEraIsAnotherOccurrence(t *testing.T) {
	s := open(t, t.TempDir())
	commit(t, s, Batch{Records: []job.Record{decided(1, "a", noon)}})
	again := decided(2, "a", noon)
	again.Era, again.Run.Era = 1, 1
	commit(t, s, Batch{Era: 1, Records: []job.Record{again}})

	got, ok, err := s.DecisionAt(t.Context(), "a", noon)
	if err != nil || !ok {
		t.Fatalf("no decision: %v", err)
	}
	same(t, "decision", got, again)
	all, err := s.Decisions(t.Context(), "a", noon, noon.Add(1), 10)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "decisions", all, []job.Record{decided(1, "a", noon), again})
}

func TestCommitRecordsComeBack(t *testing.T) {
	s := open(t, t.TempDir())
	hold := &job.Hold{Since: noon, Until: noon.Add(time.Hour), By: "ann", Reason: "maintenance"}
	records := []job.Record{
		{At: noon, Kind: job.Up, Detail: "version 1"},
		{At: noon, Kind: job.Loaded, Detail: "2 jobs from 1 crontabs"},
		{At: noon.Add(1), Kind: job.Paused, Job: "a", Detail: "maintenance", Hold: hold},
		{At: noon.Add(2), Kind: job.Resumed, Job: "a", Reason: job.AskedFor, Detail: "by ann"},
		{At: noon.Add(3), Kind: job.Stepped, Era: 1, Detail: "the clock was set back by 1h0m0s"},
		{At: noon.Add(4), Kind: job.Doubled, Job: "a", Due: noon, Detail: "ran on elm too, as run 7"},
		{At: noon.Add(5), Kind: job.Down},
	}
	commit(t, s, Batch{Records: append(slices.Clone(records), decided(1, "a", noon))})
	for _, c := range []struct {
		from, to time.Time
		limit    int
		want     []job.Record
	}{
		{time.Time{}, noon.Add(time.Hour), 100, records},
		{noon.Add(1), noon.Add(4), 100, records[2:5]},
		{noon, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), 3, records[:3]},
		{noon.Add(time.Hour), noon.Add(2 * time.Hour), 100, nil},
	} {
		got, err := s.Records(t.Context(), c.from, c.to, c.limit)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "records", got, c.want)
	}
}

func TestDoublesAreListed(t *testing.T) {
	s := open(t, t.TempDir())
	doubled := func(at time.Time, id job.ID) job.Record {
		return job.Record{At: at, Kind: job.Doubled, Job: id, Due: at.Add(-time.Hour), Detail: "ran on elm too, as run 7"}
	}
	commit(t, s, Batch{Records: []job.Record{doubled(noon, "a"), doubled(noon.Add(1), "b"), {At: noon.Add(2), Kind: job.Up}, doubled(noon.Add(3), "a")}})
	var got []string
	err := s.Doubles(t.Context(), noon.Add(1), func(id job.ID, due time.Time, where job.Detail) {
		got = append(got, fmt.Sprint(id, " ", due, " ", where))
	})
	want := []string{
		fmt.Sprint("b ", noon.Add(1-time.Hour), " ran on elm too, as run 7"),
		fmt.Sprint("a ", noon.Add(3-time.Hour), " ran on elm too, as run 7"),
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestCommitOutputComesBackInOrder(t *testing.T) {
	s := open(t, t.TempDir())
	chunks := []job.Chunk{
		{Run: 1, Job: "a", Stream: job.Stdout, At: noon, Data: []byte("one\n\x00\xff")},
		{Run: 1, Job: "a", Stream: job.Stderr, At: noon.Add(1), Data: []byte("two")},
		{Run: 1, Job: "a", Stream: job.Stdout, At: noon.Add(2), Cut: 1 << 40},
		{Run: 1, Job: "a", Stream: job.System, Data: []byte("ended")},
	}
	commit(t, s, Batch{Records: []job.Record{decided(1, "a", noon)}, Outputs: []Output{{1, chunks[:2]}}})
	commit(t, s, Batch{Outputs: []Output{{2, chunks}, {1, chunks[2:]}}})
	got, err := s.Output(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "output", got, chunks)
	if got, err := s.Output(t.Context(), 2); err != nil || len(got) != 0 {
		t.Errorf("output of a run without a row: %v, %v", got, err)
	}
	if _, ok, err := s.Run(t.Context(), 2); ok || err != nil {
		t.Errorf("run 2 exists: %t, %v", ok, err)
	}
}

// Another program that holds the database's lock, such as sqlite3 of an
// administrator, delays a commit by 0.1 s at most.
func TestCommitWaitsLittleForALock(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	wait, err := s.write.Value(t.Context(), "PRAGMA busy_timeout")
	if err != nil || wait != int64(100) {
		t.Errorf("it waits for %v ms, error %v; want 100", wait, err)
	}
	other, err := sql.Open("sqlite", filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	if _, err := other.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	b := Batch{At: noon, Records: []job.Record{decided(1, "a", noon)}}
	if err := s.Commit(t.Context(), b); err == nil {
		t.Error("a commit succeeded beside a lock")
	}
	if _, err := other.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(t.Context(), b); err != nil {
		t.Errorf("after the lock was given up: %v", err)
	}
}

// Each run of an entry can have a detail and an error with a text of the crontab, such as the path of its
// SHELL.
func TestCommitCutsTextsOfCrontabs(t *testing.T) {
	s := open(t, t.TempDir())
	long := job.Text(strings.Repeat("x", 100<<10))
	skip := skipped("a", noon, job.OtherLabels)
	skip.Detail = long
	letter := dies(1, "a", "ann")
	letter.Detail, letter.Run.Detail, letter.Run.Outcome = long, long, job.Outcome{Kind: job.NotStarted, Error: string(long)}
	queued := decided(2, "a", noon.Add(time.Minute))
	queued.Detail, queued.Run.Detail = long, long
	commit(t, s, Batch{Records: []job.Record{skip, letter, queued, {At: noon, Kind: job.Paused, Job: "a", Detail: long}}})
	var size int
	if err := s.Row(t.Context(), `SELECT (SELECT sum(length(detail)) FROM occurrence) + (SELECT sum(length(error) + coalesce(length(asked), 0)) FROM run)
		+ (SELECT sum(length(why)) FROM dead) + (SELECT sum(length(detail)) FROM record)`).Scan(&size); err != nil {
		t.Fatal(err)
	}
	if most := 8 * 2 * job.MaxText; size == 0 || size > most {
		t.Errorf("the texts have %d bytes, want at most %d", size, most)
	}
}

// TestOccurrenceCanComeBack: other members of a ring can hand an occurrence to this one that it had before,
// and it runs here if this member handed it over or dropped it then.
func TestOccurrenceCanComeBack(t *testing.T) {
	dropped := func(id job.RunID, due time.Time, reason job.Reason) job.Record {
		run := *decided(id, "a", due).Run
		run.Attempt, run.State, run.Reason = int(id), job.RunDropped, reason
		return recordOf(job.Dropped, "", run)
	}
	for name, c := range map[string]struct {
		before func(due time.Time) []job.Record
		again  bool
	}{
		"handed over before it began": {func(due time.Time) []job.Record {
			return []job.Record{decided(1, "a", due), dropped(1, due, job.HandedOver)}
		}, true},
		"another member had it": {func(due time.Time) []job.Record {
			return []job.Record{decided(1, "a", due), dropped(1, due, job.OtherMember)}
		}, true},
		"its second attempt was given": {func(due time.Time) []job.Record {
			return []job.Record{ended(1, "a", due, 1), dropped(2, due, job.OtherMember)}
		}, true},
		"it was handed over, and a user or a backfill ran its due time": {func(due time.Time) []job.Record {
			return append([]job.Record{decided(1, "a", due), dropped(1, due, job.HandedOver)}, requested(2, due)...)
		}, true},
		"it ran":               {func(due time.Time) []job.Record { return []job.Record{ended(1, "a", due, 0)} }, false},
		"it is about to start": {func(due time.Time) []job.Record { return []job.Record{decided(1, "a", due)} }, false},
		"it was dropped": {func(due time.Time) []job.Record {
			return []job.Record{decided(1, "a", due), dropped(1, due, job.PastDeadline)}
		}, false},
		"it was skipped": {func(due time.Time) []job.Record { return []job.Record{skipped("a", due, job.Late)} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir())
			commit(t, s, Batch{Era: 7, BootID: "boot", Records: c.before(noon)})
			again := Batch{At: noon, Era: 7, BootID: "boot", Records: []job.Record{decided(9, "a", noon)}}
			var refused *DecidedError
			if err := s.Commit(t.Context(), again); err != nil && !errors.As(err, &refused) {
				t.Fatal(err)
			}
			if got := refused == nil; got != c.again {
				t.Errorf("it can run again: %t, want %t", got, c.again)
			}
			if c.again {
				commit(t, s, Batch{Era: 7, BootID: "boot", Records: []job.Record{ended(10, "a", noon.Add(time.Minute), 0)}})
				again.Records[0] = decided(11, "a", noon)
				if err := s.Commit(t.Context(), again); !errors.As(err, &refused) {
					t.Errorf("a third time: got %v, want it refused", err)
				}
			}
		})
	}
}

package recorder

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store"
)

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
	u := Unwritten{Summaries: []job.Summary{{Job: "a", User: "ann", Bad: 3}}, Records: []job.Record{
		fill(1, job.BackfillDone), fill(2, job.BackfillGoing),
		ended(run(3, "ann", from.Add(time.Minute), job.VerdictOK)), ended(run(4, "bob", from, job.VerdictDead)),
		ended(run(5, "ann", from.Add(2*time.Hour), job.VerdictOK)),
	}}
	u.Replay(&m, "boot")
	if err := u.ReplayRan(t.Context(), history, &m); err != nil {
		t.Fatal(err)
	}
	want := map[int64]job.Verdict{from.UnixNano(): job.VerdictOK, from.Add(time.Minute).UnixNano(): job.VerdictOK}
	if len(m.Backfills) != 1 || m.Backfills[0].ID != 2 || m.NextBackfill != 3 || !maps.Equal(m.Ran[2], want) {
		t.Errorf("backfills %v, next %d, ran %v; want number 2 alone and %v", m.Backfills, m.NextBackfill, m.Ran, want)
	}
	if len(m.Summaries) != 1 || m.Summaries[0].Bad != 3 {
		t.Errorf("summaries: %v", m.Summaries)
	}
}

// takes is a store that takes everything.
type takes struct{ batches []store.Batch }

func (s *takes) Commit(_ context.Context, b store.Batch) error {
	s.batches = append(s.batches, b)
	return nil
}

// The previous daemon could not write its records. The store takes the first write of this one, and so
// must get those records with it.
func TestUnwrittenRecordsAreWrittenFirst(t *testing.T) {
	record := func(id job.RunID) job.Record { return job.Record{Kind: job.Ended, Run: &job.Run{ID: id, User: "ann"}} }
	history := &takes{}
	r := New(history, slog.New(slog.DiscardHandler), &atomic.Pointer[Problem]{})
	r.Restore(Unwritten{Records: []job.Record{record(1), record(2)}, Outputs: []store.Output{{Run: 1, Chunks: []job.Chunk{{Data: []byte("x")}}}}})
	r.RetryUnwritten()
	r.Commit(store.Batch{Records: []job.Record{record(3)}})
	r.Commit(store.Batch{Records: []job.Record{record(4)}})
	var runs []job.RunID
	outputs := 0
	for _, b := range history.batches {
		outputs += len(b.Outputs)
		for _, w := range b.Records {
			runs = append(runs, w.Run.ID)
		}
	}
	if want := []job.RunID{1, 2, 3, 4}; !slices.Equal(runs, want) || outputs != 1 {
		t.Errorf("written: the ends of runs %v and %d outputs, want %v and 1", runs, outputs, want)
	}
	if u := r.Unwritten(); len(u.Records) != 0 || len(u.Outputs) != 0 {
		t.Errorf("unwritten: %+v", u)
	}
}

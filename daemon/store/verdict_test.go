package store

import (
	"slices"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// concluded is a run that has ended with an exit status and a verdict.
func concluded(id job.RunID, name job.ID, due time.Time, code int, v job.Verdict) job.Record {
	rec := ended(id, name, due, code)
	rec.Kind, rec.Run.Verdict = job.Ended, v
	return rec
}

func TestVerdictsDecideWhatFailed(t *testing.T) {
	s := open(t, t.TempDir())
	upstream := concluded(9, "a", noon, 0, job.VerdictUpstream)
	upstream.Kind, upstream.Run.State, upstream.Run.Outcome = job.Dropped, job.RunDropped, job.Outcome{}
	records := []job.Record{
		concluded(1, "a", noon, 0, job.VerdictOK), concluded(2, "a", noon, 3, job.VerdictOK), // ok=3
		concluded(3, "a", noon, 75, job.VerdictSkip), concluded(4, "a", noon, 1, job.VerdictRetry),
		concluded(5, "a", noon, 1, job.VerdictFail), concluded(6, "a", noon, 1, job.VerdictDead),
		concluded(7, "a", noon, 0, job.VerdictLost), concluded(8, "a", noon, 0, job.VerdictLeft), upstream,
		concluded(10, "a", noon, 0, job.VerdictFail), // ok= without 0
		concluded(11, "a", noon, 0, ""), concluded(12, "a", noon, 1, ""),
	}
	commit(t, s, Batch{Records: records})
	failed, err := s.Runs(t.Context(), Filter{FailedOnly: true})
	var want []job.RunID
	for _, r := range slices.Backward(records) {
		if r.Run.Failed() {
			want = append(want, r.Run.ID)
		}
	}
	if got := ids(failed); err != nil || !slices.Equal(got, want) {
		t.Errorf("failed are %v, %v; want %v", got, err, want)
	}
	got, err := s.Totals(t.Context(), noon)
	if err != nil || got.Runs != 12 || got.OK != 3 || got.Failed != 5 {
		t.Errorf("totals %+v, %v; want 12 runs, 3 ok (1, 2, 11), 5 failed (5, 6, 7, 10, 12)", got, err)
	}
}

func TestRunsWithoutParentsHaveNone(t *testing.T) {
	s := open(t, t.TempDir())
	commit(t, s, Batch{Records: []job.Record{decided(1, "a", noon)}})
	if got := count(t, s, "run WHERE parents IS NULL"); got != 1 {
		t.Error("a run without parents does not have NULL for them")
	}
	if got := count(t, s, "run WHERE asked IS NULL"); got != 1 {
		t.Error("a run of which nobody wanted anything does not have NULL for that")
	}
}

func TestSummariesComeBack(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	full := job.Summary{
		Job: "a", User: "ann", Verdict: job.VerdictDead, Run: 7, Due: noon, Ended: noon.Add(1), Success: noon.Add(2),
		Bad: 3, Notified: job.NotifiedFailure | job.NotifiedLate, Open: noon.Add(3), Watched: noon.Add(4),
	}
	watched := job.Summary{Job: "b", User: "ann", Watched: noon}
	other := job.Summary{Job: "a", User: "bob", Verdict: job.VerdictOK, Run: 2, Due: noon, Ended: noon, Success: noon}
	commit(t, s, Batch{Summaries: []job.Summary{{Job: "a", User: "ann", Run: 5, Bad: 9, Open: noon}, other, watched}})
	commit(t, s, Batch{Summaries: []job.Summary{{Job: "a", User: "ann", Run: 6}, full}})
	s = reopen(t, s, dir)
	same(t, "summaries", restore(t, s).Summaries, []job.Summary{watched, other, full})
}

// A summary and the run that it speaks of are written together or not at all.
func TestSummaryIsWrittenWithItsRunOrNotAtAll(t *testing.T) {
	s := open(t, t.TempDir())
	commit(t, s, Batch{Records: []job.Record{decided(1, "a", noon)}})
	b := Batch{At: noon, Records: []job.Record{decided(2, "a", noon)}, Summaries: []job.Summary{{Job: "a", User: "root", Run: 2}}}
	if err := s.Commit(t.Context(), b); err == nil {
		t.Fatal("an occurrence was decided twice")
	}
	if got := restore(t, s).Summaries; len(got) != 0 {
		t.Errorf("summaries of a refused batch: %v", got)
	}
}

package store

import (
	"maps"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

func filled(b job.Backfill, detail string) job.Record {
	return job.Record{At: b.Asked, Kind: job.Filled, Job: b.Job, Reason: job.Backfilled, Detail: job.Text(detail), Backfill: &b}
}

func backfill(id int64, name job.ID, user string) job.Backfill {
	return job.Backfill{
		ID: id, Job: name, User: user, By: "root", Asked: noon, From: noon.Add(-time.Hour), To: noon,
		Overlap: "queue", Reprocess: job.ReprocessFailed, MaxActive: 2, State: job.BackfillGoing,
	}
}

func TestBackfillGoesOnAfterARestart(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	one, two := backfill(1, "a", "ann"), backfill(2, "b", "bob")
	commit(t, s, Batch{Records: []job.Record{filled(one, "begun"), filled(two, "begun")}})
	one.Cursor, one.Started, one.Skipped, one.Failed = noon.Add(-time.Minute), 5, 6, 7
	over := two
	over.State = job.BackfillDone
	commit(t, s, Batch{Records: []job.Record{
		filled(one, "goes on"), filled(over, "over"), concluded(1, "a", noon.Add(-time.Minute), 1, job.VerdictFail),
	}})
	commit(t, s, Batch{Records: []job.Record{func() job.Record { // the same, run again by the account of the backfill
		rec := concluded(2, "a", noon.Add(-time.Minute), 0, job.VerdictOK)
		rec.Run.Era, rec.Run.Trigger, rec.Run.User, rec.Run.Backfill = 0, job.TriggerBackfill, "ann", 1
		return rec
	}()}})
	s = reopen(t, s, dir)
	r := restore(t, s)
	same(t, "going", r.Backfills, []job.Backfill{one})
	same(t, "ran", r.Ran, map[int64]map[int64]job.Verdict{1: {noon.Add(-time.Minute).UnixNano(): job.VerdictOK}})
	if r.NextBackfill != 3 {
		t.Errorf("next backfill is %d, want 3", r.NextBackfill)
	}
	for name, c := range map[string]struct {
		of   Of
		want []job.Backfill
	}{
		"all": {Of{}, []job.Backfill{over, one}}, "newest": {Of{Limit: 1}, []job.Backfill{over}},
		"of ann": {Of{User: "ann"}, []job.Backfill{one}}, "of b": {Of{Jobs: []job.ID{"b"}}, []job.Backfill{over}},
		"of ann's b": {Of{Jobs: []job.ID{"b"}, User: "ann"}, nil}, "of no job": {Of{Jobs: []job.ID{}}, nil},
	} {
		got, err := s.Backfills(t.Context(), c.of)
		if err != nil {
			t.Fatal(err)
		}
		same(t, name, got, c.want)
	}
	facts, err := s.Records(t.Context(), time.Time{}, noon.Add(1), 10)
	if err != nil {
		t.Fatal(err)
	}
	first := backfill(1, "a", "ann")
	same(t, "facts", facts, []job.Record{filled(first, "begun"), filled(two, "begun"), filled(over, "over")})
}

// What a backfill leaves out was decided before, and its decision stays.
func TestBackfillSkipsDecideNothingAgain(t *testing.T) {
	s := open(t, t.TempDir())
	b := backfill(1, "a", "root")
	left, crowded := skipped("a", noon, job.AlreadyProcessed), skipped("a", noon.Add(-time.Minute), job.Overlapping)
	crowded.Backfill = &b
	commit(t, s, Batch{Records: []job.Record{concluded(1, "a", noon, 0, job.VerdictOK), decided(2, "a", noon)}})
	marks := restore(t, s).Marks
	commit(t, s, Batch{Records: []job.Record{filled(b, ""), left, crowded}})
	same(t, "marks", restore(t, s).Marks, marks)
	rec, ok, err := s.DecisionAt(t.Context(), "a", noon)
	if err != nil || !ok || rec.Decision != job.DecideRun {
		t.Errorf("decision: %+v, %t, %v", rec, ok, err)
	}
	if _, ok, err := s.DecisionAt(t.Context(), "a", crowded.Due); ok || err != nil {
		t.Errorf("a backfill decided for the clock: %t, %v", ok, err)
	}
}

func TestRanGivesTheNewestVerdictOfEachOccurrence(t *testing.T) {
	s := open(t, t.TempDir())
	minute := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
	as := func(rec job.Record, change func(*job.Run)) job.Record { change(rec.Run); return rec }
	waiting := func(r *job.Run) { r.State, r.Outcome = job.RunWaiting, job.Outcome{} }
	dropped := func(r *job.Run) { r.State, r.Outcome = job.RunDropped, job.Outcome{} }
	commit(t, s, Batch{Records: []job.Record{
		concluded(1, "a", minute(0), 1, job.VerdictRetry), concluded(2, "a", minute(0), 0, job.VerdictOK),
		concluded(3, "a", minute(1), 1, job.VerdictRetry), as(concluded(4, "a", minute(1), 0, ""), waiting),
		concluded(5, "a", minute(2), 1, job.VerdictRetry), as(concluded(6, "a", minute(2), 0, ""), dropped),
		as(concluded(7, "a", minute(3), 0, ""), dropped),
		as(concluded(8, "a", minute(4), 0, job.VerdictUpstream), dropped),
		concluded(9, "a", minute(5), 0, ""), concluded(10, "a", minute(6), 1, ""), // from before there were verdicts
		as(concluded(11, "a", minute(7), 0, ""), func(r *job.Run) { r.Outcome.Kind = job.Lost }),
		concluded(12, "a", minute(8), 0, job.VerdictOK), // later
		concluded(13, "b", minute(3), 0, job.VerdictOK), // of another job
		as(concluded(14, "a", minute(3), 0, job.VerdictOK), func(r *job.Run) { r.User = "ann" }),
	}})
	got, err := s.Ran(t.Context(), "a", "root", minute(0), minute(7))
	want := map[int64]job.Verdict{
		minute(0).UnixNano(): job.VerdictOK, minute(1).UnixNano(): "", minute(2).UnixNano(): job.VerdictFail,
		minute(4).UnixNano(): job.VerdictUpstream, minute(5).UnixNano(): job.VerdictOK,
		minute(6).UnixNano(): job.VerdictFail, minute(7).UnixNano(): job.VerdictLost,
	}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("ran %v, %v; want %v", got, err, want)
	}
	holdPlan(t, s, ranQuery, "a", "root", 1, 2)
}

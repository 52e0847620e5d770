package store

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

func TestDecisionsInsideARangeOfSkips(t *testing.T) {
	s := open(t, t.TempDir())
	minute := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
	ranges := skipped("a", minute(20), job.Late)
	ranges.First, ranges.Count, ranges.Detail = minute(11), 10, "2h0m0s late"
	again := skipped("a", minute(15), job.IsPaused) // the clock was set back into the range
	again.Era = 1
	records := []job.Record{
		decided(1, "a", minute(10)), ranges, ended(2, "a", minute(21), 0), skipped("a", minute(22), job.Overlapping),
	}
	commit(t, s, Batch{Records: append(records, decided(3, "b", minute(15)))})

	for n, want := range map[int]*job.Record{
		9: nil, 10: &records[0], 11: &ranges, 15: &ranges, 20: &ranges, 21: &records[2], 22: &records[3], 23: nil,
	} {
		got, ok, err := s.DecisionAt(t.Context(), "a", minute(n))
		if err != nil || ok != (want != nil) {
			t.Errorf("minute %d: decided %t, %v", n, ok, err)
		} else if ok {
			same(t, "decision", got, *want)
		}
	}
	for _, c := range []struct {
		from, to time.Time
		limit    int
		want     []job.Record
	}{
		{time.Time{}, minute(60), 10, records},
		{minute(10), minute(11), 10, records[:1]},
		{minute(11), minute(12), 10, records[1:2]},
		{minute(15), minute(16), 10, records[1:2]},
		{minute(20), minute(21), 10, records[1:2]},
		{minute(21), minute(22), 10, records[2:3]},
		{minute(0), minute(60), 2, records[2:]},
		{minute(23), minute(60), 10, nil},
	} {
		got, err := s.Decisions(t.Context(), "a", c.from, c.to, c.limit)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "decisions", got, c.want)
	}

	commit(t, s, Batch{Era: 1, Records: []job.Record{again}})
	got, _, err := s.DecisionAt(t.Context(), "a", minute(15))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "decision in the newest era", got, again)
}

func TestRunsFilter(t *testing.T) {
	s := open(t, t.TempDir())
	commit(t, s, Batch{Records: []job.Record{
		ended(1, "a", noon.Add(1*time.Hour), 0),
		ended(2, "b", noon.Add(2*time.Hour), 1),
		decided(3, "c", noon.Add(3*time.Hour)),
		recordOf(job.Decided, job.DecideRun, job.Run{
			ID: 4, Job: "a", Due: noon, Decided: noon.Add(4 * time.Hour), Attempt: 1, Trigger: job.TriggerManual,
			State: job.RunEnded, Outcome: job.Outcome{Kind: job.Signalled, Signal: 9},
		}),
		recordOf(job.Queued, job.DecideHold, job.Run{
			ID: 5, Job: "a", Due: noon, Decided: noon.Add(5 * time.Hour), Attempt: 2, Trigger: job.TriggerRetry,
			State: job.RunDropped, Reason: job.JobRemoved,
		}),
	}})
	for name, c := range map[string]struct {
		filter Filter
		want   []job.RunID
	}{
		"all":            {Filter{}, []job.RunID{5, 4, 3, 2, 1}},
		"job":            {Filter{Jobs: []job.ID{"a"}}, []job.RunID{5, 4, 1}},
		"unknown job":    {Filter{Jobs: []job.ID{"x"}}, nil},
		"jobs":           {Filter{Jobs: []job.ID{"b", "c", "x"}}, []job.RunID{3, 2}},
		"no jobs":        {Filter{Jobs: []job.ID{}}, nil},
		"failed":         {Filter{FailedOnly: true}, []job.RunID{4, 2}},
		"failed of job":  {Filter{FailedOnly: true, Jobs: []job.ID{"a"}}, []job.RunID{4}},
		"manual":         {Filter{Trigger: job.TriggerManual}, []job.RunID{4}},
		"since":          {Filter{Since: noon.Add(3 * time.Hour)}, []job.RunID{5, 4, 3}},
		"until":          {Filter{Until: noon.Add(3 * time.Hour)}, []job.RunID{2, 1}},
		"since until":    {Filter{Since: noon.Add(2 * time.Hour), Until: noon.Add(4 * time.Hour)}, []job.RunID{3, 2}},
		"before":         {Filter{Before: 4}, []job.RunID{3, 2, 1}},
		"limit":          {Filter{Limit: 2}, []job.RunID{5, 4}},
		"before, limit":  {Filter{Before: 4, Limit: 1}, []job.RunID{3}},
		"year 1500":      {Filter{Since: time.Date(1500, 1, 1, 0, 0, 0, 0, time.UTC)}, []job.RunID{5, 4, 3, 2, 1}},
		"until year 1":   {Filter{Until: time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)}, nil},
		"year 9999":      {Filter{Until: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}, []job.RunID{5, 4, 3, 2, 1}},
		"since y. 9999":  {Filter{Since: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}, nil},
		"quote in a job": {Filter{Jobs: []job.ID{`a"b\`}}, nil},
	} {
		runs, err := s.Runs(t.Context(), c.filter)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := ids(runs); !slices.Equal(got, c.want) {
			t.Errorf("%s: runs %v, want %v", name, got, c.want)
		}
	}
}

func TestRunsWithoutLimitGivesAHundred(t *testing.T) {
	s := open(t, t.TempDir())
	fill(t, s, 1, 150)
	runs, err := s.Runs(t.Context(), Filter{})
	if err != nil || len(runs) != 100 || runs[0].ID != 150 {
		t.Errorf("%d runs, %v; want 100 from run 150 on", len(runs), err)
	}
}

func ids(runs []job.Run) []job.RunID {
	var list []job.RunID
	for _, r := range runs {
		list = append(list, r.ID)
	}
	return list
}

func TestRecentGivesTheNewestOfEachJob(t *testing.T) {
	s := open(t, t.TempDir())
	fill(t, s, 3, 15)
	commit(t, s, Batch{Records: []job.Record{decided(16, "only one", noon)}})
	recent, err := s.Recent(t.Context(), []job.ID{jobName(0), jobName(2), "only one", "never ran"}, 2)
	if err != nil {
		t.Fatal(err)
	}
	got := map[job.ID][]job.RunID{}
	for id, runs := range recent {
		got[id] = ids(runs)
	}
	same(t, "recent", got, map[job.ID][]job.RunID{jobName(0): {13, 10}, jobName(2): {15, 12}, "only one": {16}})
	if none, err := s.Recent(t.Context(), nil, 2); err != nil || len(none) != 0 {
		t.Errorf("recent of no job: %v, %v", none, err)
	}
}

func TestSkippedRuns(t *testing.T) {
	s := open(t, t.TempDir())
	ran, late, itself, retry := ended(1, "a", noon, 0), ended(2, "a", noon.Add(time.Minute), 0), ended(3, "a", noon.Add(2*time.Minute), 75), ended(4, "a", noon.Add(3*time.Minute), 0)
	late.Run.State, late.Run.Outcome, late.Run.Reason = job.RunDropped, job.Outcome{}, job.PastDeadline
	itself.Run.Verdict = job.VerdictSkip
	retry.Run.State, retry.Run.Outcome, retry.Run.Attempt, retry.Run.Trigger = job.RunDropped, job.Outcome{}, 2, job.TriggerRetry
	commit(t, s, Batch{Records: []job.Record{ran, late, itself, retry}})
	runs, err := s.Runs(t.Context(), Filter{Skipped: true})
	if err != nil || len(runs) != 2 || runs[0].ID != 3 || runs[1].ID != 2 {
		t.Errorf("%+v, %v, want runs 3 and 2", runs, err)
	}
}

func TestRunsEndWhenTheirVariablesAreMany(t *testing.T) {
	s := open(t, t.TempDir())
	var b Batch
	for id := range job.RunID(9) {
		r := ended(id+1, "a", noon.Add(time.Duration(id)*time.Minute), 0)
		r.Run.Env = []string{"X=" + strings.Repeat("x", 98)}
		b.Records = append(b.Records, r)
	}
	commit(t, s, b)
	for bulk, want := range map[int]int{0: 9, 1: 1, 300: 3, 301: 4, 2000: 9} {
		if runs, err := s.Runs(t.Context(), Filter{Bulk: bulk}); err != nil || len(runs) != want {
			t.Errorf("up to %d bytes: %d runs, %v; want %d", bulk, len(runs), err, want)
		}
	}
	recent, err := s.Recent(t.Context(), []job.ID{"a"}, 9)
	if err != nil || len(recent["a"]) != 9 || recent["a"][0].Env != nil {
		t.Errorf("recent runs: %v, %v; want 9 without variables", recent, err)
	}
}

package store

import (
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// The history has the facts of details, also inside of what is stored as JSON, and the texts of earlier versions.
func TestDetailsAreStoredAsFacts(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	fact, by := job.DetailAfterResult(&job.Run{Outcome: job.Outcome{Kind: job.NotStarted, Error: "\"\x1e[no]\" such user"}}), job.DetailRun(7, "b")
	skip := skipped("a", noon, job.Late)
	skip.Detail = fact
	letter := dies(1, "a", "ann")
	letter.Detail, letter.Run.Detail, letter.Run.Stop = fact, fact, &job.Stop{By: by, For: 7, At: noon}
	hold := &job.Hold{Since: noon, By: "cronring", Reason: fact}
	commit(t, s, Batch{Records: []job.Record{skip, letter,
		{At: noon, Kind: job.Paused, Job: "a", Detail: fact, Hold: hold}, {At: noon.Add(1), Kind: job.Loaded, Detail: "7 jobs from 3 crontabs"}}})
	s = reopen(t, s, dir)
	decisions, err := s.Decisions(t.Context(), "a", noon, noon.Add(1), 10)
	if err != nil || len(decisions) != 1 || decisions[0].Detail != fact {
		t.Errorf("decisions %+v, %v", decisions, err)
	}
	dead, ok, err := s.DeadLetter(t.Context(), 1)
	if err != nil || !ok || dead.Why != fact || dead.Run.Detail != fact || dead.Run.Stop.By != by || dead.Run.Stop.For != 7 {
		t.Errorf("dead letter %+v, %v", dead, err)
	}
	records, err := s.Records(t.Context(), noon, noon.Add(time.Hour), 10)
	if err != nil || len(records) != 2 || records[0].Detail != fact || records[0].Hold.Reason != fact || records[1].Detail.Words() != "7 jobs from 3 crontabs" {
		t.Errorf("records %+v, %v", records, err)
	}
	if h, ok := restore(t, s).Holds.Of("a", ""); !ok || h.Reason != fact {
		t.Errorf("pause %+v", h)
	}
}

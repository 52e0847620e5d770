package store

import (
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/statistics"
)

func TestFailuresAreCounted(t *testing.T) {
	s := open(t, t.TempDir())
	preempted := ended(106, "a", noon.Add(51*time.Minute), 1) // no failure: the attempt after it counts
	preempted.Run.Verdict, preempted.Run.Reason = job.VerdictRetry, job.Preempted
	other := ended(104, "b", noon.Add(30*time.Minute), 1)
	other.Run.User = "bob"
	commit(t, s, Batch{Records: []job.Record{
		ended(100, "a", noon.Add(-time.Second), 1), ended(101, "a", noon, 1), ended(102, "a", noon.Add(time.Minute), 1),
		ended(103, "a", noon.Add(2*time.Minute), 0), other, ended(105, "a", noon.Add(50*time.Minute), 2), preempted, ended(107, "a", noon.Add(time.Hour), 1),
	}})
	type group struct {
		run         job.RunID
		ending      string
		part, count int
	}
	read := func(runs int, of statistics.FailuresOf) map[group]time.Duration {
		t.Helper()
		of.To, of.Parts = noon.Add(time.Hour), 6
		got := map[group]time.Duration{}
		n, older, err := s.Failures(t.Context(), of, func(f *statistics.Failures) {
			got[group{f.Newest.ID, string(f.Newest.Job) + " " + f.Newest.Result(), f.Part, f.Count}] = f.Last.Sub(f.First)
		})
		if err != nil || n != runs || older != (of.Runs < 9) {
			t.Errorf("%+v: counted %d runs, older %t, %v, want %d", of, n, older, err, runs)
		}
		return got
	}
	same(t, "failures", read(4, statistics.FailuresOf{From: noon, Runs: 9, Groups: 9}), map[group]time.Duration{
		{102, "a exit 1", 0, 2}: time.Minute + time.Millisecond, {104, "b exit 1", 3, 1}: 0, {105, "a exit 2", 5, 1}: 0,
	})
	same(t, "failures of bob", read(1, statistics.FailuresOf{User: "bob", From: noon, Runs: 9, Groups: 9}), map[group]time.Duration{{104, "b exit 1", 3, 1}: 0})
	same(t, "the newest three", read(3, statistics.FailuresOf{From: noon, Runs: 3, Groups: 9}), map[group]time.Duration{
		{102, "a exit 1", 0, 1}: 0, {104, "b exit 1", 3, 1}: 0, {105, "a exit 2", 5, 1}: 0,
	})
	same(t, "the newest group", read(4, statistics.FailuresOf{From: noon, Runs: 9, Groups: 1}), map[group]time.Duration{{105, "a exit 2", 5, 1}: 0})
	ofA := func(id job.ID, _ string) bool { return id == "a" }
	same(t, "failures of a", read(3, statistics.FailuresOf{Sees: ofA, From: noon, Runs: 9, Groups: 9}), map[group]time.Duration{
		{102, "a exit 1", 0, 2}: time.Minute + time.Millisecond, {105, "a exit 2", 5, 1}: 0,
	})
	notA := func(id job.ID, _ string) bool { return id != "a" }
	same(t, "the number of those in a group that is left out", read(1, statistics.FailuresOf{Sees: notA, From: noon, Runs: 9, Groups: 1}), map[group]time.Duration{})
	same(t, "failures of 50 years", read(5, statistics.FailuresOf{From: noon.AddDate(-50, 0, 0), Runs: 9, Groups: 9}), map[group]time.Duration{
		{102, "a exit 1", 5, 3}: time.Minute + time.Second + 2*time.Millisecond, {104, "b exit 1", 5, 1}: 0, {105, "a exit 2", 5, 1}: 0,
	})
}

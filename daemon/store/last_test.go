package store

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

func TestLastIsTheNewestEndedRunOfEachJob(t *testing.T) {
	s := open(t, t.TempDir())
	var facts []job.Record
	id := job.RunID(0)
	run := func(name job.ID, kind job.RecordKind, state job.RunState, code int) {
		id++
		r := job.Run{
			ID: id, Job: name, User: "ann", Due: noon.Add(time.Duration(id) * time.Minute), State: state, Trigger: job.TriggerManual,
			Decided: noon, Started: noon, Attempt: 1,
		}
		if state == job.RunEnded {
			r.Ended, r.Outcome = noon.Add(time.Second), job.Outcome{Kind: job.Exited, Code: code}
		}
		facts = append(facts, job.Record{At: noon, Kind: kind, Job: name, Run: &r})
	}
	run("a", job.Ended, job.RunEnded, 3)
	run("a", job.Ended, job.RunEnded, 4)
	run("a", job.Started, job.RunRunning, 0)
	run("b", job.Started, job.RunRunning, 0)
	run("c", job.Ended, job.RunEnded, 0)
	run("c", job.Dropped, job.RunDropped, 0)
	commit(t, s, Batch{Records: facts, Summaries: []job.Summary{
		{Job: "a", User: "ann", Bad: 2, Verdict: job.VerdictFail, Success: noon}, {Job: "c", User: "ann", Verdict: job.VerdictOK, Success: noon},
	}})
	var got []string
	note := func(r job.Run) {
		got = append(got, fmt.Sprintf("%s %d %s %s %s", r.Job, r.ID, r.User, r.Outcome, r.Ended.Sub(r.Started)))
	}
	all, some := []string{"a 2 ann exit 4 1s", "c 5 ann ok 1s"}, []string{"c 5 ann ok 1s"}
	if err := s.Last(t.Context(), note); err != nil {
		t.Fatal(err)
	}
	if slices.Sort(got); !slices.Equal(got, all) {
		t.Errorf("Last: %q, want %q", got, all)
	}
	got = nil
	if err := s.LastOf(t.Context(), []job.ID{"b", "c", "never"}, note); err != nil || !slices.Equal(got, some) {
		t.Errorf("LastOf: %q, %v, want %q", got, err, some)
	}
	got = nil
	for _, user := range []string{"ann", "bob"} {
		if err := s.LastBy(t.Context(), "a", user, note); err != nil {
			t.Fatal(err)
		}
	}
	if own := []string{"a 2 ann exit 4 1s"}; !slices.Equal(got, own) {
		t.Errorf("LastBy: %q, want %q", got, own)
	}
	ended, err := s.Ended(t.Context(), []job.ID{"a", "b", "c"}, 1)
	if err != nil || len(ended) != 2 || ended["a"][0].ID != 2 || ended["c"][0].ID != 5 {
		t.Errorf("Ended: %+v, %v, want runs 2 and 5", ended, err)
	}
	var streaks []string
	err = s.Streaks(t.Context(), func(l job.Summary) {
		streaks = append(streaks, fmt.Sprint(l.Job, " ", l.User, " ", l.Bad, " ", l.Success.Equal(noon)))
	})
	if err != nil || !slices.Equal(streaks, []string{"a ann 2 true"}) {
		t.Errorf("Streaks: %q, %v, want those of a", streaks, err)
	}
}

func TestSummaryKeepsWhatWasAcknowledged(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	l := job.Summary{Job: "a", User: "ann", Bad: 1, Ack: &job.Ack{Run: 7, At: noon, By: "bob", Reason: "known"}, Since: noon}
	commit(t, s, Batch{Summaries: []job.Summary{l}})
	s = reopen(t, s, dir)
	if got := restore(t, s).Summaries; len(got) != 1 || got[0].Ack == nil || *got[0].Ack != *l.Ack || !got[0].Since.Equal(noon) {
		t.Fatalf("summaries %+v, want one with %+v", got, *l.Ack)
	}
	l.Ack = nil
	commit(t, s, Batch{Summaries: []job.Summary{l}})
	if got := restore(t, s).Summaries; got[0].Ack != nil {
		t.Errorf("acknowledged still: %+v", *got[0].Ack)
	}
}

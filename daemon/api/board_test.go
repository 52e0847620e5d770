package api

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cronring/cronring/daemon/job"
)

func TestRowOfAStatus(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	at := time.Date(2026, 11, 20, 2, 30, 0, 0, time.UTC)
	got := NewRow(&job.Status{
		Job: job.Job{
			ID: "etl", Crontab: "/etc/cron.d/etl", Line: 3, User: "ann", Schedule: "*/5 * * * *", Zone: "Europe/Berlin", Command: "load\nall",
			Options: map[string]string{"labels": "team:etl", "owner": "Ops", "protect": "yes", "sec": "30"},
		},
		State: job.StateFailing, Next: at.In(berlin), Node: "db-01", Hold: &job.Hold{Until: at.Add(time.Hour)}, Ack: &job.Ack{Run: 4},
		Running: []job.Run{{ID: 5, Started: at.Add(time.Second)}, {ID: 6, Started: at}, {ID: 7}},
		Last: &job.Run{
			ID: 4, Started: at.Add(-time.Hour), Ended: at.Add(-time.Minute), Outcome: job.Outcome{Kind: job.NotStarted, Error: "no\nshell"}, Verdict: job.VerdictFail,
		},
		Streak: 2, Why: "paused\nby ann", Elsewhere: &job.Elsewhere{Node: "db-02"},
	})
	want := Row{
		Job: "etl", User: "ann", Crontab: "/etc/cron.d/etl", Line: 3, Schedule: "*/5 * * * * sec=30", Zone: "Europe/Berlin", Command: "load all",
		Labels: "team:etl", Contact: "Ops", State: job.StateFailing, Protected: true, Paused: true, Acked: true, Next: at, Node: "db-01",
		Elsewhere: "db-02", Began: at, Live: 3, LastRun: 4, Last: at.Add(-time.Hour), Took: 59 * time.Minute, Ending: "not started: no shell",
		Streak: 2, HeldUntil: at.Add(time.Hour), Why: "paused by ann",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	ended := job.Run{ID: 1, Started: at, Ended: at, State: job.RunEnded}
	if onlyStarted := NewRow(&job.Status{Last: &ended}); onlyStarted.Took != 0 {
		t.Errorf("a run with an unknown end: got %+v, want no length", onlyStarted)
	}
	ended.Outcome = job.Outcome{Kind: job.Exited}
	if short := NewRow(&job.Status{Last: &ended}); short.Took <= 0 {
		t.Errorf("a run that ended at once: got %+v, want a length", short)
	}
	notStarted := NewRow(&job.Status{Last: &job.Run{ID: 1, Ended: at}})
	if want := (Row{LastRun: 1, Last: at}); notStarted != want {
		t.Errorf("a run that could not start: got %+v, want %+v", notStarted, want)
	}
}

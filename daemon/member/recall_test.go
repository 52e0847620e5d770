package member

import (
	"maps"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store"
)

func TestProgressOfRuns(t *testing.T) {
	due := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	run := func(change func(*job.Run)) *job.Run {
		r := &job.Run{ID: 7, Due: due, Trigger: job.TriggerClock, State: job.RunEnded, Attempt: 2, Lost: 1, Verdict: job.VerdictOK}
		change(r)
		return r
	}
	word := func(p exchange.Phase, attempt uint16, id int64) *exchange.Progress {
		return &exchange.Progress{Occurrence: exchange.OccurrenceOf(job.KeyOf("", ""), due), Phase: p, Run: id, Attempt: attempt, Lost: 1}
	}
	lost := func(p *exchange.Progress) *exchange.Progress { p.Vanished = true; return p }
	for name, c := range map[string]struct {
		run  *job.Run
		want *exchange.Progress
	}{
		"that ended":             {run(func(*job.Run) {}), word(exchange.Over, 2, 7)},
		"that runs":              {run(func(r *job.Run) { r.State, r.Verdict = job.RunRunning, "" }), word(exchange.Begun, 2, 7)},
		"that is about to start": {run(func(r *job.Run) { r.State, r.Verdict = job.RunDecided, "" }), word(exchange.Begun, 2, 7)},
		"that is queued":         {run(func(r *job.Run) { r.State, r.Verdict = job.RunQueued, "" }), word(exchange.Taken, 1, 0)},
		"that waits to be retried": {run(func(r *job.Run) {
			r.State, r.Verdict, r.Trigger = job.RunWaiting, "", job.TriggerRetry
		}), word(exchange.Taken, 1, 0)},
		"that another attempt follows": {run(func(r *job.Run) { r.Verdict = job.VerdictRetry }), word(exchange.Begun, 2, 7)},
		"that was lost and is tried again": {run(func(r *job.Run) {
			r.Verdict, r.Outcome.Kind = job.VerdictRetry, job.Lost
		}), lost(word(exchange.Begun, 2, 7))},
		"that was lost": {run(func(r *job.Run) { r.Verdict, r.Outcome.Kind = job.VerdictLeft, job.Lost }), lost(word(exchange.Over, 2, 7))},
		"that was dropped": {run(func(r *job.Run) {
			r.State, r.Reason, r.Verdict = job.RunDropped, job.PastDeadline, ""
		}), word(exchange.Over, 2, 0)},
		"that another member has": {run(func(r *job.Run) { r.State, r.Reason = job.RunDropped, job.OtherMember }), nil},
		"that was handed on":      {run(func(r *job.Run) { r.State, r.Reason = job.RunDropped, job.HandedOver }), nil},
		"that a person asked for": {run(func(r *job.Run) { r.Trigger, r.By = job.TriggerRetry, "ann" }), nil},
		"of a backfill":           {run(func(r *job.Run) { r.Backfill = 3 }), nil},
		"of a manual kind":        {run(func(r *job.Run) { r.Trigger = job.TriggerManual }), nil},
	} {
		got, ok := progressOf(c.run)
		if ok != (c.want != nil) || ok && got != *c.want {
			t.Errorf("run %s: got %+v, %v, want %+v", name, got, ok, c.want)
		}
	}
}

// TestEachRecentSharesItsLimit has a job of ann that runs every second, and older runs of root's.
func TestEachRecentSharesItsLimit(t *testing.T) {
	history, err := store.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer history.Close()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	var id job.RunID
	add := func(of job.ID, user string, runs int) {
		b := store.Batch{At: now, Era: 1, BootID: "boot"}
		for range runs {
			id++
			run := &job.Run{
				ID: id, Job: of, User: user, Due: now.Add(time.Duration(id) * time.Second), Decided: now,
				Trigger: job.TriggerClock, State: job.RunDecided, Attempt: 1,
			}
			b.Records = append(b.Records, job.Record{At: now, Kind: job.Decided, Decision: job.DecideRun, Job: of, Due: run.Due, Run: run})
		}
		if err := history.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	add("backup", "root", 6)
	add("ann/often", "ann", 100)
	got := map[job.ID]int{}
	owned := map[string][]job.ID{"root": {"backup"}, "ann": {"ann/often"}}
	if err := eachRecent(t.Context(), history, owned, now, 20, func(run *job.Run) { got[run.Job]++ }); err != nil {
		t.Fatal(err)
	}
	if want := map[job.ID]int{"backup": 6, "ann/often": 10}; !maps.Equal(got, want) {
		t.Errorf("runs %v, want %v", got, want)
	}
}

// TestRecalledSkips: an occurrence was skipped here because the user of its job did not exist on this host. Another
// member may have a run of it that waits, and would drop it if this host reported that the occurrence is over.
func TestRecalledSkips(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for reason, want := range map[job.Reason]int{job.NoUser: 0, job.OutsideHours: 0, job.NoQuorum: 0, job.Late: 1, job.IsPaused: 1} {
		history, err := store.Open(t.Context(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		skip := job.Record{At: now, Kind: job.Decided, Decision: job.DecideSkip, Job: "backup", Due: now.Add(-time.Minute), Reason: reason, User: "root"}
		if err := history.Commit(t.Context(), store.Batch{At: now, Era: 1, BootID: "boot", Records: []job.Record{skip}}); err != nil {
			t.Fatal(err)
		}
		file, _ := crontab.Parse("ring", "#@ name=backup scope=ring\n* * * * * backup\n", crontab.Config{Owner: "root"})
		e := engine.New(engine.State{})
		e.Step(job.Moment{Wall: now, Up: time.Hour}, event.Load{Crontabs: []*crontab.File{file}, Ring: event.Available})
		progress, err := recalled(t.Context(), e.View(), history)
		if err != nil || len(progress) != want {
			t.Errorf("%s: got %v, %v, want %d occurrences", reason, progress, err, want)
		}
		history.Close()
	}
}

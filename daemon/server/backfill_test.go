package server

import (
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// TestBackfill requests a preview of a backfill, begins it, waits for its end and finds it in the
// list.
func TestBackfill(t *testing.T) {
	w := newWorld(t, "#@ name=report\n*/10 * * * * ann report\n")
	w.To("2026-11-20T00:25:00Z")
	for _, id := range []job.RunID{1, 2} {
		w.Start(id)
		w.End(id, int(id)-1) // the run of 00:20 failed
	}
	client := api.Dial(w.serve())
	defer client.Close()
	ask := api.BackfillRequest{
		Ref: "report", From: "2026-11-19T23:50", To: "2026-11-20", Reprocess: job.ReprocessFailed, DryRun: true,
	}
	b, err := client.Backfill(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	want := []time.Time{instant(t, "2026-11-19T23:50:00Z"), instant(t, "2026-11-20T00:00:00Z"), instant(t, "2026-11-20T00:20:00Z")}
	if b.Plan.Count != 4 || b.Plan.LeftOut != 1 || !slices.EqualFunc(b.Plan.First, want, time.Time.Equal) {
		t.Errorf("the plan is %+v, want 4 occurrences, 1 left out, and %v", b.Plan, want)
	}
	if live := w.View().Backfills(); len(live) > 0 {
		t.Fatalf("a dry run began %+v", live)
	}

	ask.DryRun, ask.Wait = false, true
	type result struct {
		api.Backfill
		Err error
	}
	done := make(chan result, 1)
	go func() {
		b, err := client.Backfill(patient(t), ask)
		done <- result{b, err}
	}()
	awaitSubscriber(t, w, done)
	waitFor(t, w, job.Filled)
	for id := job.RunID(3); id <= 5; id++ { // each begins when the previous one has ended
		w.Start(id)
		w.End(id, int(id)%2)
	}
	over := await(t, "the backfill's end", done)
	if over.Err != nil || over.State != job.BackfillDone || over.Started != 3 || over.Skipped != 1 || over.Failed != 2 {
		t.Errorf("it ended as %+v, %v, want 3 started, 1 skipped, 2 failed", over.Backfill.Backfill, over.Err)
	}
	all, err := client.Backfills(t.Context(), []string{"report"})
	if err != nil || len(all) != 1 || all[0].State != job.BackfillDone {
		t.Errorf("the list is %+v, %v", all, err)
	}
	if _, err := client.StopBackfill(t.Context(), over.ID); kindOf(err) != api.NotFound {
		t.Errorf("stop what is over: %v, want that there is none", err)
	}
	ask.Overlap = "replace"
	if _, err := client.Backfill(t.Context(), ask); kindOf(err) != api.Conflict {
		t.Errorf("a rule that drops: %v, want a refusal", err)
	}
	ask.To = "tomorrow"
	if _, err := client.Backfill(t.Context(), ask); kindOf(err) != api.Usage {
		t.Errorf("no time: %v, want a complaint", err)
	}
}

// TestBackfillUntilNow ends a backfill after the last decision of the daemon.
func TestBackfillUntilNow(t *testing.T) {
	w := newWorld(t, "#@ name=report\n0 * * * * ann report\n")
	w.To("2026-11-20T01:30:00Z")
	s := New(Options{
		Backend: w, Store: w, Now: func() time.Time { return w.Now().Add(time.Minute) },
		SelfUID: selfUID, Account: users.Name, Log: slog.New(slog.DiscardHandler),
	})
	client := api.Dial(w.serveServer(s))
	defer client.Close()
	for _, to := range []string{"2026-11-20", "2026-11-20T01:31"} {
		b, err := client.Backfill(t.Context(), api.BackfillRequest{Ref: "report", From: "2026-11-20", To: to, Reprocess: job.ReprocessAll, DryRun: true})
		if err != nil || b.Plan.Count != 2 {
			t.Errorf("until %s: got %+v, %v, want 2 occurrences", to, b.Plan, err)
		}
	}
}

func kindOf(err error) api.Kind {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e.Kind
	}
	return ""
}

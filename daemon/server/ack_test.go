package server

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/jobstate"
)

// failOnce lets the next runs of all jobs fail.
func failOnce(w *world) {
	w.To(w.Now().Add(time.Minute).Format(time.RFC3339))
	for _, r := range w.AllRuns() {
		if r.State == job.RunDecided {
			w.Start(r.ID)
			w.End(r.ID, 1)
		}
	}
}

func stateNow(t *testing.T, c *api.Client) string {
	t.Helper()
	jobs, err := c.List(context.Background(), api.Query{})
	if err != nil {
		t.Fatal(err)
	}
	return states(jobs)
}

func TestAckHoldsUntilTheNextFailure(t *testing.T) {
	w := newWorld(t, "#@ name=a\n* * * * * root true\n#@ name=b\n* * * * * root true\n")
	failOnce(w)
	c, ctx := w.client(), context.Background()
	ids, err := c.Ack(ctx, api.AckRequest{Refs: []string{"a"}, Reason: "disk is on its way"})
	if err != nil || !slices.Equal(ids, []job.ID{"a"}) {
		t.Fatalf("Ack: %v, %v", ids, err)
	}
	if got, want := stateNow(t, c), "b:failing a:ok"; got != want {
		t.Errorf("after ack: %q, want %q", got, want)
	}
	st, err := c.Status(ctx)
	if err != nil || st.States[job.StateFailing] != 1 {
		t.Errorf("status counts %v, %v, want one that fails", st.States, err)
	}
	j, err := c.Show(ctx, "a")
	if err != nil || j.Ack == nil || j.Ack.By != caller || j.Ack.Run != 1 || j.Ack.Reason != "disk is on its way" || !j.Ack.At.Equal(w.Now()) {
		t.Errorf("show: %+v, %v, want who acknowledged run 1, when and why", j.Ack, err)
	}
	why, err := c.Why(ctx, "a", time.Time{})
	if err != nil || !strings.Contains(strings.Join(why.Facts, "\n"), "that run 1 failed: disk is on its way") {
		t.Errorf("why: %q, %v, want that it was acknowledged", why.Facts, err)
	}
	if _, err := c.Ack(ctx, api.AckRequest{Refs: []string{"a"}}); api.KindOf(err) != api.Conflict || !strings.Contains(err.Error(), "already") {
		t.Errorf("ack again: %v, want a conflict", err)
	}
	if last := w.Facts()[len(w.Facts())-1]; last.Kind != job.Acked || last.Job != "a" || last.Detail.Words() != "run 1, by "+caller+": disk is on its way" {
		t.Errorf("newest record %+v, want that a was acknowledged", last)
	}
	failOnce(w)
	if got, want := stateNow(t, c), "a:failing b:failing"; got != want {
		t.Errorf("after the next failure: %q, want %q", got, want)
	}
	if st, err := c.Show(ctx, "a"); err != nil || st.Ack != nil {
		t.Errorf("after the next failure: %+v, %v, want nothing acknowledged", st.Ack, err)
	}
}

func TestAckAllAndUndo(t *testing.T) {
	w := newWorld(t, "#@ name=a\n* * * * * root true\n#@ name=b\n* * * * * root true\n#@ name=c\n0 0 1 1 * root true\n")
	failOnce(w)
	c, ctx := w.client(), context.Background()
	if ids, err := c.Ack(ctx, api.AckRequest{All: true}); err != nil || len(ids) != 2 {
		t.Errorf("Ack of all: %v, %v, want a and b", ids, err)
	}
	if got, want := stateNow(t, c), "a:ok b:ok c:new"; got != want {
		t.Errorf("after ack: %q, want %q", got, want)
	}
	if ids, err := c.Ack(ctx, api.AckRequest{All: true}); err != nil || len(ids) != 0 {
		t.Errorf("Ack of none: %v, %v, want none and no error", ids, err)
	}
	if ids, err := c.Ack(ctx, api.AckRequest{Refs: []string{"b"}, Undo: true}); err != nil || !slices.Equal(ids, []job.ID{"b"}) {
		t.Errorf("undo: %v, %v", ids, err)
	}
	if got, want := stateNow(t, c), "b:failing a:ok c:new"; got != want {
		t.Errorf("after undo: %q, want %q", got, want)
	}
	if _, err := c.Ack(ctx, api.AckRequest{Refs: []string{"b"}, Undo: true}); api.KindOf(err) != api.Conflict {
		t.Errorf("undo again: %v, want a conflict", err)
	}
	if ids, err := c.Ack(ctx, api.AckRequest{All: true, Undo: true}); err != nil || !slices.Equal(ids, []job.ID{"a"}) {
		t.Errorf("undo of all: %v, %v, want a", ids, err)
	}
	for _, r := range []api.AckRequest{{}, {All: true, Refs: []string{"a"}}, {Refs: []string{"a"}, Reason: strings.Repeat("x", job.MaxText+1)}} {
		if _, err := c.Ack(ctx, r); api.KindOf(err) != api.Usage {
			t.Errorf("Ack(%d bytes of reason, %v, %v): %v, want a usage error", len(r.Reason), r.All, r.Refs, err)
		}
	}
	if _, err := c.Ack(ctx, api.AckRequest{Refs: []string{"c"}}); api.KindOf(err) != api.Conflict {
		t.Errorf("Ack of a new job: %v, want a conflict", err)
	}
}

// An account's failure stays its own, to be seen and acknowledged, when the name
// was another account's for a while.
func TestFailureOutlastsAnotherOwnerOfTheName(t *testing.T) {
	const anns, bobs = "#@ name=a\n* * * * * ann true\n", "#@ name=a\n* * * * * bob true\n"
	w := newWorld(t, anns)
	s := w.server()
	live(w, "1")
	w.Load(bobs)
	live(w, "0")
	w.Load(anns)
	all, err := jobstate.Collect(s.states.Statuses(context.Background(), w.call(s, annUID), []int{0}))
	if err != nil || all[0].State != job.StateFailing || all[0].Last == nil || all[0].Last.User != "ann" {
		t.Errorf("to ann: %+v, %v, want a job that fails", all[0].Status, err)
	}
	if all, err = jobstate.Collect(s.states.Statuses(context.Background(), w.call(s, 0), []int{0})); err != nil || all[0].State != job.StateOK || all[0].Last.User != "bob" {
		t.Errorf("to root: %+v, %v, want the run of bob", all[0].Status, err)
	}
}

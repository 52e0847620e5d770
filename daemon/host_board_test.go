package daemon

import (
	"context"
	"iter"
	"os"
	"syscall"
	"testing"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// boardReader follows the board of a real daemon.
type boardReader struct {
	h    *testHost
	rows map[job.ID]api.Row
	head api.Status
	next func() (api.BoardUpdate, error, bool)
}

func (h *testHost) board() *boardReader {
	ctx, cancel := context.WithCancel(h.context())
	next, stop := iter.Pull2(h.client.Board(ctx))
	h.t.Cleanup(func() { cancel(); stop() })
	b := &boardReader{h: h, rows: map[job.ID]api.Row{}, next: next}
	for complete := false; !complete; {
		complete = b.update().Complete
	}
	return b
}

func (b *boardReader) update() api.BoardUpdate {
	b.h.t.Helper()
	u, err, ok := b.next()
	if err != nil || !ok {
		b.h.t.Fatalf("the board ended: %v", err)
	}
	for _, r := range u.Rows {
		b.rows[r.Job] = r
	}
	for _, id := range u.Gone {
		delete(b.rows, id)
	}
	if u.Head != nil {
		b.head = *u.Head
	}
	return u
}

// await reads on until a row, or that there is none, is as it should be.
func (b *boardReader) await(id job.ID, want func(r api.Row, ok bool) bool) {
	b.h.t.Helper()
	for r, ok := b.rows[id]; !want(r, ok); r, ok = b.rows[id] {
		b.update()
	}
}

func inState(s job.State) func(api.Row, bool) bool {
	return func(r api.Row, ok bool) bool { return ok && r.State == s }
}

// The host sends changes to its board without a request. A new board after a restart has the same
// content, including an acknowledgement.
func TestHostPushesItsBoard(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	gate := h.fifo("gate")
	h.write("etc/crontab", "#@ name=waits trigger=manual\n0 0 1 1 * ann read x <"+gate.Name()+"\n"+
		"#@ name=fails trigger=manual protect=yes\n0 0 1 1 * ann exit 3\n")
	h.start()
	b := h.board()
	if r := b.rows["fails"]; len(b.rows) != 2 || r.State != job.StateNew || !r.Protected || r.Schedule != "by hand" || r.User != "ann" {
		t.Errorf("the board begins with %+v, want two new jobs", b.rows)
	}
	h.run("waits", "fails")
	b.await("waits", func(r api.Row, ok bool) bool {
		return inState(job.StateRunning)(r, ok) && !r.Began.IsZero() && r.Live == 1
	})
	b.await("fails", inState(job.StateFailing))
	if r := b.rows["fails"]; r.Ending != "exit 3" || r.LastRun == 0 {
		t.Errorf("the row is %+v, want one that ended with exit 3", r)
	}
	h.open(gate, 1)
	b.await("waits", inState(job.StateOK))
	if _, err := h.client.Ack(h.context(), api.AckRequest{Refs: []string{"fails"}, Reason: "known"}); err != nil {
		t.Fatal(err)
	}
	b.await("fails", func(r api.Row, ok bool) bool { return inState(job.StateOK)(r, ok) && r.Acked })
	h.write("etc/cron.d/more", "#@ name=more\n0 0 1 1 * root true\n")
	b.await("more", inState(job.StateNew))
	want := b.rows["fails"]

	h.signal(syscall.SIGKILL)
	h.wait()
	h.start()
	b = h.board()
	if got := b.rows["fails"]; got != want {
		t.Errorf("after a restart the row is\n%+v, want\n%+v", got, want)
	}
	if n := b.head.States[job.StateFailing]; n != 0 || b.head.Jobs != 3 {
		t.Errorf("after a restart %d of %d jobs fail, want none of 3", n, b.head.Jobs)
	}
	if err := os.Remove(h.path("etc/cron.d/more")); err != nil {
		t.Fatal(err)
	}
	b.await("more", func(_ api.Row, ok bool) bool { return !ok })
}

package call

import (
	"context"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// waits reports whether an expensive query of a caller must wait. It is called in a bubble.
func waits(q *Queries, p Peer) (waits bool) {
	ctx, leave := context.WithCancel(context.Background())
	waits = true
	go func() {
		if s, err := q.take(ctx, p); err == nil {
			waits = false
			s.end()
		}
	}()
	synctest.Wait()
	leave()
	synctest.Wait()
	return waits
}

// A user's second expensive query waits for the first, even while the caller
// reads the answer of the first. Other users and admins do not wait.
func TestExpensiveQueriesAreOnePerUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := NewQueries(2)
		ann, bob := Peer{UID: 1000, Name: "ann"}, Peer{UID: 1001, Name: "bob"}
		first, err := all.take(t.Context(), ann)
		if err != nil {
			t.Fatal(err)
		}
		first.release() // ann reads
		if !waits(all, ann) {
			t.Error("ann has two expensive queries at a time")
		}
		for _, p := range []Peer{bob, {Admin: true}} {
			if waits(all, p) {
				t.Errorf("%+v waits for ann", p)
			}
		}
		next := make(chan error)
		go func() {
			s, err := all.take(t.Context(), ann)
			s.end()
			next <- err
		}()
		synctest.Wait()
		first.end()
		if err := <-next; err != nil {
			t.Errorf("ann's next query: %v", err)
		}
		if len(all.users) != 0 {
			t.Errorf("slots that nobody has or waits for are kept: %v", all.users)
		}
	})
}

// All uids without a user share one slot.
func TestExpensiveQueriesOfUnnamedUIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := NewQueries(2)
		s, err := all.take(t.Context(), Peer{UID: 100_001})
		if err != nil {
			t.Fatal(err)
		}
		defer s.end()
		s.release()
		if !waits(all, Peer{UID: 100_002}) {
			t.Error("two uids without a user have an expensive query each")
		}
	})
}

// Users compute in turns; admins at any time.
func TestExpensiveQueriesLeaveProcessors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := NewQueries(2)
		var slots []*slot
		for uid := range uint32(cap(all.computing)) {
			s, err := all.take(t.Context(), Peer{UID: 1 + uid, Name: "user"})
			if err != nil {
				t.Fatal(err)
			}
			defer s.end()
			slots = append(slots, s)
		}
		bob := Peer{UID: 1001, Name: "bob"}
		if !waits(all, bob) {
			t.Error("more queries compute than may")
		}
		if waits(all, Peer{Admin: true}) {
			t.Error("an admin waits")
		}
		slots[0].release()
		if waits(all, bob) {
			t.Error("bob waits for a reader")
		}
		if err := slots[0].compute(t.Context()); err != nil {
			t.Errorf("compute again: %v", err)
		}
	})
}

// The query of a caller that has disconnected does not begin, even if it could
// begin at that moment.
func TestExpensiveQueriesOfDisconnectedCallers(t *testing.T) {
	all := NewQueries(2)
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for range 100 {
		if s, err := all.take(over, Peer{UID: 1000, Name: "ann"}); err == nil {
			s.end()
			t.Fatal("the query of a disconnected caller begins")
		}
	}
	if len(all.users)+len(all.computing) != 0 {
		t.Errorf("slots are still taken: %v, %d compute", all.users, len(all.computing))
	}
}

// While the audit log is written, which can take long on a slow disk, other users compute.
func TestAuditLogIsWrittenWhileOthersCompute(t *testing.T) {
	all, stored := NewQueries(2), 0
	ctx := WithPeer(t.Context(), func() Peer { return Peer{UID: 1000, Name: "ann"} }, func() int { return 0 })
	c := New(nil, time.Now(), httptest.NewRecorder(), httptest.NewRequest("POST", "/v1/run", nil).WithContext(ctx))
	c.Audited(func(acts []job.Action) {
		if stored += len(acts); len(all.computing) > 0 {
			t.Error("the caller still computes")
		}
	})
	if err := c.Bound(t.Context(), Expensive, all); err != nil {
		t.Fatal(err)
	}
	for _, end := range []func(){func() { c.Send(200, "text/plain", nil) }, c.End} {
		if err := c.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.Did(job.Action{What: "run"})
		end()
		c.End()
	}
	if stored != 2 {
		t.Errorf("%d actions were stored, want 2", stored)
	}
}

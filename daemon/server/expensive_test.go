package server

import (
	"context"
	"testing"
)

// A user's second expensive query waits for the first, even while the caller
// reads the answer of the first. Other users and admins do not wait.
func TestExpensiveQueriesAreOnePerUser(t *testing.T) {
	all := newExpensiveQueries()
	ann, bob := peer{uid: annUID, name: "ann"}, peer{uid: bobUID, name: "bob"}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	first, err := all.take(patient(t), ann)
	if err != nil {
		t.Fatal(err)
	}
	first.rest() // ann reads
	if _, err := all.take(over, ann); err == nil {
		t.Error("ann has two expensive queries at a time")
	}
	for _, p := range []peer{bob, {keeper: true}, {keeper: true}} {
		if other, err := all.take(patient(t), p); err != nil {
			t.Errorf("%+v waits for ann: %v", p, err)
		} else {
			other.end()
		}
	}
	next := make(chan error)
	go func() {
		s, err := all.take(patient(t), ann)
		s.end()
		next <- err
	}()
	first.end()
	if err := await(t, "ann's next query", next); err != nil {
		t.Errorf("ann's next query: %v", err)
	}
	if len(all.users) != 0 {
		t.Errorf("slots that nobody has or waits for are kept: %v", all.users)
	}
}

// All uids without a user share one slot.
func TestExpensiveQueriesOfUnnamedUIDs(t *testing.T) {
	all := newExpensiveQueries()
	s, err := all.take(patient(t), peer{uid: 100_001})
	if err != nil {
		t.Fatal(err)
	}
	defer s.end()
	s.rest()
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := all.take(over, peer{uid: 100_002}); err == nil {
		t.Error("two uids without a user have an expensive query each")
	}
}

// Users compute in turns; admins at any time.
func TestExpensiveQueriesLeaveProcessors(t *testing.T) {
	all := newExpensiveQueries()
	over, cancel := context.WithCancel(context.Background())
	cancel()
	var slots []*slot
	for uid := range uint32(cap(all.computing)) {
		s, err := all.take(patient(t), peer{uid: 1 + uid, name: "user"})
		if err != nil {
			t.Fatal(err)
		}
		defer s.end()
		slots = append(slots, s)
	}
	bob := peer{uid: bobUID, name: "bob"}
	if _, err := all.take(over, bob); err == nil {
		t.Error("more queries compute than may")
	}
	if _, err := all.take(over, peer{keeper: true}); err != nil {
		t.Errorf("an admin waits: %v", err)
	}
	slots[0].rest()
	s, err := all.take(patient(t), bob)
	if err != nil {
		t.Fatalf("bob waits for a reader: %v", err)
	}
	s.end()
	if err := slots[0].compute(patient(t)); err != nil {
		t.Errorf("compute again: %v", err)
	}
}

// The query of a caller that has disconnected does not begin, even if it could
// begin at that moment.
func TestExpensiveQueriesOfDisconnectedCallers(t *testing.T) {
	all := newExpensiveQueries()
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for range 100 {
		if s, err := all.take(over, peer{uid: annUID, name: "ann"}); err == nil {
			s.end()
			t.Fatal("the query of a disconnected caller begins")
		}
	}
	if len(all.users)+len(all.computing) != 0 {
		t.Errorf("slots are still taken: %v, %d compute", all.users, len(all.computing))
	}
}

package server

import (
	"context"
	"testing"
)

// A second long look of an account waits for the first; other accounts and the
// keepers do not.
func TestTurnsAreOneForEachAccount(t *testing.T) {
	all := newTurns()
	ann, bob := peer{uid: annUID}, peer{uid: bobUID}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	leave, err := all.take(patient(t), ann)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := all.take(over, ann); err == nil {
		t.Error("ann has two turns at once")
	}
	for _, p := range []peer{bob, {keeper: true}, {keeper: true}} {
		if other, err := all.take(patient(t), p); err != nil {
			t.Errorf("%+v waits for ann: %v", p, err)
		} else {
			defer other()
		}
	}
	next := make(chan error)
	go func() {
		leave, err := all.take(patient(t), ann)
		if err == nil {
			leave()
		}
		next <- err
	}()
	leave()
	if err := await(t, "ann's next turn", next); err != nil {
		t.Errorf("ann's next turn: %v", err)
	}
	if _, ok := all.of[annUID]; ok {
		t.Error("a turn that nobody has or waits for is kept")
	}
}

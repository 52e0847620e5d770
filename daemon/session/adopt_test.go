package session

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// A daemon that starts while systemd says nothing goes on, and Run looks at
// the units as soon as it can.
func TestAdoptFollowsAllUnitsThoughSystemdIsSilent(t *testing.T) {
	m := &Manager{ends: make(chan End), wake: make(chan struct{}, 1), dialling: make(chan struct{}, 1), units: make(map[string]*follow)}
	m.dialling <- struct{}{} // somebody else waits for the connection
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.Adopt(ctx, "one.service", "two.service"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want to be told that it was given up", err)
	}
	units := m.following()
	slices.Sort(units)
	if !slices.Equal(units, []string{"one.service", "two.service"}) {
		t.Errorf("followed are %q", units)
	}
}

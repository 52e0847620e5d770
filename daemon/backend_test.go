package daemon

import (
	"context"
	"errors"
	"testing"
)

// Whoever asks for a reload may be gone before it is over: it is the loop's, and
// ends without them.
func TestReloadIsNotOfWhoAsksForIt(t *testing.T) {
	l := &loop{rereads: make(chan chan<- error)}
	ctx, leave := context.WithCancel(t.Context())
	answer := make(chan error)
	go func() {
		_, err := backend{l}.Reload(ctx)
		answer <- err
	}()
	done := <-l.rereads
	leave()
	if err := <-answer; !errors.Is(err, context.Canceled) {
		t.Errorf("who left before the end is told %v, want %v", err, context.Canceled)
	}
	select {
	case done <- nil:
	default:
		t.Error("the reload waits for somebody who has left")
	}
}

package daemon

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/member"
	"github.com/cronring/cronring/daemon/recorder"
)

// A reload belongs to the loop: it continues to its end even if the client has disconnected.
func TestReloadContinuesWithoutTheCaller(t *testing.T) {
	d := &shared{loopClient: loopClient{rereads: make(chan chan<- error)}}
	ctx, leave := context.WithCancel(t.Context())
	answer := make(chan error)
	go func() {
		_, err := backend{d}.Reload(ctx)
		answer <- err
	}()
	done := <-d.rereads
	leave()
	if err := <-answer; !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that left got %v, want %v", err, context.Canceled)
	}
	select {
	case done <- nil:
	default:
		t.Error("the reload waits for a caller that has left")
	}
}

// The uptime follows the time since boot, even if the clock was set. Small differences between the
// two have no effect.
func TestStartedAtAfterTheClockWasSet(t *testing.T) {
	start := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	begun := job.Moment{Wall: start, Up: time.Hour}
	for _, test := range []struct {
		wall time.Time
		want time.Time
	}{
		{start.Add(10 * time.Minute), start},
		{start.Add(10*time.Minute + 300*time.Millisecond), start},
		{start.Add(10*time.Minute - time.Hour + time.Millisecond), start.Add(-time.Hour)},
		{start.AddDate(30, 0, 0).Add(10 * time.Minute), start.AddDate(30, 0, 0)},
	} {
		got := startedAt(begun, job.Moment{Wall: test.wall, Up: time.Hour + 10*time.Minute})
		if !got.Equal(test.want) {
			t.Errorf("now %s, ten minutes later: started at %s, want %s", test.wall, got, test.want)
		}
	}
}

// Requests of users run in other goroutines than the loop. They must not reach what only the loop may
// use.
func TestBackendCannotReachTheEngine(t *testing.T) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[backend]()) {
		switch f.Type {
		case reflect.TypeFor[*engine.Engine](), reflect.TypeFor[*recorder.Recorder](), reflect.TypeFor[*member.Claims]():
			t.Errorf("the backend has a field %s of type %s", f.Name, f.Type)
		}
	}
}

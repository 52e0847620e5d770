package daemon

import (
	"context"
	"errors"
	"testing"

	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/notify"
)

// The recipients of a notification can depend on its job: mailto= and MAILTO.
func TestNotificationsAreNotMailedBeforeTheJobsAreLoaded(t *testing.T) {
	d := &shared{loaded: make(chan struct{})}
	d.view.Store(engine.New(engine.State{}).View())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.mailNotice(ctx, &notify.Channel{}, &notify.Message{}); !errors.Is(err, notify.ErrNotNow) {
		t.Errorf("before the jobs are loaded: got %v, want %v", err, notify.ErrNotNow)
	}
	close(d.loaded)
	if err := d.mailNotice(t.Context(), &notify.Channel{}, &notify.Message{}); errors.Is(err, notify.ErrNotNow) {
		t.Errorf("after that: got %v, want that there is no mailer", err)
	}
}

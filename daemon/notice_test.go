package daemon

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/notify"
	"github.com/cronring/cronring/daemon/store"
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

// A user can have any number of short runs with notify-on=odd.
func TestComparisonsOfDurationsAreLimited(t *testing.T) {
	history, err := store.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer history.Close()
	d := &shared{history: history, log: slog.New(slog.DiscardHandler), compared: budget.New(mostComparisons, mostComparisons), compareCtx: t.Context()}
	d.comparing.Lock()
	for range 10 * mostComparisons {
		d.notify(job.Notice{On: job.OnOdd, Job: "a", User: "ann", Run: &job.Run{ID: 7}}, nil)
	}
	if n := d.compared.Held("ann"); n != mostComparisons/2 {
		t.Errorf("%d durations of one user wait for a comparison, want %d", n, mostComparisons/2)
	}
	for _, user := range []string{"bob", "root"} {
		if !d.compared.Fits(user, 1) {
			t.Errorf("ann leaves no comparison for %s", user)
		}
	}
	d.comparing.Unlock()
	d.background.Wait()
	if n := d.compared.Held("ann"); n != 0 {
		t.Errorf("%d comparisons are held when all are over, want 0", n)
	}
}

// A hand-over waits for the end of all comparisons.
func TestComparisonsOfDurationsEndWithTheLoop(t *testing.T) {
	history, err := store.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	history.Close() // so that a comparison logs an error
	var log bytes.Buffer
	ctx, end := context.WithCancel(t.Context())
	d := &shared{history: history, log: slog.New(slog.NewTextHandler(&log, nil)), compared: budget.New(mostComparisons, mostComparisons), compareCtx: ctx}
	d.comparing.Lock()
	for range 3 {
		d.notify(job.Notice{On: job.OnOdd, Job: "a", User: "ann", Run: &job.Run{ID: 7}}, nil)
	}
	end()
	d.comparing.Unlock()
	d.background.Wait()
	if log.Len() > 0 {
		t.Errorf("comparisons began after the end of the loop: %s", &log)
	}
}

package daemon

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine"
)

// follow has an engine with ring jobs follow a member, as the loop does, and
// returns what shows its views.
func follow(t *testing.T, ctx context.Context, running *sync.WaitGroup, r *ring, jobs int) func() *engine.View {
	t.Helper()
	var text strings.Builder
	text.WriteString("#@ default scope=ring\n")
	for i := range jobs {
		fmt.Fprintf(&text, "0 0 1 1 * job --number %d\n", i)
	}
	table, remarks := crontab.Parse("ring", text.String(), crontab.Config{Owner: "root"})
	if len(remarks) > 0 {
		t.Fatal(remarks[0])
	}
	e := engine.New(engine.State{})
	begun := time.Now()
	now := func() engine.Moment { return engine.Moment{Wall: time.Now(), Up: time.Since(begun)} }
	var view atomic.Pointer[engine.View]
	step := func(events ...engine.Event) {
		r.take(ctx, e.Step(now(), events...))
		view.Store(e.View())
	}
	step(engine.Load{Tables: []*crontab.Table{table}, Ring: engine.Available})
	running.Go(func() { r.link.Run(ctx) })
	running.Go(func() { r.members.Run(ctx) })
	running.Go(func() {
		for {
			select {
			case ev := <-r.members.Events():
				step(ev)
			case <-ctx.Done():
				return
			}
		}
	})
	return view.Load
}

// TestSharesAreEvenedOutInAllMembers: one of three does it, once all have been at
// rest, and all see the same even shares.
func TestSharesAreEvenedOutInAllMembers(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	key := bytes.Repeat([]byte{7}, keyLen)
	var views []func() *engine.View
	var seeds []string
	for range 3 {
		r := loopbackRing(t, key, seeds...)
		r.quiet = 300 * time.Millisecond
		seeds = []string{r.config.Listen()}
		view := follow(t, ctx, &running, r, 300)
		views = append(views, view)
		running.Go(func() { r.even(ctx, view) })
	}
	later := time.Now().Add(time.Hour)
	even := func(v *engine.View) bool {
		shares, _ := v.Shares(later)
		for _, n := range shares {
			if n < 98 || n > 102 {
				return false
			}
		}
		return len(shares) == 3
	}
	deadline, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for _, view := range views {
		for !even(view()) {
			select {
			case <-ticker.C:
			case <-deadline.Done():
				shares, _ := view().Shares(later)
				t.Fatalf("after a minute a member sees the shares %v, want 100 each within 2 %%", shares)
			}
		}
	}
}

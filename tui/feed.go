package tui

import (
	"context"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/wake"
)

// The pause before the daemon is tried again: doubled from the first to the last.
const (
	firstPause = time.Second
	lastPause  = 10 * time.Second
)

// feed follows the daemon's board. What comes is folded until the program is
// ready for it, so that a flood costs one drawing and not one each.
type feed struct {
	client *api.Client
	send   func(tea.Msg)

	mu       sync.Mutex
	pending  []api.BoardUpdate
	notified bool // the program has been notified of pending data
}

// Messages of the feed to the program.
type (
	fed  struct{ rest bool } // rest: of what was too much for one drawing
	lost struct {
		err   error
		retry time.Duration
	}
)

// run follows the board until ctx ends, and reconnects when the stream breaks.
func (f *feed) run(ctx context.Context) {
	pause := firstPause
	for ctx.Err() == nil {
		var broken error
		for u, err := range f.client.Board(ctx) {
			if err != nil {
				broken = err
				break
			}
			pause = firstPause
			f.put(u)
		}
		if ctx.Err() != nil {
			return
		}
		f.send(lost{broken, pause})
		_ = wake.Sleep(ctx, pause)
		pause = min(2*pause, lastPause)
	}
}

func (f *feed) put(u api.BoardUpdate) {
	f.mu.Lock()
	f.pending = append(f.pending, u)
	tell := !f.notified
	f.notified = true
	f.mu.Unlock()
	if tell {
		f.send(fed{})
	}
}

// much reports whether more has come than is applied at once.
func (f *feed) much() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	rows := 0
	for _, u := range f.pending {
		rows += len(u.Rows)
	}
	return rows >= mostRows
}

// mostRows bounds the jobs that are applied before keys are read again.
const mostRows = 8192

// take returns what has arrived since the last call, or the first part of it, and
// whether there is more.
func (f *feed) take() (some []api.BoardUpdate, more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for rows := 0; n < len(f.pending) && rows < mostRows; n++ {
		rows += len(f.pending[n].Rows)
	}
	some, f.pending = f.pending[:n:n], f.pending[n:]
	if more = len(f.pending) > 0; !more {
		f.pending, f.notified = nil, false
	}
	return some, more
}

// Package workloop owns the side of a goroutine's loop that other goroutines use: they pass it functions to
// call, wake it, and see how long it has been at work.
package workloop

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/cronring/cronring/daemon/wake"
)

// Loop connects one goroutine, which calls Begin, Rest and CallAll and receives from Woken, with others, which
// may call the remaining methods at any time and with any lock held.
type Loop struct {
	woken chan struct{}
	since atomic.Int64 // when the present work began, in nanoseconds after epoch; 0: the loop waits

	mu    sync.Mutex
	calls []func()
}

// epoch is the zero of the monotonic time in Loop.since.
var epoch = time.Now().Add(-1)

// New returns a Loop that waits and has no work.
func New() *Loop { return &Loop{woken: make(chan struct{}, 1)} }

// Wake makes Woken readable. It never blocks.
func (l *Loop) Wake() { wake.Up(l.woken) }

// Woken returns the channel at which the loop waits for work.
func (l *Loop) Woken() <-chan struct{} { return l.woken }

// Call has the loop call a function, without waiting for it.
func (l *Loop) Call(f func()) {
	l.mu.Lock()
	l.calls = append(l.calls, f)
	l.mu.Unlock()
	l.Wake()
}

// CallAll calls the functions that were passed to Call, in their order.
func (l *Loop) CallAll() {
	l.mu.Lock()
	calls := l.calls
	l.calls = nil
	l.mu.Unlock()
	for _, call := range calls {
		call()
	}
}

// HasCalls reports whether CallAll would call a function.
func (l *Loop) HasCalls() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.calls) > 0
}

// Begin notes that the loop begins to work.
func (l *Loop) Begin() { l.since.Store(int64(time.Since(epoch))) }

// Rest notes that the loop waits for work.
func (l *Loop) Rest() { l.since.Store(0) }

// Working returns how long the loop has been at its present work, and 0 while it waits.
func (l *Loop) Working() time.Duration {
	since := l.since.Load()
	if since == 0 {
		return 0
	}
	return time.Since(epoch) - time.Duration(since)
}

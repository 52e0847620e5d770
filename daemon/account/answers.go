package account

import (
	"context"
	"maps"
	"sync"
	"time"
)

const (
	fresh    = time.Minute      // how long an answer is good
	outage   = 24 * time.Hour   // how long it is used when no other can be had
	respite  = 10 * time.Second // how long a service that failed is spared
	patience = 10 * time.Second // how long an answer may take
	crowd    = 4096             // how many answers are kept without a look at their age
)

// answers caches the answers of a directory service. The zero value is empty.
type answers[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]answer[V]
	calls map[K]*call[V] // queries in progress
}

type answer[V any] struct {
	value V
	given time.Time
	until time.Time // good without asking
}

// call is one question for all who want its answer at the same time.
type call[V any] struct {
	done      chan struct{} // closed when the rest is set
	value     V
	err       error
	abandoned bool // who asked did not wait for the answer
}

// fresh is an answer that is still good.
func (a *answers[K, V]) fresh(key K, now time.Time) (V, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.known[key]
	return known.value, now.Before(known.until)
}

// ask returns a valid cached answer, or looks up a new one. If that fails it returns the last one,
// unless the error is an *UnknownError, which is an answer too.
func (a *answers[K, V]) ask(ctx context.Context, now func() time.Time, key K, look func(context.Context) (V, error)) (V, error) {
	for {
		value, c, ours := a.claim(key, now())
		switch {
		case c == nil:
			return value, nil
		case ours:
			a.answer(ctx, c, look)
			return a.settle(key, c, now())
		}
		select {
		case <-c.done:
		case <-ctx.Done():
			return value, ctx.Err()
		}
		if !c.abandoned {
			return c.value, c.err
		}
	}
}

// claim returns a valid answer, or the call to wait for or to make.
func (a *answers[K, V]) claim(key K, now time.Time) (value V, c *call[V], ours bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known := a.known[key]; now.Before(known.until) {
		return known.value, nil, false
	}
	if c := a.calls[key]; c != nil {
		return value, c, false
	}
	c = &call[V]{done: make(chan struct{})}
	if a.calls == nil {
		a.calls = make(map[K]*call[V])
	}
	a.calls[key] = c
	return value, c, true
}

// answer makes the call. Only this goroutine touches it until done is closed.
func (*answers[K, V]) answer(ctx context.Context, c *call[V], look func(context.Context) (V, error)) {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c.value, c.err = look(limited)
	c.abandoned = c.err != nil && ctx.Err() != nil
}

// settle remembers what came of a call and ends it.
func (a *answers[K, V]) settle(key K, c *call[V], now time.Time) (V, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer close(c.done)
	delete(a.calls, key)
	last, ok := a.known[key]
	switch {
	case c.abandoned:
	case c.err == nil:
		a.keep(key, answer[V]{c.value, now, now.Add(fresh)})
	case IsUnknown(c.err):
		delete(a.known, key)
	case ok && now.Before(last.given.Add(outage)):
		last.until = now.Add(respite)
		a.known[key] = last
		c.value, c.err = last.value, nil
	}
	return c.value, c.err
}

// put remembers an answer for the time that a service is spared.
func (a *answers[K, V]) put(key K, value V, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keep(key, answer[V]{value, now, now.Add(respite)})
}

// last is the newest answer, however old.
func (a *answers[K, V]) last(key K) (V, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known, ok := a.known[key]
	return known.value, ok
}

func (a *answers[K, V]) keep(key K, n answer[V]) {
	if a.known == nil {
		a.known = make(map[K]answer[V])
	}
	if len(a.known) >= crowd {
		maps.DeleteFunc(a.known, func(_ K, old answer[V]) bool { return n.given.Sub(old.given) >= outage })
	}
	a.known[key] = n
}

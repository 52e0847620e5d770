package server

import (
	"context"
	"sync"
)

// turns lets each account that is no keeper look at much at once only one
// request after the other, so that none takes the processors from the loop. No
// account waits for another, which may be slow to read what it asked for.
type turns struct {
	mu sync.Mutex
	of map[uint32]*turn
}

type turn struct {
	taken chan struct{}
	users int // who has it or waits for it
}

func newTurns() *turns { return &turns{of: map[uint32]*turn{}} }

// take waits for the caller's turn, which leave ends.
func (t *turns) take(ctx context.Context, p peer) (leave func(), err error) {
	if p.keeper {
		return func() {}, nil
	}
	own := t.join(p.uid)
	select {
	case own.taken <- struct{}{}:
		return func() { <-own.taken; t.part(p.uid) }, nil
	case <-ctx.Done():
		t.part(p.uid)
		return nil, ctx.Err()
	}
}

func (t *turns) join(uid uint32) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.of[uid]
	if own == nil {
		own = &turn{taken: make(chan struct{}, 1)}
		t.of[uid] = own
	}
	own.users++
	return own
}

func (t *turns) part(uid uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own := t.of[uid]; own.users > 1 {
		own.users--
	} else {
		delete(t.of, uid)
	}
}

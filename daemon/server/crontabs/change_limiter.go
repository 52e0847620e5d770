package crontabs

import (
	"context"
	"sync"
	"time"
)

// A user's changes of crontabs take at most 1/(restShare+1) of the time, because each change makes
// the daemon parse and load. maxRest is the longest pause, for changes that take long for other
// reasons.
const (
	restShare = 4
	maxRest   = 2 * time.Second
)

// changeLimiters lets each user change crontabs one after the other, with rests in
// between. The zero value is ready to use.
type changeLimiters struct{ of sync.Map } // by Peer.LimitKey: *changeLimiter

// changeLimiter is the changes of one user. Only the holder of turn touches next.
type changeLimiter struct {
	semaphore chan struct{}
	next      time.Time // no change begins before
}

// begin waits until a user can change a crontab. The caller calls end when the
// change is loaded. It returns an error if ctx ends before.
func (p *changeLimiters) begin(ctx context.Context, key uint32) (end func(), err error) {
	found, _ := p.of.LoadOrStore(key, &changeLimiter{semaphore: make(chan struct{}, 1)})
	own := found.(*changeLimiter)
	select {
	case own.semaphore <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	rested := time.NewTimer(time.Until(own.next))
	defer rested.Stop()
	select {
	case <-rested.C:
	case <-ctx.Done():
		<-own.semaphore
		return nil, ctx.Err()
	}
	begun := time.Now()
	return func() {
		own.next = time.Now().Add(min(maxRest, restShare*time.Since(begun)))
		<-own.semaphore
	}, nil
}

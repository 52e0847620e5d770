// Package wake owns the signal that wakes a goroutine that waits at a channel, and the wait for some
// time.
package wake

import (
	"context"
	"time"
)

// Up makes a channel with a buffer of one value readable. It never blocks.
func Up(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Sleep waits for d, or until ctx ends. Then it returns the error of ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

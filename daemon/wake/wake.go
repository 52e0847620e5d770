// Package wake owns the signal that wakes a goroutine that waits at a channel.
package wake

// Up makes a channel with a buffer of one value readable. It never blocks.
func Up(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

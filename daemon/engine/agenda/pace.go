package agenda

import "time"

// Pace spaces the starts of what is caught up, for each user apart. The zero value is ready for use.
type Pace struct {
	PerSecond int                      // starts of a user in a second; 0: no limit
	next      map[string]time.Duration // by user: the time since boot at which the next one can start
}

// Wait returns how long the next occurrence of a user has to wait, and counts it. up is the time
// since boot.
func (p *Pace) Wait(user string, up time.Duration) time.Duration {
	if p.PerSecond == 0 {
		return 0
	}
	if p.next == nil {
		p.next = map[string]time.Duration{}
	}
	at := max(p.next[user], up)
	p.next[user] = at + time.Second/time.Duration(p.PerSecond)
	return at - up
}

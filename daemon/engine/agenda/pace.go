package agenda

import "time"

// Pace spaces the starts of what is caught up, for each user apart. The zero value is ready for use.
type Pace struct {
	PerSecond int                      // starts of a user in a second; 0: no limit
	next      map[string]time.Duration // by user: the time since boot at which the next one can start
}

// Wait returns how long the next occurrence of a user has to wait. up is the time since boot.
func (p *Pace) Wait(user string, up time.Duration) time.Duration {
	if p.PerSecond == 0 {
		return 0
	}
	return max(p.next[user]-up, 0)
}

// Count counts an occurrence that is not skipped.
func (p *Pace) Count(user string, up time.Duration) {
	if p.PerSecond == 0 {
		return
	}
	if p.next == nil {
		p.next = map[string]time.Duration{}
	}
	p.next[user] = max(p.next[user], up) + time.Second/time.Duration(p.PerSecond)
}

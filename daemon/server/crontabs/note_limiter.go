package crontabs

import (
	"sync"
	"time"

	"github.com/cronring/cronring/daemon/server/call"
)

// maxNotes is how many lines of cron's log each user other than an admin can cause in a minute by
// requests that change nothing. Without a limit a user could fill the log.
const maxNotes = 60

// noteLimiter counts these lines of each user. The zero value is ready to use.
type noteLimiter struct {
	mu     sync.Mutex
	minute time.Time      // when it began
	lines  map[uint32]int // in this minute, by Peer.LimitKey
}

// count returns how many lines a user has caused in this minute, including this one. Requests may end in
// another order than they began, so now may be earlier than in the previous call.
func (l *noteLimiter) count(p call.Peer, now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.minute).Abs() >= time.Minute || l.lines == nil {
		l.minute, l.lines = now, map[uint32]int{}
	}
	l.lines[p.LimitKey()]++
	return l.lines[p.LimitKey()]
}

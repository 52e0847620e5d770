package beats

import (
	"sync"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

const (
	spacing           = 100 * time.Millisecond // a beat so soon after another of the same run changes nothing
	perSecond         = 200                    // beats of one user that reach the loop
	messagesPerSecond = 1000                   // messages of one user's runs that are read
)

// admission limits what a user's runs make the daemon do, whichever way their beats come.
type admission struct {
	mu       sync.Mutex
	second   time.Time               // when the counts below began
	beats    map[string]int          // by user
	messages map[string]int          // by user
	newest   map[job.RunID]time.Time // the newest beat that reached the loop, by run
}

func newAdmission() admission {
	return admission{beats: map[string]int{}, messages: map[string]int{}, newest: map[job.RunID]time.Time{}}
}

// try counts a beat. fresh reports whether it changes something, within whether its user is
// within the limit.
func (a *admission) try(user string, id job.RunID, now time.Time) (fresh, within bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.renew(now)
	if last, ok := a.newest[id]; ok && now.Sub(last).Abs() < spacing {
		return false, true
	}
	if a.beats[user] >= perSecond {
		return false, false
	}
	a.beats[user]++
	return true, true
}

// pass notes that a fresh beat goes to the loop.
func (a *admission) pass(id job.RunID, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.newest[id] = now
}

// delay counts a message of a user's run, and returns how long its reader must pause. Whatever the user's
// other runs send, at least one message of each run is read in a second.
func (a *admission) delay(user string, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.renew(now)
	a.messages[user]++
	if a.messages[user] <= messagesPerSecond {
		return 0
	}
	return time.Second - now.Sub(a.second)
}

// renew begins the counts again in each second.
func (a *admission) renew(now time.Time) {
	if now.Sub(a.second).Abs() < time.Second {
		return
	}
	a.second = now
	clear(a.beats)
	clear(a.messages)
	clear(a.newest)
}

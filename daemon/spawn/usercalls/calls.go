// Package usercalls owns calls that may wait for long, such as for a directory service. It makes a few of each
// user at the same time, so that a user's calls delay only that user.
package usercalls

import "sync"

// Limit is how many calls of one user are made at the same time.
const Limit = 4

// Calls are the calls of all users. The zero value has none.
type Calls struct {
	tasks sync.WaitGroup

	mu    sync.Mutex
	users map[string]*queue // users with goroutines
}

// queue is the calls of one user.
type queue struct {
	goroutines int
	waiting    []func() // oldest first
}

// Add has a goroutine of the user make a call, without waiting for it. It may be called with any lock held.
func (c *Calls) Add(user string, call func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.users[user]
	if q == nil {
		q = &queue{}
		if c.users == nil {
			c.users = map[string]*queue{}
		}
		c.users[user] = q
	}
	q.waiting = append(q.waiting, call)
	if q.goroutines < Limit {
		q.goroutines++
		c.tasks.Go(func() {
			for call := c.next(user, q); call != nil; call = c.next(user, q) {
				call()
			}
		})
	}
}

// next returns the oldest call of a user, or nil, which ends the goroutine that asked for it.
func (c *Calls) next(user string, q *queue) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(q.waiting) == 0 {
		if q.goroutines--; q.goroutines == 0 {
			delete(c.users, user)
		}
		return nil
	}
	call := q.waiting[0]
	q.waiting = q.waiting[1:]
	return call
}

// Wait returns when all calls have returned. Add must not be called meanwhile.
func (c *Calls) Wait() { c.tasks.Wait() }

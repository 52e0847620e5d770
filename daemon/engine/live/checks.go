package live

import (
	"maps"
	"slices"

	"github.com/cronring/cronring/daemon/job"
)

// Checks counts the running commands of if= of each user, and lists the runs that wait for one to
// end. The zero value has none.
type Checks struct {
	running map[job.RunID]string // the user of each command, also if its run was dropped and it was killed
	users   map[string]*userChecks
	ended   []string // users of whom a command has ended since Next returned all that may begin
}

type userChecks struct {
	running int
	waiting []*Run // oldest first; some may have been dropped since
}

// Runs reports whether the command for a run is running.
func (c *Checks) Runs(id job.RunID) bool {
	_, runs := c.running[id]
	return runs
}

// Begin reports whether the command for a run may begin: if fewer than most of its user run, or
// most is 0. Otherwise Next returns the run later.
func (c *Checks) Begin(r *Run, most int) bool {
	if c.running == nil {
		c.running, c.users = map[job.RunID]string{}, map[string]*userChecks{}
	}
	u := c.users[r.User]
	if u == nil {
		u = &userChecks{}
		c.users[r.User] = u
	}
	if most > 0 && u.running >= most {
		u.waiting = append(u.waiting, r)
		return false
	}
	u.running++
	c.running[r.ID] = r.User
	return true
}

// End notes that the command for a run has ended. It reports false if it was not running.
func (c *Checks) End(id job.RunID) bool {
	user, ok := c.running[id]
	if !ok {
		return false
	}
	delete(c.running, id)
	u := c.users[user]
	u.running--
	if len(u.waiting) > 0 {
		c.ended = append(c.ended, user)
	} else if u.running == 0 {
		delete(c.users, user)
	}
	return true
}

// Recount makes Next consider all users again, because their limits have changed.
func (c *Checks) Recount() { c.ended = slices.Sorted(maps.Keys(c.users)) }

// Next returns a run that waited for its command, and may have it now; nil: none may. It can have
// been dropped meanwhile. most returns the limit of a user.
func (c *Checks) Next(most func(user string) int) *Run {
	for ; len(c.ended) > 0; c.ended = c.ended[1:] {
		user := c.ended[0]
		u := c.users[user]
		if u == nil {
			continue
		}
		if n := most(user); len(u.waiting) > 0 && (n == 0 || u.running < n) {
			r := u.waiting[0]
			u.waiting = u.waiting[1:]
			return r
		}
		if u.running == 0 && len(u.waiting) == 0 {
			delete(c.users, user)
		}
	}
	return nil
}

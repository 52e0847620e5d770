package live

// Checks are the commands of if= that run, and the runs that wait because as many commands of
// their user run as may. The zero value has none.
type Checks struct {
	users map[string]*userChecks
	ended []string // users of whom a command has ended since Next had none left
}

type userChecks struct {
	running int
	waiting []*Run // oldest first; some may have been dropped since
}

// Begin reports whether the command for a run may begin: if fewer than most of its user run, or
// most is 0. Otherwise Next returns the run later.
func (c *Checks) Begin(r *Run, most int) bool {
	u := c.users[r.User]
	if u == nil {
		if c.users == nil {
			c.users = map[string]*userChecks{}
		}
		u = &userChecks{}
		c.users[r.User] = u
	}
	if most > 0 && u.running >= most {
		u.waiting = append(u.waiting, r)
		return false
	}
	u.running++
	r.Checking = true
	return true
}

// End notes that the command for a run has ended.
func (c *Checks) End(r *Run) {
	r.Checking = false
	u := c.users[r.User]
	u.running--
	if len(u.waiting) > 0 {
		c.ended = append(c.ended, r.User)
	} else if u.running == 0 {
		delete(c.users, r.User)
	}
}

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

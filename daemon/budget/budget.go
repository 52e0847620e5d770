// Package budget owns the users' shares of limited resources, such as memory for output: no user can
// use the share of another.
package budget

import "sync"

// Root is the user with a share of its own.
const Root = "root"

// Budget is an amount that users share, and another one for root alone. A user
// can hold at most as much as is left: one user alone can hold half of it, two
// users a third each, and there is always some left for the next one. Its methods
// may be called from any goroutine.
type Budget struct {
	mu    sync.Mutex
	left  int64 // for users other than root; below zero after Add
	root  int64 // likewise for root
	users map[string]int64
}

// New returns a Budget of an amount for all users other than root, and another
// one for root.
func New(users, root int64) *Budget {
	return &Budget{left: users, root: root, users: map[string]int64{}}
}

// Extend adds to the amount of users other than root, and to that of root.
func (b *Budget) Extend(users, root int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += users
	b.root += root
}

// Take takes n for a user, if the user's share allows that.
func (b *Budget) Take(user string, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.fits(user, n) {
		return false
	}
	b.move(user, n)
	return true
}

// Fits reports whether Take would succeed now.
func (b *Budget) Fits(user string, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fits(user, n)
}

func (b *Budget) fits(user string, n int64) bool {
	if user == Root {
		return n <= b.root
	}
	return b.users[user]+n <= b.left-n
}

// Add takes n for a user, whether or not the user's share allows that. It reduces what the user can Take
// later.
func (b *Budget) Add(user string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.move(user, n)
}

// Return releases n of a user's share.
func (b *Budget) Return(user string, n int64) { b.Add(user, -n) }

// Held returns how much a user holds. That of root is not counted.
func (b *Budget) Held(user string) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.users[user]
}

func (b *Budget) move(user string, n int64) {
	if user == Root {
		b.root -= n
		return
	}
	b.left -= n
	if b.users[user] += n; b.users[user] == 0 {
		delete(b.users, user)
	}
}

// Lease is what one owner, such as a run, took from a Budget, until its last holder releases it. A
// nil *Lease is empty and ignores all requests.
type Lease struct {
	budget  *Budget
	user    string
	held    int64 // guarded by budget.mu, as is holders
	holders int
}

// Lease returns an empty lease for a user, with one holder.
func (b *Budget) Lease(user string) *Lease {
	return &Lease{budget: b, user: user, holders: 1}
}

// Grow takes n more, if the share of the user allows that.
func (l *Lease) Grow(n int64) bool {
	if l == nil {
		return true
	}
	l.budget.mu.Lock()
	defer l.budget.mu.Unlock()
	if !l.budget.fits(l.user, n) {
		return false
	}
	l.move(n)
	return true
}

// Add takes n more, or releases -n, whether or not the share allows that.
func (l *Lease) Add(n int64) {
	if l == nil {
		return
	}
	l.budget.mu.Lock()
	defer l.budget.mu.Unlock()
	l.move(n)
}

func (l *Lease) move(n int64) {
	l.held += n
	l.budget.move(l.user, n)
}

// Share adds a holder, who calls Release as well.
func (l *Lease) Share() *Lease {
	if l != nil {
		l.budget.mu.Lock()
		l.holders++
		l.budget.mu.Unlock()
	}
	return l
}

// Release ends the part of one holder, and reports whether it was the last one, which releases
// everything.
func (l *Lease) Release() (last bool) {
	if l == nil {
		return true
	}
	l.budget.mu.Lock()
	defer l.budget.mu.Unlock()
	l.holders--
	if l.holders == 0 {
		l.move(-l.held)
	}
	return l.holders == 0
}

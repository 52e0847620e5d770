// Package barred owns the search for users of crontabs that must not run jobs.
package barred

import (
	"context"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
)

// Users finds users that crontabs name and that must not run jobs. It is used by one goroutine at a
// time.
type Users struct {
	Accounts *account.Directory
	crontabs []*crontab.File // that users were taken from
	users    []string
	Previous map[string]event.Barred
}

// lookupsAtOnce bounds how many accounts a slow directory service is asked
// for together, and lookupTimeout how long for all of them: the daemon is not
// ready before, and a change of a crontab does not count before.
const (
	lookupsAtOnce = 4
	lookupTimeout = 6 * time.Second
)

// Find looks up all users of the crontabs and reports whether the result has changed. If a user
// cannot be looked up, the previous result stays. Initially no user is barred; starting a run fails
// then.
func (b *Users) Find(ctx context.Context, crontabs []*crontab.File, now time.Time) (barred map[string]event.Barred, changed bool) {
	if !slices.Equal(b.crontabs, crontabs) {
		b.crontabs, b.users = crontabs, usersOf(crontabs)
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	barred = map[string]event.Barred{}
	before := b.Previous
	var mu sync.Mutex
	var lookups sync.WaitGroup
	slots := make(chan struct{}, lookupsAtOnce)
	for _, user := range b.users {
		if a, ok := b.Accounts.Known(user); ok {
			if why := b.Accounts.Refusal(a, now); why != "" {
				mu.Lock()
				barred[user] = event.Barred{Reason: job.AccountRefused, Detail: why}
				mu.Unlock()
			}
			continue
		}
		slots <- struct{}{}
		lookups.Go(func() {
			defer func() { <-slots }()
			if refusal, ok := b.lookUp(ctx, user, now, before[user]); ok {
				mu.Lock()
				barred[user] = refusal
				mu.Unlock()
			}
		})
	}
	lookups.Wait()
	changed = !maps.Equal(barred, b.Previous)
	b.Previous = barred
	return barred, changed
}

func (b *Users) lookUp(ctx context.Context, user string, now time.Time, before event.Barred) (event.Barred, bool) {
	if ctx.Err() != nil {
		return before, before != event.Barred{}
	}
	a, err := b.Accounts.Find(ctx, user)
	if account.IsUnknown(err) {
		return event.Barred{Reason: job.NoUser, Detail: err.Error()}, true
	}
	if err != nil {
		return before, before != event.Barred{}
	}
	why := b.Accounts.Refusal(a, now)
	return event.Barred{Reason: job.AccountRefused, Detail: why}, why != ""
}

// usersOf names the accounts of crontabs, but for the daemon's own number, which
// in a container may have no name.
func usersOf(crontabs []*crontab.File) []string {
	seen := map[string]bool{}
	for _, t := range crontabs {
		last := "" // mostly the same for all of a crontab
		for i := range t.Entries {
			if user := t.Entries[i].User(); user != last {
				seen[user], last = true, user
			}
		}
	}
	delete(seen, strconv.Itoa(os.Geteuid()))
	return slices.Sorted(maps.Keys(seen))
}

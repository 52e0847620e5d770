package spool

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/account/accounttest"
)

// slowService finds every user, after a delay.
type slowService struct {
	accounttest.Users
	takes time.Duration
}

func (s slowService) Find(ctx context.Context, name string) (account.Account, error) {
	select {
	case <-time.After(s.takes):
		return s.Users.Find(ctx, name)
	case <-ctx.Done():
		return account.Account{}, ctx.Err()
	}
}

func TestScanAsksASlowServiceForManyAtOnce(t *testing.T) {
	needRoot(t)
	h := newCrontabDirs(t, crontab.Debian)
	h.write(h.system("root"), "* * * * * root true\n", 0o644, 0)
	const users = 50
	for i := range users {
		name := fmt.Sprintf("user%d", i)
		h.users[name] = 5000 + i
		h.write(h.user(name), "* * * * * true\n", 0o600, 5000+i)
	}
	for _, c := range []struct {
		takes    time.Duration
		crontabs int
	}{{500 * time.Millisecond, 1 + users}, {time.Hour, 1}} {
		synctest.Test(t, func(t *testing.T) {
			o := h.options()
			o.Accounts = slowService{h.users, c.takes}
			before := time.Now()
			s := OpenSource(o).Scan(t.Context())
			if took := time.Since(before); took > patience {
				t.Errorf("an answer takes %v: the scan took %v, want %v at most", c.takes, took, patience)
			}
			if len(s.Crontabs) != c.crontabs || len(s.Refused) != 1+users-c.crontabs {
				t.Errorf("an answer takes %v: %d crontabs, %d refused; want %d crontabs", c.takes, len(s.Crontabs), len(s.Refused), c.crontabs)
			}
			for _, r := range s.Refused {
				if r.Code != CodeUnchecked {
					t.Errorf("%s is refused for %s, want an account that cannot be looked up", r.Path, r.Code)
				}
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // too slow for all of them in one scan, and nothing is remembered
		o := h.options()
		o.Accounts = slowService{h.users, 2 * time.Second}
		s := OpenSource(o)
		for range 3 {
			s.Scan(t.Context())
			time.Sleep(time.Minute)
		}
		if n := len(s.Scan(t.Context()).Crontabs); n != 1+users {
			t.Errorf("after four scans there are %d crontabs, want %d", n, 1+users)
		}
	})
	delete(h.users, "user0")
	o := h.options()
	for _, r := range OpenSource(o).Scan(t.Context()).Refused {
		if r.Code != CodeOrphan {
			t.Errorf("%s is refused for %s, want an account that there is not", r.Path, r.Code)
		}
	}
}

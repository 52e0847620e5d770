package usercalls

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

func TestCallsOfAUserWaitForItsOwnOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			calls Calls
			mu    sync.Mutex
			began []string
		)
		free := make(chan struct{})
		add := func(user string) {
			calls.Add(user, func() {
				mu.Lock()
				began = append(began, user)
				mu.Unlock()
				<-free
			})
		}
		for range 2 * Limit {
			add("alice")
		}
		add("bob")
		synctest.Wait()
		slices.Sort(began)
		if want := append(slices.Repeat([]string{"alice"}, Limit), "bob"); !slices.Equal(began, want) {
			t.Errorf("the calls of %q began, want those of %q", began, want)
		}
		close(free)
		calls.Wait()
		if len(began) != 2*Limit+1 || len(calls.users) != 0 {
			t.Errorf("%d calls were made, and %d users have goroutines, want %d and 0", len(began), len(calls.users), 2*Limit+1)
		}
	})
}

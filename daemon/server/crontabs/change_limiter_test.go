package crontabs

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestChangesOfAUserLeaveTimeForOthers changes crontabs in a loop: they take a
// fifth of the time, and another user does not wait for them.
func TestChangesOfAUserLeaveTimeForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p changeLimiters
		begun := time.Now()
		for range 10 {
			end, err := p.begin(t.Context(), annUID)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond) // the change loads
			end()
		}
		if took, want := time.Since(begun), 10*100*time.Millisecond+9*400*time.Millisecond; took != want {
			t.Errorf("ten changes took %v, want %v", took, want)
		}
		begun = time.Now()
		end, err := p.begin(t.Context(), bobUID)
		if err != nil || time.Since(begun) != 0 {
			t.Errorf("another user waited %v: %v", time.Since(begun), err)
		}
		time.Sleep(time.Minute) // for a directory service
		end()
		begun = time.Now()
		if end, err = p.begin(t.Context(), bobUID); err != nil || time.Since(begun) != maxRest {
			t.Errorf("the next change waited %v, want %v: %v", time.Since(begun), maxRest, err)
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.begin(soon, bobUID); err == nil {
			t.Error("two changes of a user load at the same time")
		}
		end()
	})
}

package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
)

func TestStateIsKeptForTheJobsAccount(t *testing.T) {
	w := annsWorld(t)
	set := `{"job":"ann-job","key":"last","value":"NDcxMQ=="}`
	if _, status := asked[api.State](w, annUID, "POST", "/v1/state", "", set); status != http.StatusOK {
		t.Fatalf("ann sets: status %d", status)
	}
	for uid, want := range map[uint32]int{annUID: http.StatusOK, 0: http.StatusOK, bobUID: http.StatusNotFound} {
		s, status := asked[api.State](w, uid, "GET", "/v1/state", "job=ann-job&key=last", "")
		if status != want || status == http.StatusOK && string(s.Entries[0].Value) != "4711" {
			t.Errorf("uid %d reads %+v, status %d, want %d", uid, s, status, want)
		}
	}
	s, _ := asked[api.State](w, annUID, "GET", "/v1/state", "job=ann-job", "")
	if len(s.Entries) != 1 || s.Entries[0].Key != "last" || s.Entries[0].Size != 4 || s.Entries[0].Value != nil {
		t.Errorf("ann lists %+v, want one key without its value", s)
	}
	w.Load("#@ name=ann-job\n* * * * * bob true\n") // bob takes the name
	if _, status := asked[api.State](w, bobUID, "GET", "/v1/state", "job=ann-job&key=last", ""); status != http.StatusNotFound {
		t.Errorf("bob, whose job has the name now, reads ann's state: status %d, want 404", status)
	}
}

func TestStateIsDeletedOnce(t *testing.T) {
	w := annsWorld(t)
	asked[api.State](w, annUID, "POST", "/v1/state", "", `{"job":"ann-job","key":"last","value":""}`)
	if s, status := asked[api.State](w, annUID, "GET", "/v1/state", "job=ann-job&key=last", ""); status != http.StatusOK || s.Entries[0].Size != 0 {
		t.Errorf("an empty value: %+v, status %d", s, status)
	}
	for _, want := range []int{http.StatusOK, http.StatusNotFound} {
		if _, status := asked[api.State](w, annUID, "POST", "/v1/state", "", `{"job":"ann-job","key":"last","delete":true}`); status != want {
			t.Errorf("delete: status %d, want %d", status, want)
		}
	}
}

// heldStates does not finish a write of state before the test allows that.
type heldStates struct {
	*world
	writes  atomic.Int32
	release chan struct{}
}

func (h *heldStates) SetState(ctx context.Context, id job.ID, user, key string, value []byte, now time.Time) error {
	h.writes.Add(1)
	<-h.release
	return h.world.SetState(ctx, id, user, key, value, now)
}

// A user with many connections occupies the disk with one write at a time, and does not delay root. Runs
// do not wait for a query of their user.
func TestStateIsWrittenOnceAtATimeForEachUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := annsWorld(t)
		store := &heldStates{world: w, release: make(chan struct{})}
		s := w.serverOf(store)
		query := &call.Call{Peer: call.Peer{UID: annUID, Name: "ann"}, Request: httptest.NewRequest("GET", "/v1/jobs", nil), Writer: httptest.NewRecorder()}
		if err := query.Bound(t.Context(), call.Expensive, s.queries); err != nil {
			t.Fatal(err)
		}
		defer query.End()
		set := func(uid uint32, times int) {
			for range times {
				go func() {
					if status, text := w.walkOn(s, uid, "POST", "/v1/state", walked{body: `{"job":"ann-job","key":"last","value":""}`}); status != http.StatusOK {
						t.Errorf("uid %d: status %d, %s", uid, status, text)
					}
				}()
			}
		}
		for _, c := range []struct {
			uid         uint32
			times, want int32
		}{{annUID, 48, 1}, {0, 2, 3}} {
			set(c.uid, int(c.times))
			synctest.Wait()
			if n := store.writes.Load(); n != c.want {
				t.Errorf("after %d requests of uid %d there are %d writes at a time, want %d", c.times, c.uid, n, c.want)
			}
		}
		close(store.release)
		synctest.Wait()
		if n := store.writes.Load(); n != 50 {
			t.Errorf("%d writes, want 50", n)
		}
	})
}

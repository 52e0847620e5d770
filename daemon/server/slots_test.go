package server

import (
	"context"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/crontabs"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/store"
	"github.com/cronring/cronring/daemon/store/revision"
)

// slowWorld is a world whose loop answers after asks is closed, and whose plans of runs are ready after
// plans is closed.
type slowWorld struct {
	*world
	asks, plans chan struct{}
}

func (w *slowWorld) Ask(ctx context.Context, e event.Event) (effect.Answer, error) {
	<-w.asks
	return w.world.Ask(ctx, e)
}

func (w *slowWorld) Plan(ctx context.Context, start effect.Start) (api.Environment, error) {
	<-w.plans
	return w.world.Plan(ctx, start)
}

// begin sends a request as a user, and returns where its status arrives.
func (w *world) begin(s *Server, uid uint32, method, path string, q walked) <-chan int {
	status := make(chan int, 1)
	go func() {
		code, _ := w.walkOn(s, uid, method, path, q)
		status <- code
	}()
	return status
}

// While a request waits for the loop or for a process, other users compute. The same user's next expensive
// request waits, so that a user has only one such process.
func TestWaitingRequestsLetOthersCompute(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2)) // then one request computes at a time
	for _, name := range []string{
		"POST /v1/run", "POST /v1/stop", "POST /v1/pause", "POST /v1/ack", "POST /v1/retry", "POST /v1/redrive", "POST /v1/drop", "POST /v1/backfill",
		"GET /v1/env",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ready := make(chan struct{})
				w := &slowWorld{annsWorld(t), ready, ready}
				s := w.serverWith(w, w)
				method, path, _ := strings.Cut(name, " ")
				first := w.begin(s, annUID, method, path, request[name])
				synctest.Wait()
				others := w.begin(s, bobUID, "GET", "/v1/status", walked{})
				synctest.Wait()
				if len(others) == 0 {
					t.Error("bob's request waits for ann's")
				}
				second := w.begin(s, annUID, "GET", "/v1/env", request["GET /v1/env"])
				third := w.begin(s, annUID, "GET", "/v1/status", walked{})
				synctest.Wait()
				if len(first)+len(second)+len(third) > 0 {
					t.Errorf("ann's requests did not wait: %d, %d and %d have ended", len(first), len(second), len(third))
				}
				close(ready)
				for i, status := range []<-chan int{first, others, second, third} {
					if got := <-status; got != http.StatusOK {
						t.Errorf("request %d: status %d", i+1, got)
					}
				}
			})
		})
	}
}

// slowLetters is a store that reads a dead letter after ready is closed.
type slowLetters struct {
	*world
	ready chan struct{}
}

func (s slowLetters) DeadLetter(ctx context.Context, id job.RunID) (store.DeadLetter, bool, error) {
	<-s.ready
	return s.world.DeadLetter(ctx, id)
}

// While a request reads the dead letters that it runs again, it computes.
func TestReadingDeadLettersIsComputing(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2)) // then one request computes at a time
	synctest.Test(t, func(t *testing.T) {
		w := annsWorld(t)
		ready := make(chan struct{})
		s := w.serverOf(slowLetters{w, ready})
		first := w.begin(s, annUID, "POST", "/v1/redrive", walked{body: `{"all":true}`})
		synctest.Wait()
		others := w.begin(s, bobUID, "GET", "/v1/status", walked{})
		synctest.Wait()
		if len(first)+len(others) > 0 {
			t.Errorf("ann's request has ended: %t, bob's: %t; want that both wait", len(first) > 0, len(others) > 0)
		}
		close(ready)
		for i, status := range []<-chan int{first, others} {
			if got := <-status; got != http.StatusOK {
				t.Errorf("request %d: status %d", i+1, got)
			}
		}
	})
}

// cheap are the requests of users that do not wait for the same user's expensive request. Each does little,
// or has a limit of its own.
var cheap = []string{
	"GET /v1/health", "GET /v1/board", "POST /v1/backfill/stop", "GET /v1/state", "POST /v1/state", "POST /v1/emit", "POST /v1/beat",
	"GET /v1/crontab", "GET /v1/revision", "POST /v1/crontab/install", "POST /v1/crontab/remove", "POST /v1/crontab/edited", "POST /v1/undo",
}

// A user's requests that parse, search or copy much wait for each other.
func TestExpensiveRequestsWait(t *testing.T) {
	routes := map[string]bool{}
	for _, r := range newWorld(t, "").server().routes() {
		name := r.method + " " + r.path
		routes[name] = true
		if r.permission == admin { // admins are not limited
			continue
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asks, plans := make(chan struct{}), make(chan struct{})
				close(asks)
				w := &slowWorld{annsWorld(t), asks, plans}
				if request[name].crontab {
					annsCrontab(t, w.world)
				}
				s := w.serverWith(w, w)
				first := w.begin(s, annUID, "GET", "/v1/env", request["GET /v1/env"])
				synctest.Wait()
				second := w.begin(s, annUID, r.method, r.path, request[name])
				synctest.Wait()
				if waits := len(second) == 0; waits == slices.Contains(cheap, name) {
					t.Errorf("it waits for another request of its user: %t", waits)
				}
				close(plans)
				<-first
				<-second
			})
		})
	}
	for _, name := range cheap {
		if !routes[name] {
			t.Errorf("%s: there is no such request", name)
		}
	}
}

// slowAccounts and slowRevisions answer after ready is closed.
type slowAccounts struct {
	spool.Accounts
	ready chan struct{}
}

func (s slowAccounts) Find(ctx context.Context, name string) (account.Account, error) {
	<-s.ready
	return s.Accounts.Find(ctx, name)
}

type archive = crontabs.Revisions

type slowRevisions struct {
	archive
	ready chan struct{}
}

func (s slowRevisions) Revision(ctx context.Context, id int64) (revision.Revision, bool, error) {
	<-s.ready
	return s.archive.Revision(ctx, id)
}

// While a request for a crontab waits for a directory service, or for another large crontab of its user,
// other users compute.
func TestRequestsForCrontabsLetOthersCompute(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2)) // then one request computes at a time
	for what, test := range map[string]struct {
		slow                  func(o *Crontabs, ready chan struct{})
		first, second, others string
	}{
		"directory service": {func(o *Crontabs, ready chan struct{}) { o.Accounts = slowAccounts{o.Accounts, ready} }, "GET /v1/health", "GET /v1/revisions", "GET /v1/status"},
		"large crontab":     {func(o *Crontabs, ready chan struct{}) { o.Revisions = slowRevisions{o.Revisions, ready} }, "POST /v1/undo", "GET /v1/crontab", "GET /v1/crontab"},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := annsWorld(t)
				addCrontabs(t, w)
				installAnns(w, strings.Repeat("# "+strings.Repeat("x", 1021)+"\n", call.MaxBody/1024+1))
				ready := make(chan struct{})
				test.slow(w.crontabs, ready)
				s := w.server()
				begin := func(uid uint32, name string, q walked) <-chan int {
					method, path, _ := strings.Cut(name, " ")
					status := w.begin(s, uid, method, path, q)
					synctest.Wait()
					return status
				}
				first := begin(annUID, test.first, request[test.first])
				second := begin(annUID, test.second, walked{})
				others := begin(bobUID, test.others, walked{})
				if len(second) > 0 || len(others) == 0 {
					t.Errorf("ann's request has ended: %t, bob's: %t; want only bob's", len(second) > 0, len(others) > 0)
				}
				close(ready)
				for i, status := range []<-chan int{first, second, others} {
					if got := <-status; got != http.StatusOK {
						t.Errorf("request %d: status %d", i+1, got)
					}
				}
			})
		})
	}
}

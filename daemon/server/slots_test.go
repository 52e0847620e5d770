package server

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
)

// slowWorld is a world whose loop and whose plans of runs answer after ready is closed.
type slowWorld struct {
	*world
	ready chan struct{}
}

func (w *slowWorld) Ask(ctx context.Context, e event.Event) (effect.Answer, error) {
	<-w.ready
	return w.world.Ask(ctx, e)
}

func (w *slowWorld) Plan(ctx context.Context, start effect.Start) (api.Environment, error) {
	<-w.ready
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
				w := &slowWorld{annsWorld(t), make(chan struct{})}
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
				close(w.ready)
				for i, status := range []<-chan int{first, others, second, third} {
					if got := <-status; got != http.StatusOK {
						t.Errorf("request %d: status %d", i+1, got)
					}
				}
			})
		})
	}
}

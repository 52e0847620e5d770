package call

import (
	"net/http"
	"sync"
	"time"

	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/wake"
)

// Limits of all requests of each user who is not an admin. Without them, a user with many connections could keep
// the daemon busy with reading requests, and the loop would start jobs late.
const (
	requestRate  = 1000    // a second
	requestBurst = 200     // at the same time
	requestUnit  = 1 << 10 // each so many bytes of a request count as one more, and so does each header
)

// Requests limits how fast the requests of each user are answered: later ones wait. The zero value is ready to
// use.
type Requests struct{ of sync.Map } // by Peer.LimitKey: *requestShare

type requestShare struct {
	mu sync.Mutex
	budget.Bucket
}

// Wait waits until a request can be answered, and reports whether that took time. It returns an error if the
// caller has disconnected.
func (l *Requests) Wait(c *Call) (waited bool, err error) {
	if c.Peer.Admin {
		return false, nil
	}
	found, _ := l.of.LoadOrStore(c.Peer.LimitKey(), &requestShare{})
	s := found.(*requestShare)
	s.mu.Lock()
	delay := s.Reserve(time.Now(), requestCost(c.Request), requestRate, requestBurst)
	s.mu.Unlock()
	if delay == 0 {
		return false, nil
	}
	c.Patient()
	defer c.Hurry()
	return true, wake.Sleep(c.Request.Context(), delay)
}

// requestCost returns how many requests a request counts as. Bodies longer than MaxBody have other limits.
func requestCost(r *http.Request) int {
	body := int64(MaxBody)
	if r.ContentLength >= 0 {
		body = min(r.ContentLength, MaxBody)
	}
	cost := 1 + (int(body)+len(r.RequestURI))/requestUnit
	for _, values := range r.Header {
		cost += len(values)
	}
	return cost
}

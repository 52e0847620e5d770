package listen

import (
	"net"
	"slices"
	"sync"
	"time"

	"github.com/cronring/cronring/daemon/budget"
)

// Limits of the callers.
const (
	tokenRate           = 20 // requests a second with each token, on average
	unauthenticatedRate = 2  // requests a second without a valid token, of all callers together
	burst               = 5  // times the rate, at the same time
	maxActive           = 8  // requests that one token has at the same time
	maxUnauthenticated  = 64 // connections without a request that a token allows

	noteEvery = time.Minute // for calls beyond a limit
)

// allowance counts the requests with one token.
type allowance struct {
	budget.Bucket
	active int
	noted  time.Time // when a call beyond the limit was noted
}

// enter takes a request from an allowance, until leave returns it. If there are too many requests, it
// reports whether the audit log should have this one.
func (a *allowance) enter(now time.Time, rate float64) (ok, note bool) {
	if !a.Has(now, rate, burst*rate) || a.active >= maxActive {
		if note = now.Sub(a.noted).Abs() >= noteEvery; note {
			a.noted = now
		}
		return false, note
	}
	a.Spend(1)
	a.active++
	return true, false
}

// unauthenticated contains the connections without a request that a token allows, the oldest first.
// Every user of the host can open connections. At the limit, a new one closes the oldest, so that slow
// callers do not block others.
type unauthenticated struct {
	mu    sync.Mutex
	conns []net.Conn
}

func (g *unauthenticated) add(c net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.conns = append(without(g.conns, c), c)
	if len(g.conns) > maxUnauthenticated {
		g.conns[0].Close()
		g.conns = slices.Delete(g.conns, 0, 1)
	}
}

func (g *unauthenticated) remove(c net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.conns = without(g.conns, c)
}

func without(conns []net.Conn, c net.Conn) []net.Conn {
	return slices.DeleteFunc(conns, func(other net.Conn) bool { return other == c })
}

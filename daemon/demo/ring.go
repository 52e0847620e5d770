package demo

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/simulated"
)

// ring is a ring of three hosts. Its other members have no daemons.
type ring struct{ host *simulated.World }

var errInvented = errors.New("the other members of the demo's ring are invented")

// Status returns three members that are up.
func (r ring) Status() api.Ring {
	since := r.host.Health().Started
	member := func(name string, rtt, clock time.Duration) api.Member {
		return api.Member{ID: name, Name: name, Addr: name + ":7946", State: api.MemberUp, Since: since, Weight: 1,
			Version: api.Release(), RTT: rtt, Clock: clock, Labels: map[string]string{"rack": name[3:]}}
	}
	return api.Ring{Name: "shop", Mode: api.RingAvailable, Self: "db-01", Joined: true, SafeLoss: 2, Members: []api.Member{
		member("db-01", 0, 0), member("db-02", 400*time.Microsecond, 2*time.Millisecond), member("db-03", 700*time.Microsecond, -time.Millisecond),
	}}
}

// Taken returns no occurrence.
func (ring) Taken(job.Key) (due time.Time, by string, ok bool) { return time.Time{}, "", false }

// Change changes nothing.
func (ring) Change(context.Context, api.RingRequest) (api.RingDone, error) {
	return api.RingDone{}, &api.Error{Kind: api.NotAllowed, What: "cannot change the ring of the demo", Why: errInvented.Error()}
}

// Transport returns a transport on which no member answers.
func (r ring) Transport() http.RoundTripper { return r }

// RoundTrip fails.
func (ring) RoundTrip(*http.Request) (*http.Response, error) { return nil, errInvented }

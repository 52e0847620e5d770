package demo

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/simulated"
	"github.com/cronring/cronring/gossip/holders"
)

// ring is a ring of three hosts. Its other members have no daemons.
type ring struct{ host *simulated.World }

var errInvented = errors.New("the other members of the demo's ring are invented")

// self is this host's name and ID in the ring.
const self = "db-01"

// membership returns the members as the engine sees them.
func membership() *holders.Membership {
	m := &holders.Membership{Self: self}
	for _, name := range []string{self, "db-02", "db-03"} {
		m.Members = append(m.Members, holders.Member{ID: name, Name: name, Weight: 1})
	}
	return m
}

// Status returns three members that are up.
func (r ring) Status() api.Ring {
	v, since := r.host.View(), r.host.Health().Started
	owns, _ := v.Shares(r.host.Now())
	member := func(name string, rtt, clock time.Duration) api.Member {
		return api.Member{ID: name, Name: name, Addr: name + ":7946", State: api.MemberUp, Since: since, Weight: 1,
			Version: api.Release(), RTT: rtt, Clock: clock, Labels: map[string]string{"rack": name[3:]}, Owns: owns[name]}
	}
	this := member(self, 0, 0)
	this.Runs = v.Busy()
	return api.Ring{Name: "shop", Mode: api.RingAvailable, Self: self, Joined: true, SafeLoss: 2, Jobs: v.RingJobs(), Members: []api.Member{
		this, member("db-02", 400*time.Microsecond, 2*time.Millisecond), member("db-03", 700*time.Microsecond, -time.Millisecond),
	}}
}

// owner returns the member that owns an occurrence of a ring job, and the scheduled time of that
// occurrence, which due returns for the job's index.
func (r ring) owner(key job.Key, due func(i int) time.Time) (owner exchange.Candidate, at time.Time, ok bool) {
	v := r.host.View()
	for i := range v.Len() {
		if k, shared := v.RingKey(i); shared && k == key {
			at = due(i)
			if o, ok := v.Owner(i, at); ok && len(o.Members) > 0 {
				return o.Members[0], at, true
			}
			break
		}
	}
	return owner, at, false
}

// decide grants each occurrence to its owner.
func (r ring) decide(c holders.Claim) holders.Claimed {
	owner, _, ok := r.owner(c.Key, func(int) time.Time { return c.Time() })
	if ok && !owner.Self {
		return holders.Claimed{Occurrence: c.Occurrence, Grant: holders.Refused, By: owner.ID}
	}
	return holders.Claimed{Occurrence: c.Occurrence, Grant: holders.Granted}
}

// Taken returns the newest occurrence of a job, if another member owns it.
func (r ring) Taken(key job.Key) (due time.Time, by string, ok bool) {
	owner, due, ok := r.owner(key, func(i int) time.Time {
		return timetable.Previous(r.host.View().Entry(i).Schedule, r.host.Now())
	})
	return due, owner.Name, ok && !owner.Self
}

// Change changes nothing.
func (ring) Change(context.Context, api.RingRequest) (api.RingDone, error) {
	return api.RingDone{}, &api.Error{Kind: api.NotAllowed, What: "cannot change the ring of the demo", Why: errInvented.Error()}
}

// Transport returns a transport on which no member answers.
func (r ring) Transport() http.RoundTripper { return r }

// RoundTrip fails.
func (ring) RoundTrip(*http.Request) (*http.Response, error) { return nil, errInvented }

package actions

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
)

// Limits of the events of one user. An event counts as many times as there are jobs that it starts, so
// that neither many events nor many jobs for one keep the daemon from starting the jobs of others.
const (
	eventRate  = 100 // a second
	eventBurst = 500
)

// emitLimit counts the events of users. The zero value is ready to use.
type emitLimit struct{ of sync.Map } // by Peer.LimitKey: *emitShare

type emitShare struct {
	mu sync.Mutex
	budget.Bucket
}

// take takes the cost of an event, the number of the jobs that it starts, from what a user has left.
// One event is allowed whenever something is left, whatever its cost is, and later ones wait until that
// is paid. Counting the jobs takes long, so refused events do not call cost.
func (l *emitLimit) take(user uint32, now time.Time, cost func() int) bool {
	found, _ := l.of.LoadOrStore(user, &emitShare{})
	s := found.(*emitShare)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.Has(now, eventRate, eventBurst) {
		return false
	}
	s.Spend(max(1, cost()))
	return true
}

// Emit starts the jobs that list an event in on=.
func (s *Actor) Emit(ctx context.Context, c *call.Call) error {
	r, err := call.Body[api.EmitRequest](c)
	if err != nil {
		return err
	}
	if c.Peer.Name == "" {
		return &api.Error{Kind: api.NotAllowed, What: "cannot emit an event", Why: "the host has no user " + c.Peer.String(), Fix: "emit it as a user of the host"}
	}
	ev := event.Emit{Name: r.Event, User: c.Peer.String(), Admin: c.Peer.Admin, By: c.Peer.String()}
	if r.User != "" && r.User != ev.User {
		if !c.Peer.Admin {
			return &api.Error{Kind: api.NotAllowed, What: "cannot emit an event of " + r.User, Why: "it is another user, and only administrators can do that", Fix: "leave --user out, and let the entry name you: on=event:" + ev.User + "/" + r.Event}
		}
		ev.User, ev.Admin = r.User, false
	}
	if err := option.CheckName(ev.Name); err != nil {
		return call.BadRequest("cannot emit such an event", err.Error())
	}
	if ev.Env, err = job.EventEnv(r.Env); err != nil {
		return call.BadRequest("cannot emit an event with such values", err.Error())
	}
	if !s.emits.take(c.Peer.LimitKey(), c.Now, func() int { return c.View.CountStartedBy(ev.Name, ev.User, ev.Admin) }) {
		return &api.Error{Kind: api.Conflict, What: "cannot emit an event", Why: fmt.Sprintf("this user emits more than %d in a second, where each job that one starts counts", eventRate), Fix: "try again in a few seconds"}
	}
	a, err := s.ask(ctx, c, ev)
	if err != nil {
		return err
	}
	if a.Err != nil { // the daemon ends, and the caller can try again with the next one
		return &api.Error{Kind: api.Unreachable, What: "cannot emit " + strconv.Quote(r.Event), Why: a.Err.Reason, Fix: "wait until the daemon is up again: cronring status"}
	}
	runs := slices.DeleteFunc(a.Runs, func(r job.Run) bool { return !c.SeesRun(&r) })
	return c.Answer(api.Emitted{V: api.Version, Event: ev.Name, User: ev.User, Runs: append([]job.Run{}, runs...)})
}

// Emissions lists the events that the caller has emitted.
func (s *Actor) Emissions(ctx context.Context, c *call.Call) error {
	user := c.Peer.String()
	if c.Peer.Admin {
		user = ""
	}
	all, err := s.store.Emissions(ctx, user)
	if err != nil {
		return err
	}
	return c.Answer(api.Emissions{V: api.Version, Events: all})
}

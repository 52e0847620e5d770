package gossip

import (
	"context"
	"errors"
	"time"

	"github.com/cronring/cronring/gossip/meta"
)

// lifecycle is how far this host is on its way into the ring, and out of it.
type lifecycle struct {
	entry    entryState
	exit     exitState
	joinBy   time.Time // when it joins even without most members
	joinedAt time.Time
	metAll   time.Time       // by then it has messages from all members
	idleFrom time.Time       // while it is drained: from then on its engine claims nothing
	waiting  []chan struct{} // closed when this member has left

	givesUp   bool // its final state has occurrences that it gave up
	confirmed bool // a member has all of its final state
}

// entryState is how far a host is on its way into the ring.
type entryState uint8

// The states, in order.
const (
	outside entryState = iota
	joining            // it searches for members, and requests their marks
	joined             // it claims occurrences, unless it is on its way out
)

// exitState is how far a member is on its way out of the ring.
type exitState uint8

// The states, in order.
const (
	staying   exitState = iota
	draining            // it claims nothing that comes due after Settle
	departing           // its engine gives up waiting occurrences
	final               // its final state is being sent
)

// Join makes this host a member again after Leave or Drain. It looks for members at
// the addresses in seeds, host:port, in addition to the configured ones.
func (r *Ring) Join(ctx context.Context, seeds ...string) error {
	return r.do(ctx, func() error {
		if len(r.stage.waiting) > 0 {
			return errors.New("this host is about to leave the ring")
		}
		for _, s := range seeds {
			r.search.AddSeed(s)
		}
		if r.list == nil {
			r.enter()
			return nil
		}
		r.search.Discover()
		if r.stage.exit >= draining {
			r.stage.exit = staying
			r.setPart()
		}
		return nil
	})
}

// enter makes this host a member, which at first sees no others.
func (r *Ring) enter() {
	now := r.o.Now()
	r.again = time.Time{}
	r.own.Since, r.own.Edited = now, time.Time{}
	r.stage.entry, r.stage.exit, r.stage.joinBy = joining, staying, time.Now().Add(joinWait)
	r.catchUp.begun, r.catchUp.asked, r.catchUp.answers = false, 0, 0
	r.clock.Last = r.moment()
	r.setPart()
	if err := r.open(); err != nil {
		if r.problem == "" {
			r.o.Log.Error("ring: cannot take part", "ring", r.o.Ring, "err", err)
		}
		r.problem, r.again = err.Error(), now.Add(bindAgain)
		return
	}
	r.problem = ""
	r.search.Restart()
	r.checkClock()
	r.search.Discover()
}

// seesMost reports whether most of the hosts that may be members are alive, this one included:
// the seeds, and the members that it knew last.
func (r *Ring) seesMost() bool { return 2*(len(r.alive())+1) > r.search.Expected(r.self)+1 }

// joinedNow lets this host claim occurrences when it sees most members and has received their
// marks, or when it has waited long enough. If all members were down, they begin together, so
// that they share the missed occurrences.
func (r *Ring) joinedNow() {
	if r.stage.entry != joining || r.list == nil {
		return
	}
	if !r.seesMost() && time.Now().Before(r.stage.joinBy) {
		return
	}
	if !r.catchUp.begun {
		r.requestInitialMarks()
	}
	if r.judge(); r.clock.Open && r.fitness.fault == "" {
		return
	}
	if len(r.parked.marks)+len(r.parked.newest) > 0 && time.Now().Before(r.catchUp.until) {
		return
	}
	// One answer is enough, because all members have almost the same marks.
	if r.catchUp.answers == 0 && (r.catchUp.pending > 0 || len(r.catchUp.requests) > 0) && time.Now().Before(r.catchUp.until) {
		return
	}
	r.stage.entry = joined
	r.stage.joinedAt, r.stage.metAll = r.o.Now(), time.Now().Add(Settle)
	r.setPart()
}

// setPart decides whether this member claims occurrences that come due, and announces that to
// the others.
func (r *Ring) setPart() {
	part := meta.Active
	switch {
	case r.fitness.fault != "" || r.stage.exit >= draining:
		part = meta.Draining
	case r.stage.entry == joining:
		part = meta.Joining
	}
	if part == meta.Draining && r.own.Part != meta.Draining {
		r.stage.idleFrom = time.Now().Add(Settle)
		r.after(Settle, func() { r.outbox.changed = true })
	}
	r.own.Part = part
	r.publish()
}

package gossip

import (
	"context"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/clocks"
)

// moment reads this host's clocks.
func (r *Ring) moment() job.Moment { return job.Moment{Wall: r.o.Now(), Up: r.o.Up()} }

// watchClock begins a check if the wall clock was set since the last call. It returns the time
// that has passed since then.
func (r *Ring) watchClock() (passed time.Duration) {
	passed, by, set := r.clock.Watch(r.moment())
	if set {
		r.o.Log.Warn("ring: this host's clock was set: it claims nothing until most members agree with it",
			"by", by.Round(time.Millisecond))
		r.checkClock()
	}
	return passed
}

// checkClock discards the samples of the other members' clocks, and requests new ones. Until most
// members agree, this one claims nothing.
func (r *Ring) checkClock() {
	r.clock.Begin(r.o.Up())
	r.sure.Store(false)
	for _, m := range r.members {
		m.samples = clocks.Samples{}
	}
	for _, m := range r.alive() {
		r.askClock(m)
	}
}

// askClock takes a sample of a member's clock without waiting for the next probe.
func (r *Ring) askClock(m *member) {
	to := m.peer()
	r.help(func(ctx context.Context) func() {
		ctx, cancel := context.WithTimeout(ctx, helloTime)
		defer cancel()
		begun := time.Now()
		b, err := r.o.Link.Ask(ctx, to, verbHello, nil)
		trip, now := time.Since(begun), r.o.Now()
		s, ok := clocks.Decode(b, trip, now)
		if err != nil || !ok {
			return nil // the next probe takes one
		}
		return func() {
			m.samples.Add(s)
			r.judge()
		}
	})
}

// encodeSample encodes the answer of this member to a probe.
func (r *Ring) encodeSample() []byte {
	return clocks.Encode(r.o.Now(), r.sure.Load(), r.load.Load(), r.viewSum.Load())
}

// clockFault returns why this member must claim nothing because of this host's clock, or "".
func (r *Ring) clockFault() string {
	var others []*clocks.Samples
	for _, m := range r.alive() {
		others = append(others, &m.samples)
	}
	return r.clock.Fault(others, r.o.Up(), r.fitness.fault)
}

// ClockIsSure reports whether this host's clock agrees with that of most members.
func (r *Ring) ClockIsSure() bool { return r.sure.Load() }

package gossip

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/register"
	"github.com/cronring/cronring/gossip/wire"
)

// confirmTime is the time for other members to confirm this member's clock before it announces
// that it claims nothing.
const confirmTime = 2 * time.Second

// clockCheck is the state of the comparison of this host's clock with the other members' clocks.
type clockCheck struct {
	open   bool          // the clock is not confirmed yet, since it was set or since the start
	since  time.Duration // Moment.Up at which the check began
	agreed job.Moment    // when most members last agreed; zero: they never did
	last   job.Moment    // when the clock was last read
}

// moment reads this host's clocks.
func (r *Ring) moment() job.Moment { return job.Moment{Wall: r.o.Now(), Up: r.o.Up()} }

// watchClock begins a check if the wall clock was set since the last call. It returns the time
// that has passed since then.
func (r *Ring) watchClock() (passed time.Duration) {
	now := r.moment()
	passed = now.Up - r.clock.last.Up
	if now.Drift(r.clock.last) > register.MaxSkew {
		r.o.Log.Warn("ring: this host's clock was set: it claims nothing until most members agree with it",
			"by", (now.Wall.Sub(r.clock.last.Wall) - passed).Round(time.Millisecond))
		r.checkClock()
	}
	r.clock.last = now
	return passed
}

// checkClock discards the samples of the other members' clocks, and requests new ones. Until most
// members agree, this one claims nothing.
func (r *Ring) checkClock() {
	r.clock.open, r.clock.since = true, r.o.Up()
	r.sure.Store(false)
	for _, m := range r.members {
		m.samples = nil
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
		s, ok := decodeSample(b, trip, now)
		if err != nil || !ok {
			return nil // the next probe takes one
		}
		return func() {
			m.addSample(s)
			r.judge()
		}
	})
}

// encodeSample encodes the answer of this member to a probe: its clock, whether most members
// agree with it, the number of runs, and a digest of the members that it sees.
func (r *Ring) encodeSample() []byte {
	b := wire.AppendBool(wire.AppendTime(make([]byte, 0, 21), r.o.Now()), r.sure.Load())
	b = binary.BigEndian.AppendUint32(b, r.load.Load())
	return binary.BigEndian.AppendUint64(b, r.viewSum.Load())
}

// decodeSample decodes what encodeSample wrote, after a round trip that took trip. It ignores
// additional bytes, which later versions may write.
func decodeSample(b []byte, trip time.Duration, now time.Time) (s sample, ok bool) {
	r := wire.NewReader(b)
	theirs := r.Time()
	s = sample{offset: theirs.Add(trip / 2).Sub(now), trip: trip, sure: r.Bool(), load: int(r.Uint32()), viewSum: r.Uint64()}
	return s, r.Err() == nil && !theirs.IsZero() && trip >= 0
}

// clockFault returns why this member must claim nothing because of this host's clock, or "".
func (r *Ring) clockFault() string {
	if !r.clock.open {
		return barredBy(skew(r.members))
	}
	switch agrees, known := r.clockAgrees(); {
	case agrees:
		r.clock.open = false
		return ""
	case !known && r.o.Up()-r.clock.since < confirmTime:
		return r.fitness.fault
	case known && barredBy(skew(r.members)) != "":
		return barredBy(skew(r.members))
	}
	return "most members have not confirmed this host's clock since it was set or since the daemon started"
}

// clockAgrees reports whether the clocks of most members, this one included, agree with
// this host's, and whether all clocks are known. If no majority agrees, for instance when
// two hosts start with different times, the members whose clocks were confirmed before
// decide. If there are none, the median does.
func (r *Ring) clockAgrees() (agrees, known bool) {
	total, agree, asked, against := 1, 0, 0, false
	for _, m := range r.alive() {
		total++
		offset, ok := m.offset()
		switch {
		case !ok:
			continue
		case offset.Abs() <= register.MaxSkew:
			agree++
		case m.samples[len(m.samples)-1].sure:
			against = true
		}
		asked++
	}
	known = asked == total-1
	return agree >= total/2 || known && !against && barredBy(skew(r.members)) == "", known
}

// confirm records that the clock is correct. The engine is notified if the clock was set since
// the last notification.
func (r *Ring) confirm() {
	now := r.moment()
	if now.Drift(r.clock.agreed) > skewShown {
		r.outbox.changed = true
		r.clock.agreed = now
	}
	r.sure.Store(true)
}

// isEarly reports whether an occurrence is due further ahead of this host's clock than
// clocks may differ. While the clock is not confirmed, nothing is early.
func (r *Ring) isEarly(due int64) bool {
	return r.sure.Load() && due > r.o.Now().Add(register.MaxSkew).UnixNano()
}

// ClockIsSure reports whether this host's clock agrees with that of most members.
func (r *Ring) ClockIsSure() bool { return r.sure.Load() }

// barredBy returns why a member whose clock has this offset must not claim occurrences, or "".
func barredBy(off time.Duration) string {
	if off.Abs() <= register.MaxSkew {
		return ""
	}
	side := "behind"
	if off < 0 {
		side = "ahead of"
	}
	return fmt.Sprintf("this host's clock is %s %s the ring's", off.Abs().Round(100*time.Millisecond), side)
}

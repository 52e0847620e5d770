package clocks

import (
	"fmt"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/holders"
)

// SkewShown is the offset above which a clock is displayed as wrong.
const SkewShown = 250 * time.Millisecond

// confirmTime is the time for other members to confirm this member's clock before it announces
// that it claims nothing.
const confirmTime = 2 * time.Second

// Check is the state of the comparison of this host's clock with the other members' clocks.
type Check struct {
	Open   bool          // the clock is not confirmed yet, since it was set or since the start
	Agreed job.Moment    // when most members last agreed; zero: they never did
	Last   job.Moment    // when the clock was last read
	since  time.Duration // Moment.Up at which the check began
}

// Begin begins a check.
func (c *Check) Begin(up time.Duration) { c.Open, c.since = true, up }

// Watch returns the time that has passed since the last call, and by how much the wall clock was
// set since then. set reports whether that is so much that a check must begin.
func (c *Check) Watch(now job.Moment) (passed, by time.Duration, set bool) {
	passed = now.Up - c.Last.Up
	by = now.Wall.Sub(c.Last.Wall) - passed
	set = now.Drift(c.Last) > holders.MaxSkew
	c.Last = now
	return passed, by, set
}

// Fault returns why this member must claim nothing because of this host's clock, or "". A check
// ends when most members agree. Until the others had time to confirm the clock, the fault is
// the one from before.
func (c *Check) Fault(others []*Samples, up time.Duration, before string) string {
	barred := barredBy(skew(others))
	if !c.Open {
		return barred
	}
	switch agrees, known := agreement(others); {
	case agrees:
		c.Open = false
		return ""
	case !known && up-c.since < confirmTime:
		return before
	case known && barred != "":
		return barred
	}
	return "most members have not confirmed this host's clock since it was set or since the daemon started"
}

// Confirm records that the clock is correct, and reports whether it was set since the last time.
func (c *Check) Confirm(now job.Moment) bool {
	if now.Drift(c.Agreed) <= SkewShown {
		return false
	}
	c.Agreed = now
	return true
}

// skew returns how far the median of all members' clocks, this one's included, is ahead of this
// member's clock. If there are two medians, it returns the smaller difference, because two
// members cannot find out which of their clocks is wrong.
func skew(others []*Samples) time.Duration {
	offsets := []time.Duration{0}
	for _, s := range others {
		if o, ok := s.Offset(); ok {
			offsets = append(offsets, o)
		}
	}
	slices.Sort(offsets)
	low, high := offsets[(len(offsets)-1)/2], offsets[len(offsets)/2]
	if low.Abs() < high.Abs() {
		return low
	}
	return high
}

// agreement reports whether the clocks of most members, this one included, agree with
// this host's, and whether all clocks are known. If no majority agrees, for instance when
// two hosts start with different times, the members whose clocks were confirmed before
// decide. If there are none, the median does.
func agreement(others []*Samples) (agrees, known bool) {
	total, agree, asked, against := 1, 0, 0, false
	for _, s := range others {
		total++
		offset, ok := s.Offset()
		switch {
		case !ok:
			continue
		case offset.Abs() <= holders.MaxSkew:
			agree++
		case s.Last().Sure:
			against = true
		}
		asked++
	}
	known = asked == total-1
	return agree >= total/2 || known && !against && barredBy(skew(others)) == "", known
}

// barredBy returns why a member whose clock has this offset must not claim occurrences, or "".
func barredBy(off time.Duration) string {
	if off.Abs() <= holders.MaxSkew {
		return ""
	}
	side := "behind"
	if off < 0 {
		side = "ahead of"
	}
	return fmt.Sprintf("this host's clock is %s %s the ring's", off.Abs().Round(100*time.Millisecond), side)
}

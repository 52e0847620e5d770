package engine

import (
	"cmp"
	"maps"
	"slices"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/catalog"
)

// unfit returns the function that reports why this host cannot run an entry, or "".
func (ev *Load) unfit() func(*crontab.Entry) string {
	short := map[demand]string{}
	return func(entry *crontab.Entry) string {
		o := entry.Options()
		return cmp.Or(ev.Limits.shortOf(entry, short), ev.Unfit[o], ringFault(entry, o, ev.Ring))
	}
}

// ringFault returns why an entry with scope=ring must not run here at all, or "".
func ringFault(entry *crontab.Entry, o *option.Options, mode RingMode) string {
	switch {
	case o.Scope != option.ScopeRing:
		return ""
	case entry.Schedule == timetable.Reboot:
		return "scope=ring: each host starts by itself, so @reboot cannot be one member's"
	case o.Period != nil:
		return "scope=ring: each host has days of its own on which its periods ran, so a line that runs once in a period cannot be one member's"
	case mode == NoRing:
		return "scope=ring: this host is in no ring"
	case mode == Available && o.Partitioned == option.PartitionedHold:
		return "if-partitioned=hold needs voters: the ring's mode is available"
	}
	return ""
}

// isCandidate reports whether this host can run a ring job: its entry is neither
// disabled nor held, and its user exists here and may log in.
func (e *Engine) isCandidate(slot int) bool {
	o := e.jobs.Options(slot)
	_, barred := e.bars[e.jobs.Entry(slot).User()]
	return o.Enabled && o.Held == "" && !barred
}

// candidates returns the ring jobs whose users may run jobs here. For all other ring
// jobs, the other members do not wait for this one.
func (e *Engine) candidates() []catalog.Holding {
	if len(e.bars) == 0 {
		return e.jobs.Holdings()
	}
	var all []catalog.Holding
	for slot, h := range e.jobs.EachHolding() {
		if e.isCandidate(slot) {
			all = append(all, h)
		}
	}
	return all
}

// barUsers replaces the set of users that may not run jobs.
func (e *Engine) barUsers(users map[string]Barred) {
	before := e.candidates()
	e.bars = maps.Clone(users)
	if !slices.Equal(before, e.candidates()) {
		e.tellHost()
	}
}

package gossip

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/gossip/inbox"
	"github.com/cronring/cronring/gossip/memory"
	"github.com/cronring/cronring/gossip/meta"
)

// eligibility is the decision whether this member may claim occurrences.
type eligibility struct {
	fault   string // why it must not, or ""
	remedy  string // what a person can do about it
	clash   string // another host has this member's ID
	clashed time.Time
}

// conflict handles two hosts with the same ID, for example after a disk was copied. The
// host that joined later claims nothing.
func (r *Ring) conflict(c inbox.Conflict) {
	now := r.o.Now()
	if now.Sub(r.fitness.clashed) > conflictTime || c.ID == r.o.ID && r.fitness.clash == "" {
		r.o.Log.Error("ring: two hosts have one member ID; remove the file "+memory.IDFile+" of one of them and start it again",
			"member", c.ID, "host", c.Name, "addr", c.Addr)
		r.fitness.clashed = now
	}
	if c.ID == r.o.ID && c.Since.Before(r.own.Since) {
		r.fitness.clash, r.fitness.clashed = fmt.Sprintf("host %s at %s has this member's ID too", c.Name, c.Addr), now
		r.judge()
	}
}

// judge decides whether this member may claim occurrences.
func (r *Ring) judge() {
	if r.fitness.clash != "" && r.o.Now().Sub(r.fitness.clashed) > conflictTime {
		r.fitness.clash = ""
	}
	clock := r.clockFault()
	if clock == "" && !r.clock.Open {
		if r.clock.Confirm(r.moment()) {
			r.outbox.changed = true // notify the engine
		}
		r.sure.Store(true)
	} else {
		r.sure.Store(false)
	}
	barred := ""
	for _, fault := range []struct{ why, remedy string }{
		{r.fitness.clash, "remove the file " + memory.IDFile + " on one of the two hosts and restart cronring there"},
		{r.olderFault(), "upgrade cronring on that host"},
		{r.rulesFault(), "give ring.mode, ring.hold-off and ring.voters the same values on all members, then: systemctl restart cronring"},
		{clock, "set the clock: chronyc makestep"},
	} {
		if fault.why != "" {
			barred, r.fitness.remedy = fault.why, fault.remedy
			break
		}
	}
	if (barred == "") == (r.fitness.fault == "") {
		r.outbox.changed = r.outbox.changed || barred != r.fitness.fault
		r.fitness.fault = barred
		return
	}
	r.fitness.fault = barred
	if barred != "" {
		r.o.Log.Error("ring: this host takes no jobs of the ring: " + barred)
	} else {
		r.o.Log.Info("ring: this host takes jobs of the ring again")
	}
	r.setPart()
}

// rulesFault returns why this member must claim nothing because its rules differ from those of
// most members, or "". Members that do not answer count with their last known rules, because
// they may run jobs on the other side of a network partition. If two sets of rules are equally
// common, strict mode wins, and then the longer hold-off.
func (r *Ring) rulesFault() string {
	own := r.own.Rules
	most, by := own, map[meta.Rules][]string{own: {r.o.Name}}
	for _, p := range r.search.Peers() {
		if p.Rules.HoldOff > 0 {
			by[p.Rules] = append(by[p.Rules], p.Name)
		}
	}
	for rules, members := range by {
		if cmp.Or(cmp.Compare(len(members), len(by[most])), rules.Compare(most)) > 0 {
			most = rules
		}
	}
	if most == own {
		return ""
	}
	members := by[most]
	slices.Sort(members)
	return fmt.Sprintf("this host has %s, but most members have %s: %s", own, most, strings.Join(members[:min(len(members), 5)], ", "))
}

// olderTime is how long after its last message a host with an older message format is assumed to
// still run jobs of the ring. Hosts search for each other at least once a minute.
const olderTime = 2 * time.Minute

// olderFault returns why this member must claim nothing because of a host whose cronring is too
// old to be a member of this ring, or "". Such hosts form a separate ring, which runs the jobs
// until the last of them is upgraded.
func (r *Ring) olderFault() string {
	since := r.o.Now().Add(-olderTime)
	for _, o := range r.box.Outsiders() {
		if o.Ring == "" && o.Form < meta.Version && o.Seen.After(since) {
			return fmt.Sprintf("%s runs cronring %s, which cannot be in one ring with this version: it runs the jobs until it is upgraded", o.Name, cmp.Or(o.Version, "of an older version"))
		}
	}
	return ""
}

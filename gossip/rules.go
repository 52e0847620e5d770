package gossip

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Rules are the settings that must be the same on all members.
type Rules struct {
	Strict  bool          `json:"strict,omitempty"`
	HoldOff time.Duration `json:"hold_off"`
}

func (r Rules) String() string {
	mode := "available"
	if r.Strict {
		mode = "strict"
	}
	return fmt.Sprintf("mode %s and hold-off %s", mode, r.HoldOff)
}

// compare orders rules by how few runs they allow.
func (r Rules) compare(x Rules) int {
	switch {
	case r.Strict == x.Strict:
		return cmp.Compare(r.HoldOff, x.HoldOff)
	case r.Strict:
		return 1
	}
	return -1
}

// rulesFault returns why this member must claim nothing because its rules differ from those of
// most members, or "". Members that do not answer count with their last known rules, because
// they may run jobs on the other side of a network partition. If two sets of rules are equally
// common, strict mode wins, and then the longer hold-off.
func (r *Ring) rulesFault() string {
	own := r.own.rules
	most, by := own, map[Rules][]string{own: {r.o.Name}}
	for _, p := range r.search.peers {
		if p.Rules.HoldOff > 0 {
			by[p.Rules] = append(by[p.Rules], p.Name)
		}
	}
	for rules, members := range by {
		if cmp.Or(cmp.Compare(len(members), len(by[most])), rules.compare(most)) > 0 {
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
	for _, o := range r.box.otherForms() {
		if o.Form < metaVersion && o.seen.After(since) {
			return fmt.Sprintf("%s runs cronring %s, which cannot be in one ring with this version: it runs the jobs until it is upgraded", o.Name, cmp.Or(o.Version, "of an older version"))
		}
	}
	return ""
}

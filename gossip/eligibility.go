package gossip

import (
	"fmt"
	"time"
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
func (r *Ring) conflict(c conflict) {
	now := r.o.Now()
	if now.Sub(r.fitness.clashed) > conflictTime || c.id == r.o.ID && r.fitness.clash == "" {
		r.o.Log.Error("ring: two hosts have one member ID; remove the file "+idFile+" of one of them and start it again",
			"member", c.id, "host", c.name, "addr", c.addr)
		r.fitness.clashed = now
	}
	if c.id == r.o.ID && c.since.Before(r.own.since) {
		r.fitness.clash, r.fitness.clashed = fmt.Sprintf("host %s at %s has this member's ID too", c.name, c.addr), now
		r.judge()
	}
}

// judge decides whether this member may claim occurrences.
func (r *Ring) judge() {
	if r.fitness.clash != "" && r.o.Now().Sub(r.fitness.clashed) > conflictTime {
		r.fitness.clash = ""
	}
	clock := r.clockFault()
	if clock == "" && !r.clock.open {
		r.confirm()
	} else {
		r.sure.Store(false)
	}
	barred := ""
	for _, fault := range []struct{ why, remedy string }{
		{r.fitness.clash, "remove the file " + idFile + " on one of the two hosts and restart cronring there"},
		{r.olderFault(), "upgrade cronring on that host"},
		{r.rulesFault(), "give ring.mode and ring.hold-off the same values on all members, then: systemctl restart cronring"},
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

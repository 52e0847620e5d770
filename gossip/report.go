package gossip

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/holders"
	"github.com/cronring/cronring/gossip/meta"
)

// foldTime is the time for which changes of the membership are collected before they are published.
const foldTime = 100 * time.Millisecond

// unsentEvents have not reached the engine yet.
type unsentEvents struct {
	queue      []holders.Event
	changed    bool // the membership has changed since it was reported
	reported   time.Time
	newestFrom time.Time // newest occurrences before that are reported
	timer      *time.Timer
}

// reportMembership reports changes of the membership to the engine, at most every 100 ms.
func (r *Ring) reportMembership() {
	r.joinedNow()
	if !r.outbox.changed || r.stage.entry != joined && r.list != nil {
		return
	}
	now := time.Now()
	if wait := r.outbox.reported.Add(foldTime).Sub(now); wait > 0 {
		r.outbox.timer.Reset(wait)
		return
	}
	r.outbox.reported, r.outbox.changed = now, false
	r.emit(holders.Ring{Membership: r.membership(), Newest: r.newlyTaken()})
}

// newlyTaken returns the newest occurrence of each job that became known since the last call.
func (r *Ring) newlyTaken() map[job.Key]time.Time {
	now := r.o.Now()
	list := r.table.Newest(r.outbox.newestFrom)
	r.outbox.newestFrom = now
	if len(list) == 0 {
		return nil
	}
	newest := make(map[job.Key]time.Time, len(list))
	for _, o := range list {
		newest[o.Key] = time.Unix(0, o.Due).UTC()
	}
	return newest
}

// emit queues an event for the engine. A queued Ring is merged with a later one.
func (r *Ring) emit(e holders.Event) {
	if ring, ok := e.(holders.Ring); ok {
		r.outbox.queue = slices.DeleteFunc(r.outbox.queue, func(o holders.Event) bool {
			old, ok := o.(holders.Ring)
			if ok && old.Newest != nil {
				maps.Copy(old.Newest, ring.Newest)
				ring.Newest = old.Newest
			}
			return ok
		})
		e = ring
	}
	r.outbox.queue = append(r.outbox.queue, e)
}

// membership returns the members for the engine, or nil if this host is not in a ring.
func (r *Ring) membership() *holders.Membership {
	if r.list == nil {
		return nil
	}
	ms := &holders.Membership{Self: r.o.ID, HoldOff: r.own.Rules.HoldOff, Barred: r.fitness.fault, Clock: r.clock.Agreed}
	ms.Members = append(ms.Members, holders.Member{
		ID: r.o.ID, Name: r.o.Name, Labels: r.o.Labels, Weight: r.o.Weight,
		Draining: r.own.Part == meta.Draining && !time.Now().Before(r.stage.idleFrom),
	})
	for _, m := range r.alive() {
		ms.Members = append(ms.Members, m.membership())
	}
	slices.SortFunc(ms.Members, func(a, b holders.Member) int { return strings.Compare(a.ID, b.ID) })
	return ms
}

func (r *Ring) snapshot() *Snapshot {
	s := &Snapshot{Ring: r.o.Ring, Self: r.o.ID, Joined: r.stage.entry == joined, Barred: r.fitness.fault, Remedy: r.fitness.remedy, Problem: r.problem, Others: r.box.Outsiders()}
	if r.list == nil {
		return s
	}
	own := r.roster.Load()
	s.Members = append(s.Members, View{
		ID: r.o.ID, Meta: r.own, Address: r.self.String(),
		State: Alive, Changed: r.own.Since, Load: int(r.load.Load()),
	})
	for _, m := range r.members {
		s.Members = append(s.Members, m.view(own))
	}
	slices.SortFunc(s.Members, func(a, b View) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
	})
	return s
}

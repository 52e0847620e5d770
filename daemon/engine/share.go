package engine

import (
	"iter"
	"time"

	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/gossip/rendezvous"
)

// RingJobs returns the number of ring jobs.
func (v *View) RingJobs() int { return len(v.jobs.RingJobs()) }

// Holdings returns the ring jobs that this host may run, by their numbers.
func (v *View) Holdings() iter.Seq2[int, catalog.Holding] {
	return func(yield func(int, Holding) bool) {
		for slot, h := range v.jobs.EachHolding() {
			if _, barred := v.bars[v.jobs.Entry(slot).User()]; !barred && !yield(slot, h) {
				return
			}
		}
	}
}

// SameRing reports that both views have the same jobs and members.
func (v *View) SameRing(o *View) bool { return v.jobs == o.jobs && v.ranking == o.ranking }

// Shares counts the ring jobs that each member owns at an instant, by member ID, and the
// ring jobs that no member can take.
func (v *View) Shares(at time.Time) (of map[string]int, nobodys int) {
	of = map[string]int{}
	if v.ranking == nil {
		return of, 0
	}
	s := newRanking(v.ranking.Membership)
	for _, slot := range v.jobs.RingJobs() {
		i := rendezvous.First(rankKey(v.jobs, slot, at), s.nodes, s.weigher(v.jobs, slot))
		if i < 0 {
			nobodys++
			continue
		}
		of[s.Members[i].ID]++
	}
	return of, nobodys
}

// Owners returns a function that returns the host name of the owner of the occurrence of
// job i that is due at an instant, or "" if the job is not a ring job or has no owner.
// The function must not be called concurrently.
func (v *View) Owners() func(i int, at time.Time) string {
	if v.ranking == nil {
		return func(int, time.Time) string { return "" }
	}
	s := newRanking(v.ranking.Membership)
	return func(i int, at time.Time) string {
		slot := i
		if !v.jobs.InRing(slot) {
			return ""
		}
		first := rendezvous.First(rankKey(v.jobs, slot, at), s.nodes, s.weigher(v.jobs, slot))
		if first < 0 {
			return ""
		}
		return s.Members[first].Name
	}
}

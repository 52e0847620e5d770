package engine

import (
	"iter"
	"time"

	"github.com/cronring/cronring/gossip/rendezvous"
)

// RingJobs is the number of jobs whose occurrences are those of a ring.
func (v *View) RingJobs() int { return len(v.jobs.shared) }

// Holdings gives the ring jobs that this host may run, by their numbers.
func (v *View) Holdings() iter.Seq2[int, Holding] {
	return func(yield func(int, Holding) bool) {
		held := v.jobs.holdings()
		for _, slot := range v.jobs.shared {
			if len(held) == 0 {
				return
			}
			if held[0].Key != v.jobs.keys[slot] { // it is disabled or held
				continue
			}
			if !yield(int(slot), held[0]) {
				return
			}
			held = held[1:]
		}
	}
}

// SameRing reports that both views have the same jobs and members.
func (v *View) SameRing(o *View) bool { return v.jobs == o.jobs && v.seats == o.seats }

// Shares counts, by the members' IDs, the ring jobs that are theirs at an instant,
// and those that no member may take.
func (v *View) Shares(at time.Time) (of map[string]int, nobodys int) {
	of = map[string]int{}
	if v.seats == nil {
		return of, 0
	}
	s := newSeats(v.seats.Membership)
	for _, slot := range v.jobs.shared {
		i := rendezvous.First(v.jobs.rankKey(slot, at), s.nodes, s.weigher(v.jobs, slot, at))
		if i < 0 {
			nobodys++
			continue
		}
		of[s.Members[i].ID]++
	}
	return of, nobodys
}

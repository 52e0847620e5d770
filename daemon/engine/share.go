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
		for slot, h := range v.jobs.eachHeld() {
			if _, barred := v.bars[v.jobs.entry(slot).User()]; !barred && !yield(int(slot), h) {
				return
			}
		}
	}
}

// SameRing reports that both views have the same jobs and members.
func (v *View) SameRing(o *View) bool { return v.jobs == o.jobs && v.seats == o.seats }

// Shares counts, by the members' IDs, the ring jobs that are theirs at an instant,
// and those that no member may take. A job for the one of two that has less to do is
// that one's that it is when both are idle.
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

// Owners returns what names the members' hosts whose the occurrence of job i is that
// is due at an instant: the first as things are, and another one, or "", that it is
// if that has less to do by then. Both are "" for a job that is no ring's, or is
// nobody's. It is for one goroutine.
func (v *View) Owners() func(i int, at time.Time) (first, other string) {
	if v.seats == nil {
		return func(int, time.Time) (string, string) { return "", "" }
	}
	s := newSeats(v.seats.Membership)
	return func(i int, at time.Time) (string, string) {
		slot := int32(i)
		if !v.jobs.isShared(slot) {
			return "", ""
		}
		key, weigh := v.jobs.rankKey(slot, at), s.weigher(v.jobs, slot, at)
		first := rendezvous.First(key, s.nodes, weigh)
		if first < 0 {
			return "", ""
		}
		if !v.jobs.isForIdler(slot) {
			return s.Members[first].Name, ""
		}
		other := s.next(key, weigh, first, "")
		switch {
		case other < 0:
			return s.Members[first].Name, ""
		case s.isIdler(other, first):
			first, other = other, first
		}
		return s.Members[first].Name, s.Members[other].Name
	}
}

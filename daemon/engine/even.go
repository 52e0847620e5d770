package engine

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/gossip/rendezvous"
)

// uneven is from how many thousandths on a member's share is worth moving jobs for.
const uneven = 20

// Even finds the factors by which the shares of ring jobs become what the weights
// ask for at an instant. There are none if shares are within 2 % of that or less
// than one job, or if none are much better. It is an error if jobs and members are
// so many that more than so many steps were needed: see rendezvous.Even.
//
// What route=any shares out by occurrence needs no factors, and is not counted; nor
// is what route=least does, which goes by what members have to do.
func (v *View) Even(at time.Time, steps int) (map[string]rendezvous.Weight, error) {
	if v.seats == nil || len(v.seats.Members) < 2 {
		return nil, nil
	}
	s := newSeats(v.seats.Membership)
	if n := len(v.jobs.shared); n*len(s.Members) > steps {
		return nil, fmt.Errorf("%d jobs and %d members are too many to even the shares out", n, len(s.Members))
	}
	items, now := s.items(v.jobs, at), s.factorsAt(at)
	loads := rendezvous.Measure(items, s.nodes, now)
	if loads.Within(uneven) {
		return nil, nil
	}
	factors, ok := rendezvous.Even(items, s.nodes, now, steps)
	if !ok {
		return nil, nil
	}
	if better := rendezvous.Measure(items, s.nodes, factors); better.Off() > loads.Off()/4*3 {
		return nil, nil
	}
	all := make(map[string]rendezvous.Weight, len(factors))
	for i, f := range factors {
		all[s.Members[i].ID] = f
	}
	return all, nil
}

// items is the ring jobs as they are to be shared out at an instant.
func (s *seats) items(in *jobs, at time.Time) []rendezvous.Item {
	items := make([]rendezvous.Item, 0, len(in.shared))
	known := map[string][]rendezvous.Weight{} // so that equal ones are held once
	var word []byte
	for _, slot := range in.shared {
		size := 1
		if c := in.clans[slot]; c != nil {
			if size = len(c.slots); slot != c.first {
				continue
			}
		} else if in.entry(slot).Options().Route != crontab.RouteHash {
			continue
		}
		weigh := s.weigherBy(in, slot, at, nil)
		word = word[:0]
		for i := range s.nodes {
			word = binary.BigEndian.AppendUint64(word, uint64(weigh(i)))
		}
		weights, ok := known[string(word)]
		if !ok {
			for i := range s.nodes {
				weights = append(weights, weigh(i))
			}
			known[string(word)] = weights
		}
		items = append(items, rendezvous.Item{Key: in.rankKey(slot, at), Size: size, Weights: weights})
	}
	return items
}

// Evens tells whether it is this member that evens shares out: the first of those
// that stay.
func (v *View) Evens(at time.Time) bool {
	if v.seats == nil || v.seats.Barred != "" {
		return false
	}
	first := ""
	for i := range v.seats.Members {
		if m := &v.seats.Members[i]; m.Until.IsZero() && !at.Before(m.From) && (first == "" || m.ID < first) {
			first = m.ID
		}
	}
	return first == v.seats.Self
}

// SameShares reports that nothing has changed between two views that shares depend
// on.
func (v *View) SameShares(o *View) bool {
	if v.SameRing(o) {
		return true
	}
	if v.jobs != o.jobs || v.seats == nil || o.seats == nil || v.seats.Barred != o.seats.Barred {
		return false
	}
	return slices.EqualFunc(v.seats.Members, o.seats.Members, sameMember) && slices.EqualFunc(v.seats.Evenings, o.seats.Evenings, sameEvening)
}

func sameMember(a, b Member) bool {
	return a.ID == b.ID && a.Name == b.Name && a.Weight == b.Weight && a.From.Equal(b.From) && a.Until.Equal(b.Until) &&
		maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Lacks, b.Lacks) && maps.EqualFunc(a.Since, b.Since, time.Time.Equal)
}

func sameEvening(a, b Evening) bool { return a.From.Equal(b.From) && maps.Equal(a.Factors, b.Factors) }

// Turned reports that shares have become others between two instants, as it had been
// said: a member came or went, or an evening came into force.
func (v *View) Turned(from, to time.Time) bool {
	if v.seats == nil {
		return false
	}
	within := func(t time.Time) bool { return t.After(from) && !t.After(to) }
	return slices.ContainsFunc(v.seats.Members, func(m Member) bool { return within(m.From) || within(m.Until) }) ||
		slices.ContainsFunc(v.seats.Evenings, func(e Evening) bool { return within(e.From) })
}

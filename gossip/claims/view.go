package claims

import (
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/rendezvous"
)

// View is an exchange.View.
type View struct {
	jobs      *catalog.Catalog
	ranking   *ranking // nil: the ring is not known
	former    []*ranking
	undecided []exchange.Undecided
}

// View returns the ring as of the last Step.
func (r *Ring) View() exchange.View {
	v := &View{jobs: r.host.Jobs, ranking: r.ranking, former: r.former}
	for _, all := range r.stalled {
		for _, c := range all {
			if slot, ok := v.jobs.FindRing(c.Key); ok { // otherwise a load has removed the job
				v.undecided = append(v.undecided, exchange.Undecided{Job: v.jobs.ID(slot), Due: c.Time(), Why: c.why.Words()})
			}
		}
	}
	return v
}

// Undecided is part of exchange.View.
func (v *View) Undecided() []exchange.Undecided { return v.undecided }

// Others is part of exchange.View.
func (v *View) Others(key job.Key, tried []string) bool {
	slot, ok := v.jobs.FindRing(key)
	return ok && v.ranking != nil && len(tried) < mostTries-1 && v.ranking.hasOther(v.jobs, slot, slices.Clip(tried)...)
}

// TakesNothing is part of exchange.View.
func (v *View) TakesNothing() bool { return v.ranking.isDraining() }

// SameMembers is part of exchange.View.
func (v *View) SameMembers(o exchange.View) bool {
	x, ok := o.(*View)
	return ok && v.ranking == x.ranking
}

// Shares is part of exchange.View.
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

// Owners is part of exchange.View.
func (v *View) Owners() func(i int, at time.Time) string {
	if v.ranking == nil {
		return exchange.NoRing{}.Owners()
	}
	s := newRanking(v.ranking.Membership)
	return func(slot int, at time.Time) string {
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

// Owner is part of exchange.View.
func (v *View) Owner(i int, at time.Time) (owner exchange.Owner, ok bool) {
	return v.ownerAmong(v.ranking, i, at)
}

// OwnerThen is part of exchange.View.
func (v *View) OwnerThen(i int, at time.Time) (owner exchange.Owner, ok bool) {
	for _, s := range slices.Backward(v.former) {
		if !s.since.After(at) {
			return v.ownerAmong(s, i, at)
		}
	}
	return exchange.Owner{}, false
}

func (v *View) ownerAmong(s *ranking, slot int, at time.Time) (owner exchange.Owner, ok bool) {
	if s == nil || !v.jobs.InRing(slot) {
		return exchange.Owner{}, false
	}
	s = newRanking(s.Membership)
	weigh := s.weigher(v.jobs, slot)
	for _, i := range rendezvous.Rank(rankKey(v.jobs, slot, at), s.nodes, weigh, nil) {
		owner.Members = append(owner.Members, s.candidate(i, ""))
	}
	for i := range s.Members {
		if weigh(i) == 0 {
			owner.Members = append(owner.Members, s.candidate(i, s.against(v.jobs, slot, i)))
		}
	}
	return owner, true
}

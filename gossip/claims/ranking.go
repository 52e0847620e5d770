package claims

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/holders"
	"github.com/cronring/cronring/gossip/rendezvous"
)

// ranks is the number of members that can claim an occurrence, one after the other.
const ranks = 4

// mostTries is the number of members that try to start an occurrence which cannot start.
const mostTries = 8

// ranking assigns occurrences to the members of a Membership. The owner is computed when an
// occurrence is due, so a change of members costs nothing for jobs that are not due.
// ranking is immutable, except that it caches results for components.
type ranking struct {
	*holders.Membership
	since     time.Time                     // when these members became the current ones
	nodes     []rendezvous.Node             // by place in Members
	self      int                           // -1: not among them
	connected map[*catalog.Component][]bool // whether each member may run its jobs
}

func newRanking(m *holders.Membership) *ranking {
	if m == nil {
		return nil
	}
	s := &ranking{Membership: m, nodes: make([]rendezvous.Node, len(m.Members)), self: -1, connected: map[*catalog.Component][]bool{}}
	for i := range m.Members {
		x := &m.Members[i]
		weight := rendezvous.One
		if x.Weight > 0 {
			weight = rendezvous.WeightOf(x.Weight)
		}
		s.nodes[i] = rendezvous.NewNode(x.ID, weight)
		if x.ID == m.Self {
			s.self = i
		}
	}
	return s
}

// mostFormer limits the memberships that are kept to find the owner of a past occurrence.
// They are kept in memory only.
const mostFormer = 100

// remember appends a membership to all, which is sorted by age, oldest first. If its
// members are those of the last one, it replaces that one.
func remember(all []*ranking, m *holders.Membership, now time.Time) []*ranking {
	s := newRanking(m)
	if s == nil {
		return all
	}
	s.since = now
	if last := len(all) - 1; last >= 0 && reflect.DeepEqual(all[last].Members, m.Members) {
		s.since, all = all[last].since, all[:last]
	}
	return append(slices.Clip(all[max(0, len(all)-mostFormer+1):]), s) // views share all
}

// own returns this member's rank for an occurrence among the members without those that tried to start
// it. The rank is ranks if at least that many members come before it, or -1 if this member must not
// claim the occurrence. nobody reports that no member may run the job and that this member must record
// that.
func (s *ranking) own(in *catalog.Catalog, slot int, due time.Time, tried []string) (rank int, nobody bool) {
	if s.self < 0 {
		return -1, false
	}
	weigh := s.weigher(in, slot, tried...)
	if weigh(s.self) > 0 {
		return s.rank(rankKey(in, slot, due), weigh), false
	}
	return -1, len(tried) == 0 && s.isFirst() && rendezvous.First(0, s.nodes, weigh) < 0
}

// rank returns this member's position; ranks: it is not among the first.
func (s *ranking) rank(key uint64, weigh func(i int) rendezvous.Weight) int {
	var passed [ranks]int
	for rank := range ranks {
		i := rendezvous.First(key, s.nodes, func(i int) rendezvous.Weight {
			if slices.Contains(passed[:rank], i) {
				return 0
			}
			return weigh(i)
		})
		if i == s.self {
			return rank
		}
		passed[rank] = i
	}
	return ranks
}

// isFirst reports whether this member is the one that records an occurrence which no
// member may run.
func (s *ranking) isFirst() bool {
	first := slices.MinFunc(s.Members, func(a, b holders.Member) int { return cmp.Compare(a.ID, b.ID) })
	return first.ID == s.Self
}

// rankKey returns the key that determines the owner of an occurrence. All occurrences of
// a component have the same owner, whatever route= is.
func rankKey(in *catalog.Catalog, slot int, due time.Time) uint64 {
	key := in.RingKey(slot).Uint64()
	switch c := in.Component(slot); {
	case c != nil:
		return c.Key.Uint64()
	case in.Entry(slot).Options().Route == option.RouteAny:
		return key ^ uint64(due.UnixNano())*0x9e3779b97f4a7c15
	}
	return key
}

// hasOther reports whether another member may take over an occurrence of a job. Runs that are connected
// by after= and on= end here, because the runs that they wait for are here.
func (s *ranking) hasOther(in *catalog.Catalog, slot int, tried ...string) bool {
	return in.Component(slot) == nil && s.hasOtherCandidate(in, slot, tried...)
}

// hasOtherCandidate reports whether another member may claim an occurrence of a job that no member has.
func (s *ranking) hasOtherCandidate(in *catalog.Catalog, slot int, tried ...string) bool {
	return rendezvous.First(0, s.nodes, s.weigher(in, slot, append(tried, s.Self)...)) >= 0
}

// weigher returns the weights of members for a job; a member with 0 must not run it, such as one of
// the members in without.
func (s *ranking) weigher(in *catalog.Catalog, slot int, without ...string) func(i int) rendezvous.Weight {
	lead, fits := slot, s.judge(in, slot)
	if c := in.Component(slot); c != nil {
		lead = c.Lead
	}
	prefer := in.Entry(lead).Options().Prefer
	return func(i int) rendezvous.Weight {
		m := &s.Members[i]
		if m.Draining || !fits(i) || slices.Contains(without, m.ID) {
			return 0
		}
		weight := s.nodes[i].Weight
		for _, p := range prefer {
			if m.Labels[p.Key] == p.Value {
				weight = weight.Times(rendezvous.WeightOf(p.Weight))
			}
		}
		return weight
	}
}

// judge returns whether members may run a job, and all jobs that it is connected with.
func (s *ranking) judge(in *catalog.Catalog, slot int) func(i int) bool {
	c := in.Component(slot)
	if c == nil {
		o, key := in.Entry(slot).Options(), in.RingKey(slot)
		return func(i int) bool { return s.fits(i, key, o) }
	}
	if s.connected[c] == nil {
		all := make([]bool, len(s.Members))
		for i := range all {
			all[i] = !slices.ContainsFunc(c.Jobs, func(slot int) bool { return !s.fits(i, in.RingKey(slot), in.Entry(slot).Options()) })
		}
		s.connected[c] = all
	}
	return func(i int) bool { return s.connected[c][i] }
}

func (s *ranking) fits(i int, key job.Key, o *option.Options) bool {
	m := &s.Members[i]
	_, lacks := m.Lacks[key]
	return !lacks && catalog.IsHere(o, m.Name) && catalog.Misfit(o, m.Labels) == ""
}

func (s *ranking) candidate(i int, against string) exchange.Candidate {
	return exchange.Candidate{ID: s.Members[i].ID, Name: s.Members[i].Name, Self: i == s.self, Against: against}
}

// against returns why a member cannot take the occurrences of a job.
func (s *ranking) against(in *catalog.Catalog, slot int, i int) string {
	m, slots := &s.Members[i], []int{slot}
	if c := in.Component(slot); c != nil {
		slots = c.Jobs
	}
	for _, x := range slots {
		o, of := in.Entry(x).Options(), job.ID("")
		if x != slot {
			of = in.ID(x)
		}
		short, _, _ := strings.Cut(m.Name, ".")
		lack, lacks := m.Lacks[in.RingKey(x)]
		switch {
		case lacks && lack.Theirs != job.Key{}:
			return job.AgainstOtherEntry(of)
		case lacks:
			return job.AgainstNoEntry(of)
		case !catalog.IsHere(o, m.Name):
			return job.AgainstHost(short, of)
		case catalog.Misfit(o, m.Labels) != "":
			return job.AgainstLabels(catalog.Misfit(o, m.Labels).Words(), of)
		}
	}
	if m.Draining {
		return job.AgainstDraining
	}
	return job.AgainstWeight
}

// hasMoreThan reports whether a member is present that was not before.
func (s *ranking) hasMoreThan(before *ranking) bool {
	return slices.ContainsFunc(s.Members, func(m holders.Member) bool {
		_, was := slices.BinarySearchFunc(before.Members, m.ID, func(x holders.Member, id string) int { return cmp.Compare(x.ID, id) })
		return !was
	})
}

// isDraining reports whether this member takes no new occurrences.
func (s *ranking) isDraining() bool { return s != nil && s.self >= 0 && s.Members[s.self].Draining }

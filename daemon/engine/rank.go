package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/rendezvous"
)

// ranks is how many members may take an occurrence, one after the other.
const ranks = 4

// seats is a Membership as occurrences are shared out among it. Who comes first
// is worked out when an occurrence is due: a change of members costs nothing for
// the jobs that are not. It is immutable but for what it remembers of clans.
type seats struct {
	*Membership
	nodes   []rendezvous.Node // by place in Members
	self    int               // -1: not among them
	differs bool              // somebody holds another entry of some key, or did
	clans   map[*clan][]fitness
}

// spot is where this member stands for an occurrence.
type spot struct {
	rank   int       // -1: it does not take part
	from   time.Time // when it will; zero: never
	nobody bool      // nor does anybody, and it is this member's to say so
}

// fitness is since when a member may take the occurrences of a job, if it may.
type fitness struct {
	fit  bool
	from time.Time
}

// clan is jobs that after= and on= connect: one member runs all of them.
type clan struct {
	key   job.Key // the smallest of theirs
	first int32   // whose that is
	slots []int32
}

func newSeats(m *Membership) *seats {
	if m == nil {
		return nil
	}
	s := &seats{Membership: m, nodes: make([]rendezvous.Node, len(m.Members)), self: -1, clans: map[*clan][]fitness{}}
	for i := range m.Members {
		x := &m.Members[i]
		weight := rendezvous.One
		if x.Weight > 0 {
			weight = rendezvous.WeightOf(x.Weight)
		}
		s.nodes[i] = rendezvous.NewNode(x.ID, weight)
		s.differs = s.differs || len(x.Differ)+len(x.Since) > 0
		if x.ID == m.Self {
			s.self = i
		}
	}
	return s
}

// differ tells whether a member holds another entry of a key, or did a moment before
// an occurrence: who comes first among those that hold the one need not among those
// that hold the other, and by a clock that is ahead it was due before the edit.
func (s *seats) differ(key job.Key, due time.Time) bool {
	return s.differs && slices.ContainsFunc(s.Members, func(m Member) bool {
		return m.Differ[key] || m.Since[key].After(due.Add(-waryFor))
	})
}

// shifts tells whether a member comes or goes at about an instant. Before it said so,
// or by its own clock, what is due then was another member's, which may have taken it:
// its word of that is on its way, or lost.
func (s *seats) shifts(due time.Time) bool {
	near := func(at time.Time) bool { return !at.IsZero() && due.Sub(at).Abs() < waryFor }
	return slices.ContainsFunc(s.Members, func(m Member) bool { return near(m.From) || near(m.Until) })
}

// spot finds where this member stands at an instant for an occurrence of a job, of
// which one member, unless that is "", wants to know no more.
func (s *seats) spot(in *jobs, slot int32, due, at time.Time, without string) spot {
	if s.self < 0 {
		return spot{rank: -1}
	}
	own := s.judge(in, slot)(s.self)
	if !own.fit {
		return spot{rank: -1, nobody: s.isFirst() && !s.anyFit(in, slot, at)}
	}
	if at.Before(own.from) {
		return spot{rank: -1, from: own.from}
	}
	key := in.rankKey(slot, due)
	rank := s.rank(key, s.weigher(in, slot, at), without)
	return spot{rank: rank, nobody: rank < 0 && s.isFirst() && !s.anyFit(in, slot, at)}
}

// rank is this member's place in line, in which one member does not stand, or -1 if
// it is not among the first.
func (s *seats) rank(key uint64, weigh func(i int) rendezvous.Weight, without string) int {
	var passed [ranks]int
	for rank := range ranks {
		i := rendezvous.First(key, s.nodes, func(i int) rendezvous.Weight {
			if slices.Contains(passed[:rank], i) || s.Members[i].ID == without {
				return 0
			}
			return weigh(i)
		})
		switch i {
		case s.self:
			return rank
		case -1:
			return -1
		}
		passed[rank] = i
	}
	return -1
}

// isFirst tells whether this member is the one that speaks where none acts.
func (s *seats) isFirst() bool {
	first := slices.MinFunc(s.Members, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
	return first.ID == s.Self
}

// anyFit tells whether a member may have a job that has not gone by an instant.
func (s *seats) anyFit(in *jobs, slot int32, at time.Time) bool {
	fitness := s.judge(in, slot)
	for i := range s.Members {
		if until := s.Members[i].Until; fitness(i).fit && (until.IsZero() || at.Before(until)) {
			return true
		}
	}
	return false
}

// rankKey is what an occurrence of a job is shared out by: a clan's are those of
// one member, whatever route= says.
func (s *jobs) rankKey(slot int32, due time.Time) uint64 {
	switch c := s.clans[slot]; {
	case c != nil:
		return c.key.Uint64()
	case s.entry(slot).Options().Route == crontab.RouteAny:
		return s.ringKeys[slot].Uint64() ^ uint64(due.UnixNano())*0x9e3779b97f4a7c15
	}
	return s.ringKeys[slot].Uint64()
}

// weigher says what members weigh for a job at an instant: 0 is no candidate.
func (s *seats) weigher(in *jobs, slot int32, at time.Time) func(i int) rendezvous.Weight {
	lead, fitness := slot, s.judge(in, slot)
	if c := in.clans[slot]; c != nil {
		lead = c.first
	}
	prefer := in.entry(lead).Options().Prefer
	return func(i int) rendezvous.Weight {
		m := &s.Members[i]
		if !m.Until.IsZero() && !at.Before(m.Until) {
			return 0
		}
		if f := fitness(i); !f.fit || at.Before(f.from) {
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

// judge tells of members whether they may have a job, and all that it is
// connected with.
func (s *seats) judge(in *jobs, slot int32) func(i int) fitness {
	c := in.clans[slot]
	if c == nil {
		o, key := in.entry(slot).Options(), in.ringKeys[slot]
		return func(i int) fitness { return s.fitness(i, key, o) }
	}
	if s.clans[c] == nil {
		s.clans[c] = s.fitnessOfAll(in, c)
	}
	return func(i int) fitness { return s.clans[c][i] }
}

func (s *seats) fitnessOfAll(in *jobs, c *clan) []fitness {
	all := make([]fitness, len(s.Members))
	for i := range all {
		all[i].fit = true
	}
	for _, slot := range c.slots {
		o := in.entry(slot).Options()
		for i := range all {
			f := s.fitness(i, in.ringKeys[slot], o)
			if all[i].fit = all[i].fit && f.fit; f.from.After(all[i].from) {
				all[i].from = f.from
			}
		}
	}
	return all
}

func (s *seats) fitness(i int, key job.Key, o *crontab.Options) fitness {
	m := &s.Members[i]
	if len(m.Lacks) > 0 && m.Lacks[key] || !isHere(o, m.Name) || misfit(o, m.Labels) != "" {
		return fitness{}
	}
	from := m.From
	if len(m.Since) > 0 && m.Since[key].After(from) {
		from = m.Since[key]
	}
	return fitness{true, from}
}

// misfit says what need= or avoid= has against a host with labels, or "".
func misfit(o *crontab.Options, labels map[string]string) string {
	for _, l := range o.Need {
		if labels[l.Key] != l.Value {
			return fmt.Sprintf("need= asks for %s:%s", l.Key, l.Value)
		}
	}
	for _, l := range o.Avoid {
		if value, ok := labels[l.Key]; ok && value == l.Value {
			return fmt.Sprintf("avoid= names %s:%s", l.Key, l.Value)
		}
	}
	return ""
}

// Owner is whose the occurrences of a ring job are.
type Owner struct {
	Job     job.ID
	Members []Candidate // those that may take it first, in that order; then the others
}

// Candidate is a member as far as a job goes.
type Candidate struct {
	ID, Name string
	Self     bool
	Against  string // why it does not take the job, or ""
}

// Owner is whose the occurrence of job i is that is due at an instant. It is not
// ok for a job that is not the ring's, or while nothing is known of that.
func (v *View) Owner(i int, at time.Time) (owner Owner, ok bool) {
	slot := int32(i)
	if v.seats == nil || !v.jobs.isShared(slot) {
		return Owner{}, false
	}
	s := newSeats(v.seats.Membership)
	owner.Job = v.jobs.id(slot)
	weigh := s.weigher(v.jobs, slot, at)
	for _, i := range rendezvous.Rank(v.jobs.rankKey(slot, at), s.nodes, weigh, nil) {
		owner.Members = append(owner.Members, s.candidate(i, ""))
	}
	for i := range s.Members {
		if weigh(i) == 0 {
			owner.Members = append(owner.Members, s.candidate(i, s.against(v.jobs, slot, i, at)))
		}
	}
	return owner, true
}

func (s *seats) candidate(i int, against string) Candidate {
	return Candidate{ID: s.Members[i].ID, Name: s.Members[i].Name, Self: i == s.self, Against: against}
}

// against is why a member does not take the occurrences of a job at an instant.
func (s *seats) against(in *jobs, slot int32, i int, at time.Time) string {
	m, slots := &s.Members[i], []int32{slot}
	if c := in.clans[slot]; c != nil {
		slots = c.slots
	}
	for _, x := range slots {
		o, of := in.entry(x).Options(), ""
		if x != slot {
			of = " of " + string(in.id(x)) + ", which it is connected with"
		}
		short, _, _ := strings.Cut(m.Name, ".")
		switch {
		case m.Differ[in.ringKeys[x]]:
			return "it holds another entry" + of
		case m.Lacks[in.ringKeys[x]]:
			return "it holds no such entry" + of
		case !isHere(o, m.Name):
			return "host=" + of + " does not name " + short
		case misfit(o, m.Labels) != "":
			return misfit(o, m.Labels) + of
		}
	}
	if !m.Until.IsZero() && !at.Before(m.Until) {
		return "it is about to leave, and takes nothing from " + m.Until.UTC().Format(time.RFC3339) + " on"
	}
	if f := s.judge(in, slot)(i); at.Before(f.from) {
		return "it takes part from " + f.from.UTC().Format(time.RFC3339) + " on"
	}
	return "it weighs nothing"
}

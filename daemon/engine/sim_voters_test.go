package engine

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/engine/memorystore"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/holders"
)

// vote sends the claims of a step to the ledger of the voters. Like package member it sends them in one
// request, so that either all of their answers arrive or none.
func (n *simMember) vote(claims []holders.Claim) {
	s := n.sim
	if !n.quorum() {
		n.soon(time.Second, func() { n.postpone(claims) })
		return
	}
	alive, life := n.views[claims[0].Occurrence], n.life
	gone := make([]map[string]uint32, len(claims))
	for i, c := range claims {
		gone[i] = n.gone(c, alive)
	}
	late := time.Duration(0)
	if s.late != nil {
		late = s.late(n, claims)
	}
	s.in(late+time.Duration(1+s.rng.IntN(300))*time.Millisecond, func() {
		grants := make([]grantOf, len(claims))
		for i, c := range claims {
			grants[i] = n.grant(c, gone[i], alive, life)
		}
		if n.life != life { // nobody waits for the answer
			return
		}
		wait := time.Duration(0)
		if s.delays != nil {
			wait = s.delays(claims)
		}
		n.soon(wait, func() {
			if !n.quorum() || s.lost(n) {
				n.postpone(claims)
				return
			}
			for i, c := range claims {
				n.voted(c.Occurrence, grants[i], gone[i][grants[i].by])
			}
		})
	})
}

func (n *simMember) postpone(claims []holders.Claim) {
	for _, c := range claims {
		n.tellRing(holders.Claimed{Occurrence: c.Occurrence, Grant: holders.Postponed})
	}
}

// gone returns the members from which a claim may take its occurrence: those that gave it up, with the
// starts in which they did, and the one named by the claim, if it is dead.
func (n *simMember) gone(c holders.Claim, alive map[string]bool) map[string]uint32 {
	from := map[string]uint32{}
	if !c.Again {
		return from
	}
	if c.From != "" && !alive[c.From] {
		from[c.From] = c.GaveUp
	}
	for _, m := range n.sim.nodes {
		if started, is := n.table.GaveUp(c.Occurrence, m.id); is {
			from[m.id] = started
		}
	}
	return from
}

// grant returns the voters' decision on a claim that this member made in a life while it saw the
// members in alive, and could take the occurrence from those in gone.
func (n *simMember) grant(c holders.Claim, gone map[string]uint32, alive map[string]bool, life int) grantOf {
	s, o := n.sim, c.Occurrence
	at, entry := o, n.meta.held[o.Key]
	g, ok := s.granted[o]
	if ok && g.by != n.id && g.entry != entry && !n.counts(g.by, o) {
		at = n.apart(o)
		g, ok = s.granted[at]
	}
	if ok && g.by == n.id {
		g.life = max(g.life, uint32(life))
		s.granted[at] = g
	}
	gaveUp, isGone := gone[g.by]
	if !ok || isGone && (gaveUp == 0 || g.life <= gaveUp) {
		s.tokens++
		if ok {
			entry = g.entry // a rerun under another entry leaves this one's as run
		}
		g = grantOf{of: o, entry: entry, by: n.id, life: uint32(life), token: s.tokens, at: s.now, saw: alive}
		s.granted[at] = g
		s.died[o] = s.died[o] || !n.up || n.life != life
	}
	return g
}

// voted handles the voters' answer to a claim. Unless gaveUp is 0, the holder had given the occurrence up
// after that start, and has taken it back.
func (n *simMember) voted(o exchange.Occurrence, g grantOf, gaveUp uint32) {
	if g.by == n.id {
		n.views[o], n.claimed[o] = g.saw, g.at
		n.progress(exchange.Progress{Occurrence: o, Phase: exchange.Taken})
		n.tellRing(holders.Claimed{Occurrence: o, Grant: holders.Granted, Token: g.token})
		return
	}
	held, by := holders.Mark{Occurrence: o, Member: g.by, Phase: exchange.Taken}, n.sim.of(g.by)
	n.send(by, func() { by.learn(held) })
	n.soon(refusalDelay, func() {
		n.learn(held)
		if gaveUp > 0 {
			n.report(n.table.TookBack(o, g.by, gaveUp))
		}
	})
	n.tellRing(holders.Claimed{Occurrence: o, Grant: holders.Refused, By: g.by})
}

// lost reports whether the voters' answer to a member is lost.
func (s *simRing) lost(n *simMember) bool {
	if s.loses != nil {
		return s.loses(n)
	}
	return s.rng.IntN(10) == 0
}

// apart returns the occurrence under which a claim is granted if another entry has one
// too.
func (n *simMember) apart(o exchange.Occurrence) exchange.Occurrence {
	entry := n.meta.held[o.Key]
	return exchange.Occurrence{Key: job.SumKey(append(o.Key[:], entry[:]...)), Due: o.Due}
}

// quorum reports whether a member can reach a majority of the voters.
func (n *simMember) quorum() bool {
	seen := 0
	for _, v := range n.sim.nodes[:n.sim.voters] {
		if v == n || n.sim.connected(n, v) && n.sim.connected(v, n) && !v.paused {
			seen++
		}
	}
	return seen > n.sim.voters/2
}

// newStrictRing returns a strict ring of three voters with a job that is due every so many seconds and
// runs on the first of them.
func newStrictRing(t *testing.T, seconds int) *simRing {
	s := newSimRing(t, rand.New(rand.NewPCG(17, 2)), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	s.faults.strict, s.voters = true, 3
	s.texts = []crontabText{{[]string{"sim"}, fmt.Sprintf("#@ name=one sec=*/%d scope=ring host=m0\n* * * * * one\n", seconds)}}
	for range 3 {
		s.add(len(s.nodes))
	}
	return s
}

// TestCrashLosesNoUndecidedOccurrence kills a member when it starts an occurrence, after the voters'
// answers to the one before it and the first answer to both were lost.
func TestCrashLosesNoUndecidedOccurrence(t *testing.T) {
	s := newStrictRing(t, 30)
	first := exchange.OccurrenceOf(keyIn("one"), s.begun.Add(30*time.Second))
	second := exchange.OccurrenceOf(keyIn("one"), s.begun.Add(time.Minute))
	answers := 0
	s.loses = func(n *simMember) bool {
		if n.clock().Before(second.Time()) {
			return true
		}
		answers++
		return answers == 1
	}
	for len(s.starts[second]) == 0 && s.now.Sub(s.begun) < 2*time.Minute {
		s.run(time.Millisecond)
	}
	s.nodes[0].kill(time.Second)
	s.run(time.Minute)
	if len(s.starts[first]) != 1 || len(s.starts[second]) != 1 {
		t.Errorf("the occurrences ran %d and %d times, want once each\n%s", len(s.starts[first]), len(s.starts[second]), s.story.String())
	}
}

// TestCrashLosesNoOlderClaimInFlight kills a member when it starts an occurrence, while the voters'
// answer to the one before it is on its way: they have granted both.
func TestCrashLosesNoOlderClaimInFlight(t *testing.T) {
	s := newStrictRing(t, 10)
	older := exchange.OccurrenceOf(keyIn("one"), s.begun.Add(20*time.Second))
	newer := exchange.OccurrenceOf(keyIn("one"), s.begun.Add(30*time.Second))
	s.loses = func(*simMember) bool { return false }
	s.delays = func(claims []holders.Claim) time.Duration {
		if len(claims) == 1 && claims[0].Occurrence == older {
			return 15 * time.Second
		}
		return 0
	}
	for len(s.starts[newer]) == 0 && s.now.Sub(s.begun) < 2*time.Minute {
		s.run(time.Millisecond)
	}
	s.nodes[0].kill(time.Second)
	s.run(time.Minute)
	if len(s.starts[older]) != 1 || len(s.starts[newer]) != 1 || s.starts[older][0].at.After(s.starts[newer][0].at) {
		t.Errorf("the occurrences ran %d and %d times, want once each, and the older one first\n%s", len(s.starts[older]), len(s.starts[newer]), s.story.String())
	}
}

// handOver lets no member start anything, and runs the ring until one has handed an occurrence over.
func (s *simRing) handOver() (owner *simMember, o exchange.Occurrence) {
	s.texts[0].text = strings.Replace(s.texts[0].text, " host=m0", "", 1)
	s.breaks = rand.New(rand.NewPCG(17, 3))
	s.run(20 * time.Second)
	for _, n := range s.nodes {
		n.edit(s.texts, 1)
		n.broken = true
	}
	for s.handed == 0 && s.now.Sub(s.begun) < time.Minute {
		s.run(time.Millisecond)
	}
	for x := range s.tries {
		owner, o = x.node, x.Occurrence
	}
	return owner, o
}

// TestRestartKeepsWhatCouldNotStart restarts a member that handed an occurrence over. The others died before
// one of them took it, and so it counts as failed there.
func TestRestartKeepsWhatCouldNotStart(t *testing.T) {
	s := newStrictRing(t, 30)
	s.voters = 1
	owner, o := s.handOver()
	for _, n := range s.nodes {
		if n != owner {
			n.kill(time.Minute)
		}
	}
	owner.kill(time.Second)
	owner.broken = false
	s.run(20 * time.Second)
	if owner != s.nodes[0] || s.unbegun[o].on != owner || len(s.starts[o]) > 0 {
		t.Errorf("the occurrence counts as failed on %v and ran %d times, want it failed on %s\n%s", s.unbegun[o].on, len(s.starts[o]), owner.id, s.story.String())
	}
}

// TestLateClaimGetsNothingThatWasTakenBack delays the claim of a member for an occurrence that another one
// could not start. Meanwhile that one is restarted with an empty history, and takes the occurrence back from
// a third member, which could not start it either.
func TestLateClaimGetsNothingThatWasTakenBack(t *testing.T) {
	s := newStrictRing(t, 30)
	s.loses = func(*simMember) bool { return false }
	arrived := false
	s.late = func(n *simMember, claims []holders.Claim) time.Duration {
		if claims[0].From == "" || arrived {
			return 0
		}
		arrived, n.broken = true, false // only the first claim after the owner's is late
		return 25 * time.Second
	}
	owner, o := s.handOver()
	s.run(500 * time.Millisecond) // the others receive that
	owner.kill(time.Second)
	owner.broken, owner.store = false, memorystore.New()
	s.run(28 * time.Second)
	if len(s.starts[o]) != 1 || s.handed != 2 {
		t.Errorf("the occurrence ran %d times after %d hand-overs, want once after two\n%s", len(s.starts[o]), s.handed, s.story.String())
	}
}

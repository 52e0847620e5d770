package holders

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/engine/exchange"
)

// simRing is a simulated ring of registers, on a network that delays, reorders and loses messages,
// and cuts links. It also does what the engines of the members would do.
type simRing struct {
	t     testing.TB
	seed  uint64
	r     *rand.Rand
	now   time.Duration
	queue []event
	nodes []*simMember
	start time.Time
	log   []string
}

type event struct {
	at   time.Duration
	what func()
}

type simMember struct {
	*Table
	id        string
	skew      time.Duration
	crashed   bool
	leaving   bool
	life      int    // of its daemon
	lost      bool   // it died after it had begun
	sees      []bool // who is live, as it believes
	cut       []bool // members that receive nothing
	granted   map[exchange.Occurrence]int
	begun     map[exchange.Occurrence]bool
	dropped   map[exchange.Occurrence]bool
	heard     map[exchange.Occurrence]bool // Others
	doubled   map[exchange.Occurrence][]string
	asking    map[exchange.Occurrence]bool
	inheritor map[exchange.Occurrence]bool // it became an orphan while this member asked
	orphan    map[exchange.Occurrence]Mark
}

func newSimRing(t testing.TB, seed uint64, n int) *simRing {
	s := &simRing{t: t, seed: seed, r: rand.New(rand.NewPCG(seed, 77)), start: time.Unix(1_800_000_000, 0)}
	for i := range n {
		id := fmt.Sprintf("%c%d", 'a'+i, s.r.IntN(10))
		s.nodes = append(s.nodes, &simMember{
			Table: New(id, DefaultLimits), id: id, skew: time.Duration(s.r.IntN(5000)) * time.Millisecond,
			sees: make([]bool, n), cut: make([]bool, n),
			granted: map[exchange.Occurrence]int{}, begun: map[exchange.Occurrence]bool{}, dropped: map[exchange.Occurrence]bool{}, heard: map[exchange.Occurrence]bool{},
			doubled: map[exchange.Occurrence][]string{}, asking: map[exchange.Occurrence]bool{}, inheritor: map[exchange.Occurrence]bool{}, orphan: map[exchange.Occurrence]Mark{},
		})
		for j := range n {
			s.nodes[i].sees[j] = j != i
		}
	}
	s.r.Shuffle(n, func(i, j int) {
		a, b := s.nodes[i], s.nodes[j]
		a.sees, b.sees = b.sees, a.sees
		s.nodes[i], s.nodes[j] = b, a
	})
	return s
}

func (s *simRing) ms(most int) time.Duration { return time.Duration(s.r.IntN(most)) * time.Millisecond }

func (s *simRing) in(d time.Duration, what func()) {
	s.queue = append(s.queue, event{s.now + d, what})
}

func (s *simRing) run() {
	for len(s.queue) > 0 {
		first := 0
		for i := range s.queue {
			if s.queue[i].at < s.queue[first].at {
				first = i
			}
		}
		ev := s.queue[first]
		s.queue = slices.Delete(s.queue, first, first+1)
		s.now = ev.at
		ev.what()
	}
}

func (s *simRing) clock(i int) time.Time { return s.start.Add(s.now + s.nodes[i].skew) }

func (s *simRing) note(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf("%8v ", s.now)+fmt.Sprintf(format, args...))
}

func (s *simRing) fail(format string, args ...any) {
	s.t.Helper()
	for _, line := range s.log {
		s.t.Log(line)
	}
	s.t.Fatalf("seed %d: "+format, append([]any{s.seed}, args...)...)
}

func (s *simRing) ask(i int, o exchange.Occurrence, again bool) {
	n := s.nodes[i]
	if n.asking[o] && again { // and if that is refused, it is an orphan still
		n.inheritor[o] = true
	}
	if n.crashed || n.leaving || n.asking[o] || n.begun[o] || n.granted[o] > 0 && !again {
		return
	}
	s.put(i, o, again)
}

// put puts the question to all that the member sees.
func (s *simRing) put(i int, o exchange.Occurrence, again bool) {
	n := s.nodes[i]
	var peers []string
	var to []int
	for j, sees := range n.sees {
		if sees {
			peers, to = append(peers, s.nodes[j].id), append(to, j)
		}
	}
	q, out := n.Ask(o, again, peers, s.clock(i))
	s.note("%s asks %v again=%v: %v by %s, %+v", n.id, peers, again, out.Grant, out.By, q)
	if out.Grant != Undecided {
		s.claimed(i, o, out)
		return
	}
	n.asking[o] = true
	for _, j := range to {
		s.question(i, j, q)
	}
}

// question goes to a member and its answer comes back, or nothing does.
func (s *simRing) question(i, j int, q Question) {
	heard, life, lives := false, s.nodes[i].life, s.nodes[j].life
	answer := func(a Answer) {
		if heard || s.nodes[i].crashed || s.nodes[i].life != life {
			return
		}
		heard = true
		out, news := s.nodes[i].Receive(s.nodes[j].id, a, s.clock(i))
		s.note("%s hears %d of %s (%+v): %v by %s", s.nodes[i].id, a.Reply, s.nodes[j].id, a.Mark, out.Grant, out.By)
		if out.Grant != Undecided {
			s.nodes[i].asking[q.Occurrence] = false
			s.claimed(i, q.Occurrence, out)
		}
		s.news(i, news)
	}
	s.in(500*time.Millisecond, func() { answer(Answer{Occurrence: q.Occurrence, Serial: q.Serial, Reply: Silent}) })
	s.in(s.ms(200), func() {
		if s.nodes[i].cut[j] || s.nodes[j].crashed || s.nodes[i].crashed {
			return
		}
		a := s.nodes[j].Answer(s.nodes[i].id, q, s.clock(j))
		s.note("%s answers %s: %d %+v", s.nodes[j].id, s.nodes[i].id, a.Reply, a.Mark)
		s.in(s.ms(200), func() {
			if !s.nodes[j].cut[i] && s.nodes[j].life == lives {
				answer(a)
			}
		})
	})
}

func (s *simRing) claimed(i int, o exchange.Occurrence, out Claimed) {
	n := s.nodes[i]
	if out.Grant != Granted {
		n.dropped[o] = n.dropped[o] || n.granted[o] > 0 && out.By != n.id
		if n.inheritor[o] {
			delete(n.inheritor, o)
			s.ask(i, o, true)
		}
		return
	}
	delete(n.inheritor, o)
	n.granted[o]++
	n.dropped[o] = false
	s.tell(i, n.ownMark(o))
	life := n.life
	waits := func() bool {
		return !n.crashed && !n.leaving && !n.dropped[o] && !n.begun[o] && !n.asking[o] && n.life == life
	}
	if s.r.IntN(3) == 0 { // it is unreachable for a moment, then requests confirmation of its occurrence
		s.in(s.ms(1500), func() {
			if waits() {
				s.put(i, o, false)
			}
		})
	}
	s.in(s.ms(1500), func() {
		if !waits() {
			return
		}
		n.begun[o] = true
		s.note("%s begins", n.id)
		m, news := n.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Begun, Attempt: 1, Run: int64(100 + i)}, s.clock(i))
		s.news(i, news)
		s.tell(i, m)
		s.in(s.ms(2000), func() {
			if n.crashed || n.life != life {
				return
			}
			m, news := n.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Over, Attempt: 1, Run: int64(100 + i)}, s.clock(i))
			s.news(i, news)
			s.tell(i, m)
		})
	})
}

// leave sends the final state of a member to all others, which then treat it as dead.
func (s *simRing) leave(j int) {
	n := s.nodes[j]
	n.Abandon()
	final := slices.DeleteFunc(n.Marks(time.Time{}, 100), func(m Mark) bool { return m.Member != n.id })
	s.note("%s leaves: %+v", n.id, final)
	n.leaving = true // it answers until all have heard it
	s.in(1500*time.Millisecond, func() { n.crashed = true })
	for i := range s.nodes {
		if i != j {
			s.in(s.ms(1500), func() {
				s.news(i, s.nodes[i].Learn(final, s.clock(i)))
				s.lose(i, j)
			})
		}
	}
}

// tell sends a message to all members; each copy may be lost.
func (s *simRing) tell(i int, m Mark) {
	for j := range s.nodes {
		if j == i || s.r.IntN(2) == 0 {
			continue
		}
		s.in(s.ms(300), func() {
			if !s.nodes[i].cut[j] && !s.nodes[j].crashed {
				s.news(j, s.nodes[j].Learn([]Mark{m}, s.clock(j)))
			}
		})
	}
}

func (s *simRing) news(i int, news Changes) {
	n := s.nodes[i]
	for _, o := range news.Others {
		n.heard[o] = true
	}
	for _, m := range news.Yielded {
		s.note("%s is deprived by %s", n.id, m.Member)
		if n.begun[m.Occurrence] {
			s.fail("%s is deprived of %v, which it began", n.id, m.Occurrence)
		}
		n.dropped[m.Occurrence] = true
	}
	for _, m := range news.Doubled {
		s.note("%s is doubled by %s", n.id, m.Member)
		n.doubled[m.Occurrence] = append(n.doubled[m.Occurrence], m.Member)
	}
	s.orphans(i, news.Orphans)
}

// orphans are claimed by each, at different times, unless they began.
func (s *simRing) orphans(i int, marks []Report) {
	for _, m := range marks {
		s.note("%s has the orphan %+v", s.nodes[i].id, m)
		n := s.nodes[i]
		n.orphan[m.Occurrence] = m.Mark
		if m.Phase == exchange.Taken {
			s.in(s.ms(1500), func() {
				if n.orphan[m.Occurrence] == m.Mark { // else another member took it meanwhile, and is lost too
					s.ask(i, m.Occurrence, true)
				}
			})
		}
	}
}

func (s *simRing) lose(i, j int) {
	if s.nodes[i].crashed || !s.nodes[i].sees[j] {
		return
	}
	s.nodes[i].sees[j] = false
	s.note("%s loses %s", s.nodes[i].id, s.nodes[j].id)
	s.orphans(i, s.nodes[i].Lose(s.nodes[j].id))
}

// compete lets the owner claim, or no member, and other members later, close enough in time that
// the claims meet.
func (s *simRing) compete(o exchange.Occurrence) {
	if s.r.IntN(3) > 0 {
		s.in(s.ms(1000), func() { s.ask(0, o, false) })
	}
	for i := range s.nodes {
		if s.r.IntN(3) > 0 || i == len(s.nodes)-1 {
			s.in(s.ms(1000), func() {
				if !s.nodes[i].heard[o] {
					s.ask(i, o, false)
				}
			})
		}
	}
}

func (s *simRing) occurrence(k uint64) exchange.Occurrence {
	return exchange.Occurrence{Key: numbered(k), Due: s.start.UnixNano()}
}

const simSeeds = 4000

// TestNeverTwoNeverNone checks the guarantees without a network partition.
func TestNeverTwoNeverNone(t *testing.T) {
	contended := 0
	for seed := range uint64(simSeeds) {
		s := newSimRing(t, seed, 2+int(seed%4))
		for k := range uint64(3) {
			s.compete(s.occurrence(k))
		}
		s.run()
		for k := range uint64(3) {
			o := s.occurrence(k)
			grants, refusedOnly := 0, 0
			for _, n := range s.nodes {
				if n.granted[o] > 0 {
					grants++
				} else {
					refusedOnly++
				}
				if len(n.doubled[o]) > 0 || n.dropped[o] {
					s.fail("%s says doubled %v, deprived %v", n.id, n.doubled[o], n.dropped[o])
				}
			}
			if grants != 1 {
				s.fail("occurrence %d was granted %d times, want once", k, grants)
			}
			contended += refusedOnly
		}
	}
	if contended == 0 {
		t.Error("nobody ever lost a claim")
	}
}

// TestLeavingLosesNothing lets members leave at any time: one member begins it.
func TestLeavingLosesNothing(t *testing.T) {
	taken := 0
	for seed := range uint64(simSeeds) {
		s := newSimRing(t, seed, 3+int(seed%3))
		o := s.occurrence(1)
		s.compete(o)
		for j := range 1 + s.r.IntN(len(s.nodes)-2) { // the last member stays, and claims
			s.in(s.ms(2500), func() {
				if s.nodes[j].granted[o] > 0 && !s.nodes[j].begun[o] {
					taken++
				}
				s.leave(j)
			})
		}
		s.run()
		began := 0
		for _, n := range s.nodes {
			if n.begun[o] {
				began++
			}
			if len(n.doubled[o]) > 0 {
				s.fail("%s says doubled %v", n.id, n.doubled[o])
			}
		}
		if began != 1 {
			s.fail("%d members began it, want 1", began)
		}
	}
	if taken == 0 {
		t.Error("nobody ever left with something that it had not begun")
	}
}

// TestCrashesLoseNothing kills members at any time: a live member begins each occurrence unless it
// was begun before, and at most one of the live members does.
func TestCrashesLoseNothing(t *testing.T) {
	again := 0
	for seed := range uint64(simSeeds) {
		s := newSimRing(t, seed, 3+int(seed%3))
		o := s.occurrence(1)
		s.compete(o)
		crashes := 1 + s.r.IntN(len(s.nodes)-2)
		for j := range crashes { // the last member lives, and claims
			s.in(s.ms(2500), func() {
				s.nodes[j].crashed = true
				s.note("%s crashes", s.nodes[j].id)
				for i := range s.nodes {
					s.in(time.Second+s.ms(2000), func() { s.lose(i, j) })
				}
			})
		}
		s.run()
		living, dead := 0, 0
		for _, n := range s.nodes {
			switch {
			case n.begun[o] && n.crashed:
				dead++
			case n.begun[o]:
				living++
			}
			if n.granted[o] > 0 && !n.crashed && dead == 0 {
				again++
			}
		}
		if living > 1 {
			s.fail("%d members that live began it, want at most 1", living)
		}
		if living+dead == 0 {
			s.fail("nobody began it")
		}
	}
	if again == 0 {
		t.Error("nobody that lives ever won")
	}
}

// TestRestartsLoseNothing kills the daemons of two members at any time and restarts them
// immediately: only the starts of their own runs survive. If a member dies immediately after a
// start, it might have sent no message, and another member begins the occurrence, too.
func TestRestartsLoseNothing(t *testing.T) {
	for seed := range uint64(simSeeds) {
		s := newSimRing(t, seed, 2+int(seed%4))
		o := s.occurrence(1)
		s.compete(o)
		for range 2 {
			s.in(s.ms(2500), func() { s.restart(s.r.IntN(len(s.nodes)), o) })
		}
		s.run()
		began, died := 0, 0
		for _, n := range s.nodes {
			switch {
			case n.begun[o] && n.lost:
				died++
			case n.begun[o]:
				began++
			}
		}
		if began > 1 || began+died == 0 {
			s.fail("%d members began it and live, and %d died after that; want at most one that lives, and somebody", began, died)
		}
	}
}

func (s *simRing) restart(j int, o exchange.Occurrence) {
	n := s.nodes[j]
	n.life++
	n.Table, n.granted, n.asking = New(n.id, DefaultLimits), map[exchange.Occurrence]int{}, map[exchange.Occurrence]bool{}
	s.note("%s starts anew, begun: %v", n.id, n.begun[o])
	if n.begun[o] {
		n.lost = true
		n.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Over, Vanished: true, Attempt: 1, Run: int64(100 + j)}, s.clock(j))
	} else {
		s.in(s.ms(1500), func() { s.ask(j, o, false) })
	}
	for i := range s.nodes {
		if i != j { // its earlier messages have arrived by now, or are lost
			s.in(300*time.Millisecond+s.ms(1500), func() {
				s.orphans(i, s.nodes[i].Lose(n.id))
				s.nodes[i].Regain(n.id)
			})
		}
	}
}

// TestCutsDoubleAtMostOnBothSides cuts the members in two, or in one direction,
// and heals that. Each side runs it at most once, and what ran twice is said so
// by both.
func TestCutsDoubleAtMostOnBothSides(t *testing.T) {
	doubles, deprived := 0, 0
	for seed := range uint64(simSeeds) {
		w := newSimRing(t, seed, 2+int(seed%4))
		o := w.occurrence(1)
		side := w.cutInTwo()
		w.compete(o)
		w.in(4*time.Second+w.ms(2000), func() { w.heal() })
		w.run()
		var began [2][]*simMember
		for i, n := range w.nodes {
			if n.begun[o] {
				began[side[i]] = append(began[side[i]], n)
			}
			if n.dropped[o] {
				deprived++
			}
		}
		if len(began[0])+len(began[1]) == 0 {
			w.fail("nobody began it")
		}
		if len(began[0]) > 1 || len(began[1]) > 1 {
			w.fail("%d and %d members of the sides began it, want at most one of each", len(began[0]), len(began[1]))
		}
		for s := range began {
			for _, n := range began[s] {
				var want []string
				for _, other := range began[1-s] {
					want = append(want, other.id)
					doubles++
				}
				if !slices.Equal(n.doubled[o], want) {
					w.fail("%s says it was doubled by %v, want %v", n.id, n.doubled[o], want)
				}
			}
		}
	}
	if doubles == 0 || deprived == 0 {
		t.Errorf("%d doubles and %d deprived were seen, want some of each", doubles, deprived)
	}
}

// cutInTwo cuts some members off at some instant, mostly both ways; each notices
// or not.
func (s *simRing) cutInTwo() []int {
	side := make([]int, len(s.nodes))
	for i := range side {
		side[i] = s.r.IntN(2)
	}
	oneWay := s.r.IntN(4) == 0
	s.in(s.ms(500), func() {
		s.note("cut %v, one way: %v", side, oneWay)
		for i := range s.nodes {
			for j := range s.nodes {
				if side[i] == side[j] {
					continue
				}
				s.nodes[i].cut[j] = !oneWay || side[i] == 0
				if s.r.IntN(2) == 0 {
					s.in(s.ms(2000), func() { s.lose(i, j) })
				}
			}
		}
	})
	return side
}

func (s *simRing) heal() {
	s.note("healed")
	for i := range s.nodes {
		for j := range s.nodes {
			s.nodes[i].cut[j] = false
		}
	}
	for i := range s.nodes {
		for j := range s.nodes {
			if i == j {
				continue
			}
			s.in(s.ms(500), func() {
				s.nodes[i].sees[j] = true
				s.nodes[i].Regain(s.nodes[j].id)
				s.news(i, s.nodes[i].Learn(s.nodes[j].Marks(time.Time{}, 100), s.clock(i)))
			})
			s.in(5*time.Second, func() {
				s.news(i, s.nodes[i].Learn(s.nodes[j].Marks(time.Time{}, 100), s.clock(i)))
			})
		}
	}
}

// TestEveryOrderOfTwoClaims tries all orders in which the messages of two claims can arrive.
func TestEveryOrderOfTwoClaims(t *testing.T) {
	paths := 0
	var explore func(prefix []int)
	explore = func(prefix []int) {
		m := newMeeting(t)
		for _, choice := range prefix {
			m.do(choice)
		}
		if len(m.pending) == 0 {
			paths++
			if len(m.granted) != 1 {
				t.Fatalf("order %v: granted to %v, want one", prefix, m.granted)
			}
			return
		}
		for i := range m.pending {
			explore(append(slices.Clip(prefix), i))
		}
	}
	explore(nil)
	t.Logf("%d orders", paths)
	if paths < 1000 {
		t.Errorf("only %d orders were tried", paths)
	}
}

// meeting has three registers; b and c claim.
type meeting struct {
	t       *testing.T
	nodes   map[string]*Table
	pending []func()
	granted []string
	now     time.Time
}

func newMeeting(t *testing.T) *meeting {
	m := &meeting{t: t, nodes: map[string]*Table{}, now: time.Unix(1_800_000_000, 0)}
	for _, id := range []string{"a", "b", "c"} {
		m.nodes[id] = New(id, DefaultLimits)
	}
	o := exchange.Occurrence{Key: numbered(1), Due: m.now.UnixNano()}
	m.pending = []func(){func() { m.ask("b", o) }, func() { m.ask("c", o) }}
	return m
}

func (m *meeting) do(i int) {
	what := m.pending[i]
	m.pending = slices.Delete(m.pending, i, i+1)
	what()
}

func (m *meeting) note(id string, out Claimed) {
	if out.Grant == Granted {
		m.granted = append(m.granted, id)
	}
}

func (m *meeting) ask(id string, o exchange.Occurrence) {
	var peers []string
	for _, peer := range []string{"a", "b", "c"} {
		if peer != id {
			peers = append(peers, peer)
		}
	}
	q, out := m.nodes[id].Ask(o, false, peers, m.now)
	m.note(id, out)
	if out.Grant != Undecided {
		return
	}
	for _, peer := range peers {
		m.pending = append(m.pending, func() {
			a := m.nodes[peer].Answer(id, q, m.now)
			m.pending = append(m.pending, func() {
				out, _ := m.nodes[id].Receive(peer, a, m.now)
				m.note(id, out)
			})
		})
	}
}

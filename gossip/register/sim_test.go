package register

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/engine/exchange"
)

// world is some registers with what their engines would do, over a network that
// delays, reorders and loses words, and cuts links.
type world struct {
	t     testing.TB
	seed  uint64
	r     *rand.Rand
	now   time.Duration
	queue []event
	nodes []*node
	start time.Time
	log   []string
}

type event struct {
	at   time.Duration
	what func()
}

type node struct {
	*Register
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

func newWorld(t testing.TB, seed uint64, n int) *world {
	w := &world{t: t, seed: seed, r: rand.New(rand.NewPCG(seed, 77)), start: time.Unix(1_800_000_000, 0)}
	for i := range n {
		id := fmt.Sprintf("%c%d", 'a'+i, w.r.IntN(10))
		w.nodes = append(w.nodes, &node{
			Register: New(id, DefaultLimits), id: id, skew: time.Duration(w.r.IntN(5000)) * time.Millisecond,
			sees: make([]bool, n), cut: make([]bool, n),
			granted: map[exchange.Occurrence]int{}, begun: map[exchange.Occurrence]bool{}, dropped: map[exchange.Occurrence]bool{}, heard: map[exchange.Occurrence]bool{},
			doubled: map[exchange.Occurrence][]string{}, asking: map[exchange.Occurrence]bool{}, inheritor: map[exchange.Occurrence]bool{}, orphan: map[exchange.Occurrence]Mark{},
		})
		for j := range n {
			w.nodes[i].sees[j] = j != i
		}
	}
	w.r.Shuffle(n, func(i, j int) {
		a, b := w.nodes[i], w.nodes[j]
		a.sees, b.sees = b.sees, a.sees
		w.nodes[i], w.nodes[j] = b, a
	})
	return w
}

func (w *world) ms(most int) time.Duration { return time.Duration(w.r.IntN(most)) * time.Millisecond }

func (w *world) in(d time.Duration, what func()) {
	w.queue = append(w.queue, event{w.now + d, what})
}

func (w *world) run() {
	for len(w.queue) > 0 {
		first := 0
		for i := range w.queue {
			if w.queue[i].at < w.queue[first].at {
				first = i
			}
		}
		ev := w.queue[first]
		w.queue = slices.Delete(w.queue, first, first+1)
		w.now = ev.at
		ev.what()
	}
}

func (w *world) clock(i int) time.Time { return w.start.Add(w.now + w.nodes[i].skew) }

func (w *world) note(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%8v ", w.now)+fmt.Sprintf(format, args...))
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	for _, line := range w.log {
		w.t.Log(line)
	}
	w.t.Fatalf("seed %d: "+format, append([]any{w.seed}, args...)...)
}

func (w *world) ask(i int, o exchange.Occurrence, again bool) {
	n := w.nodes[i]
	if n.asking[o] && again { // and if that is refused, it is an orphan still
		n.inheritor[o] = true
	}
	if n.crashed || n.leaving || n.asking[o] || n.begun[o] || n.granted[o] > 0 && !again {
		return
	}
	w.put(i, o, again)
}

// put puts the question to all that the member sees.
func (w *world) put(i int, o exchange.Occurrence, again bool) {
	n := w.nodes[i]
	var peers []string
	var to []int
	for j, sees := range n.sees {
		if sees {
			peers, to = append(peers, w.nodes[j].id), append(to, j)
		}
	}
	q, out := n.Ask(o, again, peers, w.clock(i))
	w.note("%s asks %v again=%v: %v by %s, %+v", n.id, peers, again, out.Grant, out.By, q)
	if out.Grant != Undecided {
		w.claimed(i, o, out)
		return
	}
	n.asking[o] = true
	for _, j := range to {
		w.question(i, j, q)
	}
}

// question goes to a member and its answer comes back, or nothing does.
func (w *world) question(i, j int, q Question) {
	heard, life, lives := false, w.nodes[i].life, w.nodes[j].life
	answer := func(a Answer) {
		if heard || w.nodes[i].crashed || w.nodes[i].life != life {
			return
		}
		heard = true
		out, news := w.nodes[i].Receive(w.nodes[j].id, a, w.clock(i))
		w.note("%s hears %d of %s (%+v): %v by %s", w.nodes[i].id, a.Reply, w.nodes[j].id, a.Mark, out.Grant, out.By)
		if out.Grant != Undecided {
			w.nodes[i].asking[q.Occurrence] = false
			w.claimed(i, q.Occurrence, out)
		}
		w.news(i, news)
	}
	w.in(500*time.Millisecond, func() { answer(Answer{Occurrence: q.Occurrence, Serial: q.Serial, Reply: Silent}) })
	w.in(w.ms(200), func() {
		if w.nodes[i].cut[j] || w.nodes[j].crashed || w.nodes[i].crashed {
			return
		}
		a := w.nodes[j].Answer(w.nodes[i].id, q, w.clock(j))
		w.note("%s answers %s: %d %+v", w.nodes[j].id, w.nodes[i].id, a.Reply, a.Mark)
		w.in(w.ms(200), func() {
			if !w.nodes[j].cut[i] && w.nodes[j].life == lives {
				answer(a)
			}
		})
	})
}

func (w *world) claimed(i int, o exchange.Occurrence, out Claimed) {
	n := w.nodes[i]
	if out.Grant != Granted {
		n.dropped[o] = n.dropped[o] || n.granted[o] > 0 && out.By != n.id
		if n.inheritor[o] {
			delete(n.inheritor, o)
			w.ask(i, o, true)
		}
		return
	}
	delete(n.inheritor, o)
	n.granted[o]++
	n.dropped[o] = false
	w.tell(i, n.ownMark(o))
	life := n.life
	waits := func() bool {
		return !n.crashed && !n.leaving && !n.dropped[o] && !n.begun[o] && !n.asking[o] && n.life == life
	}
	if w.r.IntN(3) == 0 { // it is unreachable for a moment, then requests confirmation of its occurrence
		w.in(w.ms(1500), func() {
			if waits() {
				w.put(i, o, false)
			}
		})
	}
	w.in(w.ms(1500), func() {
		if !waits() {
			return
		}
		n.begun[o] = true
		w.note("%s begins", n.id)
		m, news := n.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Begun, Attempt: 1, Run: int64(100 + i)}, w.clock(i))
		w.news(i, news)
		w.tell(i, m)
		w.in(w.ms(2000), func() {
			if n.crashed || n.life != life {
				return
			}
			m, news := n.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Over, Attempt: 1, Run: int64(100 + i)}, w.clock(i))
			w.news(i, news)
			w.tell(i, m)
		})
	})
}

// leave sends the final state of a member to all others, which then treat it as dead.
func (w *world) leave(j int) {
	n := w.nodes[j]
	n.Abandon()
	final := slices.DeleteFunc(n.Marks(time.Time{}, 100), func(m Mark) bool { return m.Member != n.id })
	w.note("%s leaves: %+v", n.id, final)
	n.leaving = true // it answers until all have heard it
	w.in(1500*time.Millisecond, func() { n.crashed = true })
	for i := range w.nodes {
		if i != j {
			w.in(w.ms(1500), func() {
				w.news(i, w.nodes[i].Learn(final, w.clock(i)))
				w.lose(i, j)
			})
		}
	}
}

// tell sends a message to all members; each copy may be lost.
func (w *world) tell(i int, m Mark) {
	for j := range w.nodes {
		if j == i || w.r.IntN(2) == 0 {
			continue
		}
		w.in(w.ms(300), func() {
			if !w.nodes[i].cut[j] && !w.nodes[j].crashed {
				w.news(j, w.nodes[j].Learn([]Mark{m}, w.clock(j)))
			}
		})
	}
}

func (w *world) news(i int, news Changes) {
	n := w.nodes[i]
	for _, o := range news.Others {
		n.heard[o] = true
	}
	for _, m := range news.Yielded {
		w.note("%s is deprived by %s", n.id, m.Member)
		if n.begun[m.Occurrence] {
			w.fail("%s is deprived of %v, which it began", n.id, m.Occurrence)
		}
		n.dropped[m.Occurrence] = true
	}
	for _, m := range news.Doubled {
		w.note("%s is doubled by %s", n.id, m.Member)
		n.doubled[m.Occurrence] = append(n.doubled[m.Occurrence], m.Member)
	}
	w.orphans(i, news.Orphans)
}

// orphans are claimed by each, at different times, unless they began.
func (w *world) orphans(i int, marks []Report) {
	for _, m := range marks {
		w.note("%s has the orphan %+v", w.nodes[i].id, m)
		n := w.nodes[i]
		n.orphan[m.Occurrence] = m.Mark
		if m.Phase == exchange.Taken {
			w.in(w.ms(1500), func() {
				if n.orphan[m.Occurrence] == m.Mark { // else another member took it meanwhile, and is lost too
					w.ask(i, m.Occurrence, true)
				}
			})
		}
	}
}

func (w *world) lose(i, j int) {
	if w.nodes[i].crashed || !w.nodes[i].sees[j] {
		return
	}
	w.nodes[i].sees[j] = false
	w.note("%s loses %s", w.nodes[i].id, w.nodes[j].id)
	w.orphans(i, w.nodes[i].Lose(w.nodes[j].id))
}

// compete lets the owner claim, or no member, and other members later, close enough in time that
// the claims meet.
func (w *world) compete(o exchange.Occurrence) {
	if w.r.IntN(3) > 0 {
		w.in(w.ms(1000), func() { w.ask(0, o, false) })
	}
	for i := range w.nodes {
		if w.r.IntN(3) > 0 || i == len(w.nodes)-1 {
			w.in(w.ms(1000), func() {
				if !w.nodes[i].heard[o] {
					w.ask(i, o, false)
				}
			})
		}
	}
}

func (w *world) occurrence(k uint64) exchange.Occurrence {
	return exchange.Occurrence{Key: numbered(k), Due: w.start.UnixNano()}
}

const simSeeds = 4000

// TestNeverTwoNeverNone checks the guarantees without a network partition.
func TestNeverTwoNeverNone(t *testing.T) {
	contended := 0
	for seed := range uint64(simSeeds) {
		w := newWorld(t, seed, 2+int(seed%4))
		for k := range uint64(3) {
			w.compete(w.occurrence(k))
		}
		w.run()
		for k := range uint64(3) {
			o := w.occurrence(k)
			grants, refusedOnly := 0, 0
			for _, n := range w.nodes {
				if n.granted[o] > 0 {
					grants++
				} else {
					refusedOnly++
				}
				if len(n.doubled[o]) > 0 || n.dropped[o] {
					w.fail("%s says doubled %v, deprived %v", n.id, n.doubled[o], n.dropped[o])
				}
			}
			if grants != 1 {
				w.fail("occurrence %d was granted %d times, want once", k, grants)
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
		w := newWorld(t, seed, 3+int(seed%3))
		o := w.occurrence(1)
		w.compete(o)
		for j := range 1 + w.r.IntN(len(w.nodes)-2) { // the last member stays, and claims
			w.in(w.ms(2500), func() {
				if w.nodes[j].granted[o] > 0 && !w.nodes[j].begun[o] {
					taken++
				}
				w.leave(j)
			})
		}
		w.run()
		began := 0
		for _, n := range w.nodes {
			if n.begun[o] {
				began++
			}
			if len(n.doubled[o]) > 0 {
				w.fail("%s says doubled %v", n.id, n.doubled[o])
			}
		}
		if began != 1 {
			w.fail("%d members began it, want 1", began)
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
		w := newWorld(t, seed, 3+int(seed%3))
		o := w.occurrence(1)
		w.compete(o)
		crashes := 1 + w.r.IntN(len(w.nodes)-2)
		for j := range crashes { // the last member lives, and claims
			w.in(w.ms(2500), func() {
				w.nodes[j].crashed = true
				w.note("%s crashes", w.nodes[j].id)
				for i := range w.nodes {
					w.in(time.Second+w.ms(2000), func() { w.lose(i, j) })
				}
			})
		}
		w.run()
		living, dead := 0, 0
		for _, n := range w.nodes {
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
			w.fail("%d members that live began it, want at most 1", living)
		}
		if living+dead == 0 {
			w.fail("nobody began it")
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
		w := newWorld(t, seed, 2+int(seed%4))
		o := w.occurrence(1)
		w.compete(o)
		for range 2 {
			w.in(w.ms(2500), func() { w.restart(w.r.IntN(len(w.nodes)), o) })
		}
		w.run()
		began, died := 0, 0
		for _, n := range w.nodes {
			switch {
			case n.begun[o] && n.lost:
				died++
			case n.begun[o]:
				began++
			}
		}
		if began > 1 || began+died == 0 {
			w.fail("%d members began it and live, and %d died after that; want at most one that lives, and somebody", began, died)
		}
	}
}

func (w *world) restart(j int, o exchange.Occurrence) {
	n := w.nodes[j]
	n.life++
	n.Register, n.granted, n.asking = New(n.id, DefaultLimits), map[exchange.Occurrence]int{}, map[exchange.Occurrence]bool{}
	w.note("%s starts anew, begun: %v", n.id, n.begun[o])
	if n.begun[o] {
		n.lost = true
		n.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Over, Vanished: true, Attempt: 1, Run: int64(100 + j)}, w.clock(j))
	} else {
		w.in(w.ms(1500), func() { w.ask(j, o, false) })
	}
	for i := range w.nodes {
		if i != j { // its earlier messages have arrived by now, or are lost
			w.in(300*time.Millisecond+w.ms(1500), func() {
				w.orphans(i, w.nodes[i].Lose(n.id))
				w.nodes[i].Regain(n.id)
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
		w := newWorld(t, seed, 2+int(seed%4))
		o := w.occurrence(1)
		side := w.cutInTwo()
		w.compete(o)
		w.in(4*time.Second+w.ms(2000), func() { w.heal() })
		w.run()
		var began [2][]*node
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
func (w *world) cutInTwo() []int {
	side := make([]int, len(w.nodes))
	for i := range side {
		side[i] = w.r.IntN(2)
	}
	oneWay := w.r.IntN(4) == 0
	w.in(w.ms(500), func() {
		w.note("cut %v, one way: %v", side, oneWay)
		for i := range w.nodes {
			for j := range w.nodes {
				if side[i] == side[j] {
					continue
				}
				w.nodes[i].cut[j] = !oneWay || side[i] == 0
				if w.r.IntN(2) == 0 {
					w.in(w.ms(2000), func() { w.lose(i, j) })
				}
			}
		}
	})
	return side
}

func (w *world) heal() {
	w.note("healed")
	for i := range w.nodes {
		for j := range w.nodes {
			w.nodes[i].cut[j] = false
		}
	}
	for i := range w.nodes {
		for j := range w.nodes {
			if i == j {
				continue
			}
			w.in(w.ms(500), func() {
				w.nodes[i].sees[j] = true
				w.nodes[i].Regain(w.nodes[j].id)
				w.news(i, w.nodes[i].Learn(w.nodes[j].Marks(time.Time{}, 100), w.clock(i)))
			})
			w.in(5*time.Second, func() {
				w.news(i, w.nodes[i].Learn(w.nodes[j].Marks(time.Time{}, 100), w.clock(i)))
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
	nodes   map[string]*Register
	pending []func()
	granted []string
	now     time.Time
}

func newMeeting(t *testing.T) *meeting {
	m := &meeting{t: t, nodes: map[string]*Register{}, now: time.Unix(1_800_000_000, 0)}
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

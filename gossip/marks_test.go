package gossip

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/clocks"
	"github.com/cronring/cronring/gossip/holders"
)

func (h *testMember) heard(match func(holders.Event) bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.events, match)
}

func (h *testMember) heardOthers(o exchange.Occurrence) bool {
	return h.heard(func(e holders.Event) bool {
		n, ok := e.(holders.Changes)
		return ok && slices.Contains(n.Others, o)
	})
}

// verdict returns the grant of a claim and who has it.
func (h *testMember) verdict(o exchange.Occurrence) (grant holders.Grant, by string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.events {
		if c, ok := e.(holders.Claimed); ok && c.Key == o.Key && c.Due == o.Due {
			return c.Grant, c.By
		}
	}
	return 0, ""
}

func (r *testRing) granted(h *testMember, o exchange.Occurrence, want holders.Grant) (by string) {
	r.t.Helper()
	r.await(2*time.Second, "the claim is answered", func() bool {
		g, _ := h.verdict(o)
		return g != 0
	})
	got, by := h.verdict(o)
	if got != want {
		r.t.Errorf("%s: grant %d, want %d", h.id, got, want)
	}
	return by
}

func occurrence(key uint64) exchange.Occurrence {
	return exchange.OccurrenceOf(numbered(key), time.Now())
}

func TestClaimsAreToldToOthers(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(4)
		o := occurrence(7)
		r.members[1].Take(holders.Claim{Occurrence: o})
		r.granted(r.members[1], o, holders.Granted)
		for _, h := range []*testMember{r.members[0], r.members[2], r.members[3]} {
			r.await(200*time.Millisecond, "others hear of it", func() bool { return h.heardOthers(o) })
		}
	})
}

// TestNewestTellsOfOthers: members that hold a job report its newest occurrence, which another
// member took.
func TestNewestTellsOfOthers(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(3)
		for _, h := range r.members[:2] {
			h.Take(holders.Holdings{Holdings: []catalog.Holding{{Key: numbered(7), Hash: numbered(1)}}})
		}
		r.await(time.Second, "its jobs are known", func() bool {
			_, has := r.members[0].roster.Load().Find(numbered(7))
			return has
		})
		o := occurrence(7)
		old := exchange.OccurrenceOf(numbered(7), o.Time().Add(-time.Second))
		r.members[1].Take(holders.Claim{Occurrence: o}, holders.Claim{Occurrence: old})
		r.granted(r.members[1], o, holders.Granted)
		for _, h := range []*testMember{r.members[0], r.members[2]} {
			r.await(time.Second, "others hear of it", func() bool { return h.heardOthers(o) && h.heardOthers(old) })
		}
		if due, by, ok := r.members[0].Newest(numbered(7)); !ok || !due.Equal(o.Time()) || by != r.members[1].o.Name {
			t.Errorf("got %s by %q (%v), want %s by %q", due, by, ok, o.Time(), r.members[1].o.Name)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		answered := make(chan struct{})
		if err := r.members[0].do(ctx, func() error { // a list of jobs requests each of them
			go func() { r.members[0].Newest(numbered(7)); close(answered) }()
			select {
			case <-answered:
			case <-ctx.Done():
				t.Error("it is answered by the goroutine that answers other members, want neither to wait for the other")
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		if _, by, ok := r.members[1].Newest(numbered(7)); ok {
			t.Errorf("who took it is told of %q, want nobody", by)
		}
		if _, by, ok := r.members[2].Newest(numbered(7)); ok {
			t.Errorf("who does not hold the job is told of %q, want nobody", by)
		}
		r.members[0].Take(holders.Holdings{})
		r.await(time.Second, "it is forgotten with the job", func() bool {
			_, _, ok := r.members[0].Newest(numbered(7))
			return !ok
		})
	})
}

func TestClaimIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(4)
		r.net.lose(1) // the mark does not arrive
		o := occurrence(7)
		r.members[1].Take(holders.Claim{Occurrence: o})
		r.granted(r.members[1], o, holders.Granted)
		fakeSleep(mostClaim)
		r.members[2].Take(holders.Claim{Occurrence: o})
		if by := r.granted(r.members[2], o, holders.Refused); by != r.members[1].id {
			t.Errorf("refused for %s, want %s", by, r.members[1].id)
		}
		free := occurrence(8)
		r.members[3].Take(holders.Claim{Occurrence: free})
		r.granted(r.members[3], free, holders.Granted)
	})
}

func TestClaimWithoutAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(3)
		fakeSleep(slowTime)
		r.members[2].stop() // not known to be gone yet
		r.takesBetween(occurrence(7), 0, leastClaim+100*time.Millisecond)
	})
}

// takesBetween has the first member claim an occurrence, which must be granted after a time from least to most.
func (r *testRing) takesBetween(o exchange.Occurrence, least, most time.Duration) {
	r.t.Helper()
	began := time.Now()
	r.members[0].Take(holders.Claim{Occurrence: o})
	r.granted(r.members[0], o, holders.Granted)
	if took := time.Since(began); took < least || took > most {
		r.t.Errorf("it took %s, want %s to %s", took, least, most)
	}
}

// busyFor keeps a member from answering for some time; the channel is closed afterwards.
func (h *testMember) busyFor(t *testing.T, d time.Duration) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		h.inRun(t, func() { fakeSleep(d) })
		close(over)
	}()
	synctest.Wait()
	return over
}

// After an answer that came too late, claims wait longer for the next ones.
func TestClaimWaitsForSlowAnswers(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		const slow = 800 * time.Millisecond
		r.ring(3)
		fakeSleep(slowTime)
		for i, want := range []time.Duration{leastClaim, slow, slow} {
			over := r.members[2].busyFor(t, slow)
			r.takesBetween(occurrence(uint64(i)), want, want+100*time.Millisecond)
			<-over
			fakeSleep(time.Second)
		}
		fakeSleep(slowTime)
		over := r.members[2].busyFor(t, slow)
		r.takesBetween(occurrence(7), leastClaim, leastClaim+100*time.Millisecond)
		<-over
	})
}

// While a claim waits for the answer of a slow member, the answer of another one that comes late counts.
func TestLateAnswerCountsWhileTheClaimWaits(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(3)
		fakeSleep(slowTime)
		a, b, c := r.members[0], r.members[1], r.members[2]
		over := c.busyFor(t, time.Second) // a waits longer for c from now on
		r.takesBetween(occurrence(1), leastClaim, leastClaim+100*time.Millisecond)
		<-over
		o := occurrence(7)
		r.net.lose(1) // the mark does not arrive
		b.Take(holders.Claim{Occurrence: o})
		r.granted(b, o, holders.Granted)
		fakeSleep(mostClaim)
		overB, overC := b.busyFor(t, 800*time.Millisecond), c.busyFor(t, 2*time.Second)
		a.Take(holders.Claim{Occurrence: o})
		r.granted(a, o, holders.Refused)
		<-overB
		<-overC
	})
}

// An answer that comes after the claim was granted says that another member runs the occurrence. The claimant
// has not begun it, and drops it.
func TestLateAnswerAfterTheClaim(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(2)
		fakeSleep(slowTime)
		a, b := r.members[0], r.members[1]
		o := occurrence(7)
		r.net.lose(1) // the marks do not arrive
		b.Take(holders.Claim{Occurrence: o})
		r.granted(b, o, holders.Granted)
		b.Take(exchange.Progress{Occurrence: o, Phase: exchange.Begun, Attempt: 1, Run: 12})
		over := b.busyFor(t, 800*time.Millisecond)
		a.Take(holders.Claim{Occurrence: o})
		r.granted(a, o, holders.Granted)
		<-over
		r.await(time.Second, "the claimant drops it", func() bool {
			return a.heard(func(e holders.Event) bool {
				n, ok := e.(holders.Changes)
				return ok && len(n.Yielded) == 1 && n.Yielded[0].Member == b.id
			})
		})
	})
}

// Hosts are busy while a member joins, and may answer late.
func TestClaimAfterAJoinWaitsLonger(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(3)
		over := r.members[2].busyFor(t, 2*time.Second)
		r.takesBetween(occurrence(7), 2*time.Second, 2*time.Second+100*time.Millisecond)
		<-over
		fakeSleep(slowTime)
		r.members[1].stop()
		r.members[1].start() // before the others notice that it was down
		r.agree(5*time.Second, r.members)
		over = r.members[2].busyFor(t, 2*time.Second)
		r.takesBetween(occurrence(8), 2*time.Second, 2*time.Second+100*time.Millisecond)
		<-over
	})
}

// While a member waits for a slow answer to its claim, the next one does not claim the occurrence: it would wait
// for the same answer, and the occurrence would start later.
func TestClaimWaitsForTheClaimOfAnotherMember(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(3)
		b, a, slow := r.members[0], r.members[1], r.members[2] // b has precedence over a
		over := slow.busyFor(t, 2*mostClaim)
		o, began := occurrence(7), time.Now()
		a.Take(holders.Claim{Occurrence: o})
		fakeSleep(2 * time.Second)
		if by := r.claim(b, o, holders.Postponed); by != a.id {
			t.Errorf("it is postponed by %q, want %q", by, a.id)
		}
		r.granted(a, o, holders.Granted)
		if took := time.Since(began); took > mostClaim+100*time.Millisecond {
			t.Errorf("it took %s", took)
		}
		<-over
	})
}

// claim makes a member claim an occurrence, perhaps again.
func (r *testRing) claim(h *testMember, o exchange.Occurrence, want holders.Grant) (by string) {
	r.t.Helper()
	h.mu.Lock()
	h.events = nil
	h.mu.Unlock()
	h.Take(holders.Claim{Occurrence: o})
	return r.granted(h, o, want)
}

// A member claims an occurrence before another one sees it, for example because it was just restarted. The
// other one would not ask it, and so does not agree before it sees the claimant. It still refuses what it
// has, and agrees if it cannot claim the occurrence itself: while it leaves, or without the job.
func TestClaimOfAMemberThatIsNotSeen(t *testing.T) {
	for _, test := range []struct {
		name  string
		state func(m *testMember)
		want  holders.Grant
	}{
		{"has the job", func(*testMember) {}, holders.Postponed},
		{"leaves", func(m *testMember) { m.stage.exit = departing }, holders.Granted},
		{"lacks the job", func(m *testMember) { m.hold(nil) }, holders.Granted},
	} {
		for _, unseen := range []string{"dead", "unknown"} {
			t.Run(test.name+", claimant is "+unseen, func(t *testing.T) {
				bubble(t, func(t *testing.T, r *testRing) {
					claimant, other, o := r.threeWithAJob()
					other.inRun(t, func() {
						if test.state(other); unseen == "dead" {
							other.setState(other.members[claimant.id], Gone)
						} else {
							delete(other.members, claimant.id)
						}
					})
					by := r.claim(claimant, o, test.want)
					if test.want == holders.Granted {
						return
					}
					if by != other.id {
						t.Errorf("postponed by %q, want %q", by, other.id)
					}
					r.claim(other, o, holders.Granted)
					if by := r.claim(claimant, o, holders.Refused); by != other.id {
						t.Errorf("refused by %q, want %q", by, other.id)
					}
				})
			})
		}
	}
}

// TestGrantOfAJoiningMemberIsRemembered: a member that is joining grants a claim, and joins before it
// sees the claimant. Then it would claim the occurrence without asking the claimant.
func TestGrantOfAJoiningMemberIsRemembered(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		claimant, other, o := r.threeWithAJob()
		other.inRun(t, func() {
			other.stage.entry, other.stage.joinBy = joining, time.Now().Add(time.Minute)
			clear(other.members)
		})
		r.claim(claimant, o, holders.Granted)
		other.inRun(t, func() { other.stage.entry, other.stage.metAll = joined, time.Now().Add(Settle) })
		if by := r.claim(other, o, holders.Postponed); by != claimant.id {
			t.Errorf("postponed by %q, want %q", by, claimant.id)
		}
	})
}

func TestPostponedClaimIsGrantedWhenItsMemberIsSeen(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		claimant, other, o := r.threeWithAJob()
		see := func(s State) { other.inRun(t, func() { other.setState(other.members[claimant.id], s) }) }
		see(Gone)
		r.claim(claimant, o, holders.Postponed)
		see(Alive)
		r.claim(claimant, o, holders.Granted)
	})
}

// threeWithAJob starts three members that hold the same job, and then loses all marks. It returns two of
// the members and an occurrence of the job.
func (r *testRing) threeWithAJob() (claimant, other *testMember, o exchange.Occurrence) {
	r.t.Helper()
	for range 3 {
		h := r.add()
		h.holding = []catalog.Holding{{Key: numbered(7), Hash: numbered(1)}}
		h.start()
	}
	r.agree(30*time.Second, r.members)
	r.net.lose(1)
	return r.members[0], r.members[1], occurrence(7)
}

// A member that restarted before it wrote a grant of the voters learns about it from a member
// whose claim was rejected because of that grant.
func TestMarksOfWhoDoesNotKnow(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(4)
		o, holder := occurrence(7), r.members[1]
		isOrphan := func(m *testMember) bool {
			all := m.orphans(holder.id)
			return len(all) == 1 && all[0].Phase == exchange.Taken
		}
		r.members[2].Decided([]holders.Claimed{{Occurrence: o, Grant: holders.Refused, By: holder.id}})
		r.await(time.Second, "its member hears of it", func() bool { return isOrphan(holder) })
		r.await(2*refusalDelay, "who told of it knows it as taken", func() bool { return r.members[2].heardOthers(o) })
		for _, h := range []*testMember{r.members[0], r.members[2], r.members[3]} {
			if isOrphan(h) {
				t.Errorf("%s has it for an orphan, though its member is there", h.id)
			}
		}
	})
}

// A member that was cut off is refused by the voters before it sees again who has
// what it asked for: that one is not gone.
func TestMarksOfWhoIsSeenToBeGone(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(3)
		o, cut, holder := occurrence(7), r.members[0], r.members[1]
		r.net.part(func(addr string) int {
			if addr == cut.addr.String() {
				return 1
			}
			return 0
		})
		r.agree(2*time.Minute, []*testMember{cut})
		isOrphan := func() bool {
			return len(cut.orphans(holder.id)) > 0
		}
		cut.Decided([]holders.Claimed{{Occurrence: o, Grant: holders.Refused, By: holder.id}})
		r.net.heal()
		r.agree(2*time.Minute, r.members)
		r.await(2*refusalDelay, "it knows it as taken", func() bool { return cut.heardOthers(o) })
		if isOrphan() {
			t.Error("what a member has that is there is said to be orphaned")
		}
		holder.stop()
		r.await(time.Minute, "it is orphaned when its member is gone", isOrphan)
	})
}

func TestMarksOrphans(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(4)
		taken, over := occurrence(7), occurrence(8)
		h := r.members[3]
		h.Take(holders.Claim{Occurrence: taken}, holders.Claim{Occurrence: over})
		h.Take(exchange.Progress{Occurrence: over, Phase: exchange.Over, Run: 3})
		r.await(time.Second, "others hear of it", func() bool { return r.members[0].heardOthers(taken) })
		h.stop()
		r.agree(time.Minute, r.members[:3])
		for _, other := range r.members[:3] {
			orphans := other.orphans(h.id)
			if len(orphans) != 1 || orphans[0].Key != numbered(7) || orphans[0].Phase != exchange.Taken {
				t.Errorf("%s: orphans %v, want the one that was taken and not over", other.id, orphans)
			}
		}
		r.members[0].Take(holders.Claim{Occurrence: taken, Again: true})
		r.granted(r.members[0], taken, holders.Granted)
		r.members[1].Take(holders.Claim{Occurrence: taken, Again: true})
		r.granted(r.members[1], taken, holders.Refused)
	})
}

// TestMarksOfLeaverAreHeardAtLast: what a member took and began just before it left
// is known to be its own, and that it left, although no packet of it arrives.
func TestMarksOfLeaverAreHeardAtLast(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(3)
		o, h := occurrence(7), r.members[2]
		r.net.lose(1)
		h.Take(holders.Claim{Occurrence: o})
		h.Take(exchange.Progress{Occurrence: o, Phase: exchange.Begun, Run: 3, Attempt: 1})
		if err := h.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.net.lose(0)
		r.agree(30*time.Second, r.members[:2])
		for _, other := range r.members[:2] {
			if got := other.view(h.id).State; got != Left {
				t.Errorf("%s: it is %s, want it to have left", other.id, got)
			}
			if all := other.orphans(h.id); len(all) != 1 || all[0].Phase != exchange.Begun || !all[0].Left {
				t.Errorf("%s: orphans %+v, want what it began", other.id, all)
			}
			other.Take(holders.Claim{Occurrence: o})
			r.granted(other, o, holders.Refused)
		}
	})
}

// orphans are the reported occurrences of a member that is gone.
func (h *testMember) orphans(of string) []holders.Report {
	return h.reports(of, func(n holders.Changes) []holders.Report { return n.Orphans })
}

// doubles are the reported runs of a member that ran here, too.
func (h *testMember) doubles(of string) []holders.Report {
	return h.reports(of, func(n holders.Changes) []holders.Report { return n.Doubled })
}

func (h *testMember) reports(of string, kind func(holders.Changes) []holders.Report) (all []holders.Report) {
	h.heard(func(e holders.Event) bool {
		if n, ok := e.(holders.Changes); ok {
			all = slices.AppendSeq(all, func(yield func(holders.Report) bool) {
				for _, x := range kind(n) {
					if x.Member == of && !yield(x) {
						return
					}
				}
			})
		}
		return false
	})
	return all
}

// TestMarksOfLeaverReachAMemberThatWasCutOff: a member is cut off while another one leaves. It
// receives from the third one that the member that left never begins what the voters granted to it.
func TestMarksOfLeaverReachAMemberThatWasCutOff(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(3)
		o, connected := occurrence(7), occurrence(8)
		cut, h := r.members[0], r.members[2]
		h.Take(exchange.Progress{Occurrence: o, Phase: exchange.Taken}, exchange.Progress{Occurrence: connected, Phase: exchange.Taken})
		r.await(time.Second, "the others know it", func() bool { return cut.heardOthers(o) && cut.heardOthers(connected) })
		r.cut(r.members[:1], r.members[1:])
		h.unstarted = []exchange.Progress{{Occurrence: o, Phase: exchange.Taken}}
		if err := h.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.await(time.Minute, "it seems dead", func() bool { return cut.view(h.id).State == Gone })
		r.net.heal()
		r.links.Heal(h.addr.String()) // otherwise the final state would arrive late
		givenUp := func(o exchange.Occurrence) bool {
			return slices.ContainsFunc(cut.orphans(h.id), func(x holders.Report) bool { return x.Occurrence == o && x.Left })
		}
		r.await(5*time.Minute, "it can take the occurrence over", func() bool { return givenUp(o) })
		if givenUp(connected) {
			t.Error("an occurrence that ends on the member that left seems to be given up")
		}
	})
}

// TestLeaverGivesUpWhatAnotherMemberGaveUp: a live member gave an occurrence up. The voters may have
// granted it to the member that leaves.
func TestLeaverGivesUpWhatAnotherMemberGaveUp(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(3)
		o := occurrence(7)
		remains, broken, h := r.members[0], r.members[1], r.members[2]
		gaveUp := func(by, to *testMember) func() bool {
			return func() bool {
				return slices.ContainsFunc(to.orphans(by.id), func(x holders.Report) bool { return x.Occurrence == o && x.GivenUp })
			}
		}
		broken.Take(exchange.Progress{Occurrence: o, Phase: exchange.Taken}, exchange.Progress{Occurrence: o, Phase: exchange.Taken, GivenUp: true})
		r.await(10*time.Second, "it is given up", gaveUp(broken, h))
		h.unstarted = []exchange.Progress{{Occurrence: o, Phase: exchange.Taken}}
		if err := h.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.await(10*time.Second, "it is given up again", gaveUp(h, remains))
	})
}

// knowsGivenUp reports whether a member knows that another one gave an occurrence up.
func (m *testMember) knowsGivenUp(by string, o exchange.Occurrence) bool {
	_, is := m.GaveUp(m.testRing.t.Context(), by, o)
	return is
}

// TestTakenBackOccurrenceIsOrphanedWithItsMember: a member gave an occurrence up, and the voters granted it to
// that member again. Another member learns that only from the refusal of its claim.
func TestTakenBackOccurrenceIsOrphanedWithItsMember(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(3)
		o, other, h := occurrence(7), r.members[0], r.members[2]
		h.Take(holders.Claim{Occurrence: o})
		r.granted(h, o, holders.Granted)
		h.Take(exchange.Progress{Occurrence: o, Phase: exchange.Taken, GivenUp: true})
		r.await(time.Second, "it is given up", func() bool { return other.knowsGivenUp(h.id, o) })
		other.Decided([]holders.Claimed{{Occurrence: o, Grant: holders.Refused, By: h.id, GaveUp: 1}})
		r.await(2*refusalDelay, "it is taken back", func() bool { return !other.knowsGivenUp(h.id, o) })
		h.stop()
		r.await(time.Minute, "it is orphaned", func() bool {
			all := other.orphans(h.id)
			return len(all) > 0 && !all[len(all)-1].GivenUp
		})
	})
}

// TestOccurrenceThatCouldNotStartIsTakenOver: a member could not start an occurrence, and stays. The
// others receive that although no packet of it arrives, and can claim the occurrence; that member itself
// can claim it too, in case no other one does. None of them reports a double run.
func TestOccurrenceThatCouldNotStartIsTakenOver(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(3)
		h := r.members[2]
		taken, left := occurrence(7), occurrence(8)
		for _, o := range []exchange.Occurrence{taken, left} {
			h.Take(holders.Claim{Occurrence: o})
			r.granted(h, o, holders.Granted)
		}
		r.net.lose(1)
		for _, o := range []exchange.Occurrence{taken, left} {
			h.Take(exchange.Progress{Occurrence: o, Phase: exchange.Begun, Run: 3, Attempt: 1}, exchange.Progress{Occurrence: o, Phase: exchange.Taken, GivenUp: true})
		}
		for _, other := range r.members[:2] {
			r.await(time.Second, "it is given up", func() bool { return len(other.orphans(h.id)) == 2 })
			for _, x := range other.orphans(h.id) {
				if !x.Left || x.Phase != exchange.Taken || x.Attempt != 0 || !slices.Equal(x.Tried, []string{h.id}) {
					t.Errorf("%s: orphan %+v, want one that %s never begins, without an attempt", other.id, x, h.id)
				}
			}
			if !other.knowsGivenUp(h.id, taken) || other.knowsGivenUp(other.id, taken) {
				t.Errorf("%s: it does not know who gave the occurrence up", other.id)
			}
		}
		r.net.lose(0)
		claim := func(m *testMember, o exchange.Occurrence, want holders.Grant) {
			m.mu.Lock()
			m.events = slices.DeleteFunc(m.events, func(e holders.Event) bool { c, is := e.(holders.Claimed); return is && c.Occurrence == o })
			m.mu.Unlock()
			m.Take(holders.Claim{Occurrence: o, Again: true})
			r.granted(m, o, want)
		}
		claim(r.members[0], taken, holders.Granted)
		claim(r.members[1], taken, holders.Refused)
		claim(h, taken, holders.Refused)
		claim(h, left, holders.Granted)
		claim(r.members[1], left, holders.Refused)
		for _, m := range r.members {
			for _, of := range r.members {
				if all := m.doubles(of.id); len(all) > 0 {
					t.Errorf("%s: doubles %+v, want none", m.id, all)
				}
			}
		}
	})
}

// TestFinalStateReplacesWhatWaits: what a member gives up at a time is one message to each other member, and
// none of them delays its departure, because its final state contains them.
func TestFinalStateReplacesWhatWaits(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(3)
		h := r.members[2]
		h.inRun(t, func() {
			unconfirmed := func(want int) {
				t.Helper()
				for _, m := range h.alive() {
					if len(m.unconfirmed) != want {
						t.Errorf("%d messages for %s, want %d", len(m.unconfirmed), m.id, want)
					}
				}
			}
			give := func(from, to uint64) (all []holders.Effect) {
				for key := from; key < to; key++ {
					all = append(all, exchange.Progress{Occurrence: occurrence(key), Phase: exchange.Taken, GivenUp: true})
				}
				return all
			}
			h.carryOut(give(0, 100))
			unconfirmed(1)
			h.carryOut(give(100, 150))
			h.carryOut(give(150, 200))
			unconfirmed(3)
			h.stage.exit = departing
			h.carryOut(append(give(200, 250), holders.Unstarted{}))
			unconfirmed(2) // the first one is on its way
		})
		for _, other := range r.members[:2] {
			r.await(5*time.Second, "all are given up", func() bool {
				all := map[exchange.Occurrence]bool{}
				for _, x := range other.orphans(h.id) {
					all[x.Occurrence] = x.GivenUp
				}
				return len(all) == 250
			})
		}
	})
}

// TestMarksOfLeaverAreTakenOver: all others receive the unstarted occurrences of a member that
// leaves, although no packet of it arrives. One of them takes each over, and no double run is
// reported.
func TestMarksOfLeaverAreTakenOver(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(4)
		o, retried := occurrence(7), occurrence(8)
		h := r.members[3]
		h.Take(holders.Claim{Occurrence: o}, holders.Claim{Occurrence: retried})
		r.granted(h, o, holders.Granted)
		r.granted(h, retried, holders.Granted)
		h.Take(exchange.Progress{Occurrence: retried, Phase: exchange.Begun, Run: 3, Attempt: 1})
		if err := h.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		fakeSleep(Settle)
		r.net.lose(1)
		h.unstarted = []exchange.Progress{{Occurrence: o, Phase: exchange.Taken}, {Occurrence: retried, Phase: exchange.Taken, Attempt: 1}}
		began := time.Now()
		if err := h.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it leaves after %s, want it gone as soon as all know", took)
		}
		r.net.lose(0)
		r.agree(30*time.Second, r.members[:3])
		for _, other := range r.members[:3] {
			if got := other.view(h.id).State; got != Left {
				t.Errorf("%s: it is %s, want it to have left", other.id, got)
			}
			all := other.orphans(h.id)
			if len(all) != 2 || !all[0].Left || all[0].Phase != exchange.Taken || all[1].Phase != exchange.Taken || all[0].Attempt+all[1].Attempt != 1 {
				t.Fatalf("%s: orphans %+v, want what had not begun, with the attempts", other.id, all)
			}
		}
		for _, other := range r.members[:2] {
			other.Take(holders.Claim{Occurrence: retried, Again: true})
		}
		granted := 0
		for _, other := range r.members[:2] {
			r.await(2*time.Second, "the claim is answered", func() bool { g, _ := other.verdict(retried); return g != 0 })
			if g, _ := other.verdict(retried); g == holders.Granted {
				granted++
				other.Take(exchange.Progress{Occurrence: retried, Phase: exchange.Begun, Run: 9, Attempt: 2})
			}
		}
		if granted != 1 {
			t.Errorf("%d members have it, want 1", granted)
		}
		if err := h.Join(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.agree(30*time.Second, r.members)
		fakeSleep(10 * time.Second)
		for _, x := range r.members {
			if x.heard(func(e holders.Event) bool { n, is := e.(holders.Changes); return is && len(n.Doubled) > 0 }) {
				t.Errorf("%s says that it ran twice", x.id)
			}
		}
	})
}

// inRun has a host's own goroutine do something.
func (h *testMember) inRun(t *testing.T, f func()) {
	t.Helper()
	if err := h.do(t.Context(), func() error { f(); return nil }); err != nil {
		t.Fatal(err)
	}
}

// TestClaimsWaitForDistantMembers: an answer that takes longer than the usual limit counts.
func TestClaimsWaitForDistantMembers(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(2)
		fakeSleep(slowTime)
		h, holder, o := r.members[0], r.members[1], occurrence(7)
		r.net.lose(1) // no mark arrives
		holder.Take(holders.Claim{Occurrence: o})
		r.granted(holder, o, holders.Granted)
		r.links.Slow(300*time.Millisecond, 0)
		h.inRun(t, func() { h.members[holder.id].samples.Add(clocks.Sample{Trip: 600 * time.Millisecond}) })
		h.Take(holders.Claim{Occurrence: o})
		r.granted(h, o, holders.Refused)
	})
}

// TestLeaverClaimsNothing: what is granted after the final state would be unknown to all.
func TestLeaverClaimsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(2)
		h, o, asked := r.members[0], occurrence(7), occurrence(8)
		r.net.lose(1)
		h.inRun(t, func() {
			h.claim([]holders.Claim{{Occurrence: asked}})
			h.stage.exit = departing
			h.table.Abandon()
		})
		h.Take(holders.Claim{Occurrence: o})
		r.granted(h, o, holders.Postponed)
		fakeSleep(time.Second)
		if grant, _ := h.verdict(asked); grant != 0 {
			t.Errorf("a claim that was under way: got grant %d, want none", grant)
		}
	})
}

// TestLeaverWithoutFinalState: an engine that does not answer delays the departure by a
// bounded time, and the others see a dead member.
func TestLeaverWithoutFinalState(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(3)
		h := r.members[2]
		h.mute = true
		began := time.Now()
		if err := h.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < Settle+finalTime || took > Settle+finalTime+leaveTime {
			t.Errorf("it left after %s", took)
		}
		r.agree(30*time.Second, r.members[:2])
		if got := r.members[0].view(h.id).State; got != Gone {
			t.Errorf("to the others it is %s, want %s", got, Gone)
		}
	})
}

func TestMarksNewcomerHearsOfThem(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(3)
		o := occurrence(7)
		r.members[1].Take(holders.Claim{Occurrence: o})
		r.await(time.Second, "others hear of it", func() bool { return r.members[0].heardOthers(o) })
		late := r.add().start()
		r.agree(30*time.Second, r.members)
		late.mu.Lock()
		got := late.newest[numbered(7)]
		late.mu.Unlock()
		if !got.Equal(o.Time()) {
			t.Errorf("the first Ring of a new member has %v as the newest, want %v", got, o.Time())
		}
		late.Take(holders.Claim{Occurrence: o})
		r.granted(late, o, holders.Refused)
	})
}

// TestMarksAreSentOnce: of several marks of an occurrence that wait together, only the newest is sent.
func TestMarksAreSentOnce(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(2)
		a, b, o := r.members[0], r.members[1], occurrence(7)
		fakeSleep(time.Minute) // nothing else is under way
		a.Take(
			exchange.Progress{Occurrence: o, Phase: exchange.Taken},
			exchange.Progress{Occurrence: o, Phase: exchange.Begun, Run: 3, Attempt: 1},
			exchange.Progress{Occurrence: occurrence(8), Phase: exchange.Taken},
		)
		synctest.Wait()
		var waiting []holders.Mark
		a.do(t.Context(), func() error {
			waiting = slices.Collect(maps.Values(a.spread.marks))
			return nil
		})
		if len(waiting) != 2 || waiting[0].Phase+waiting[1].Phase != exchange.Taken+exchange.Begun {
			t.Errorf("got %+v, want the newest mark of each of two occurrences", waiting)
		}
		r.await(time.Second, "the other member has the newest mark", func() bool {
			var begun bool
			b.do(t.Context(), func() error {
				begun = slices.ContainsFunc(b.table.Marks(time.Time{}, 10), func(m holders.Mark) bool {
					return m.Occurrence == o && m.Member == a.id && m.Phase == exchange.Begun
				})
				return nil
			})
			return begun
		})
	})
}

// TestStateHasRunsFirst: if the state for push/pulls cannot have all marks, it lacks some of ended runs.
func TestStateHasRunsFirst(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(1)
		a, o := r.members[0], occurrence(0)
		all := []holders.Effect{exchange.Progress{Occurrence: o, Phase: exchange.Begun, Run: 1, Attempt: 1}}
		for i := range 2000 {
			later := exchange.OccurrenceOf(numbered(uint64(i)), o.Time().Add(time.Second))
			all = append(all, exchange.Progress{Occurrence: later, Phase: exchange.Over, Run: 2, Attempt: 1})
		}
		a.Take(all...)
		fakeSleep(stateTime + 2*time.Second)
		state := *a.state.Load()
		marks, err := holders.DecodeMarks(state)
		if err != nil || len(marks) < 100 || len(state) > stateRoom || marks[0].Occurrence != o {
			t.Errorf("got %d marks in %d bytes, %v: want at most %d bytes, and the run first", len(marks), len(state), err, stateRoom)
		}
	})
}

func TestMarksDoubledAfterHeal(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(5)
		sides := [][]*testMember{r.members[:2], r.members[2:]}
		r.cut(sides...)
		r.agree(3*time.Minute, sides[0])
		r.agree(3*time.Minute, sides[1])
		o := occurrence(7)
		runners := []*testMember{r.members[0], r.members[3]}
		for _, h := range runners {
			h.Take(holders.Claim{Occurrence: o})
			r.granted(h, o, holders.Granted)
			h.Take(exchange.Progress{Occurrence: o, Phase: exchange.Begun, Run: 12})
			h.Take(exchange.Progress{Occurrence: o, Phase: exchange.Over, Run: 12})
		}
		fakeSleep(5 * time.Minute)
		r.heal()
		r.agree(3*time.Minute, r.members)
		for i, h := range runners {
			other := runners[1-i].id
			r.await(5*time.Second, "both hear that it ran twice", func() bool {
				all := h.doubles(other)
				return len(all) > 0 && all[0].Key == numbered(7) && all[0].Host == "host-"+other && all[0].Run == 12
			})
		}
	})
}

func TestMarksOfRestartedMember(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(3)
		h := r.members[2]
		o := occurrence(7)
		h.Take(holders.Claim{Occurrence: o})
		r.await(time.Second, "others hear of it", func() bool { return r.members[0].heardOthers(o) })
		h.stop()
		h.start() // before anybody missed it
		r.await(time.Minute, "others hear that what it took is orphaned", func() bool {
			return len(r.members[0].orphans(h.id)) > 0
		})
		r.agree(time.Minute, r.members)
		h.Take(holders.Claim{Occurrence: o, Again: true})
		r.granted(h, o, holders.Granted)
	})
}

// TestMarksOfWhoWasAway: a member that was away for a moment still has what it took.
func TestMarksOfWhoWasAway(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(3)
		h := r.members[2]
		taken, begun := occurrence(7), occurrence(8)
		for _, o := range []exchange.Occurrence{taken, begun} {
			h.Take(holders.Claim{Occurrence: o})
			r.granted(h, o, holders.Granted)
		}
		h.Take(exchange.Progress{Occurrence: begun, Phase: exchange.Begun, Attempt: 1, Run: 5})
		r.await(time.Second, "others hear of it", func() bool { return r.members[0].heardOthers(begun) })
		for _, o := range []exchange.Occurrence{taken, begun} {
			h.mu.Lock()
			h.events = nil
			h.mu.Unlock()
			h.Take(holders.Claim{Occurrence: o, Again: true})
			r.granted(h, o, holders.Granted)
		}
	})
}

// TestMarksCountAttempts: a member that takes over a lost run receives the number of its attempts.
func TestMarksCountAttempts(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(3)
		h, o := r.members[2], occurrence(7)
		h.Take(holders.Claim{Occurrence: o})
		r.granted(h, o, holders.Granted)
		h.Take(exchange.Progress{Occurrence: o, Phase: exchange.Begun, Attempt: 1, Run: 5})
		h.Take(exchange.Progress{Occurrence: o, Phase: exchange.Begun, Attempt: 3, Lost: 1, Run: 9})
		fakeSleep(time.Second) // until all of it is sent
		h.stop()
		want := holders.Mark{Occurrence: o, Member: h.id, Phase: exchange.Begun, Attempt: 3, Lost: 1, Run: 9}
		r.await(time.Minute, "others hear that the third attempt was lost", func() bool {
			return slices.ContainsFunc(r.members[0].orphans(h.id), func(x holders.Report) bool { return x.Mark == want })
		})
	})
}

// TestMarksDeprive: if two members that did not see each other took the same occurrence, the
// member that has not begun it drops it.
func TestMarksDeprive(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(5)
		sides := [][]*testMember{r.members[:2], r.members[2:]}
		r.cut(sides...)
		r.agree(3*time.Minute, sides[0])
		r.agree(3*time.Minute, sides[1])
		o := occurrence(7)
		waits, runs := r.members[0], r.members[3]
		for _, h := range []*testMember{waits, runs} {
			h.Take(holders.Claim{Occurrence: o})
			r.granted(h, o, holders.Granted)
		}
		runs.Take(exchange.Progress{Occurrence: o, Phase: exchange.Begun, Attempt: 1, Run: 12})
		r.heal()
		r.agree(3*time.Minute, r.members)
		r.await(5*time.Second, "the one that waits hears that it must not run", func() bool {
			return waits.heard(func(e holders.Event) bool {
				n, ok := e.(holders.Changes)
				return ok && len(n.Yielded) == 1 && n.Yielded[0].Member == runs.id && n.Yielded[0].Key == numbered(7)
			})
		})
	})
}

// cut parts hosts into groups, for gossip and link.
func (r *testRing) cut(groups ...[]*testMember) {
	group := make(map[string]int)
	var links [][]string
	for i, hosts := range groups {
		var names []string
		for _, h := range hosts {
			group[h.addr.String()] = i + 1
			names = append(names, h.addr.String())
		}
		links = append(links, names)
	}
	r.net.part(func(addr string) int { return group[addr] })
	r.links.Partition(links...)
}

func (r *testRing) heal() {
	r.net.heal()
	r.links.Heal()
}

func TestHoldings(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		entries := make([]catalog.Holding, 3000)
		for i := range entries {
			entries[i] = catalog.Holding{Key: numbered(uint64(i+1) * 0x9e3779b97f4a7c15), Hash: numbered(uint64(i))}
		}
		for range 3 {
			r.add().start().Take(holders.Holdings{Holdings: entries})
		}
		r.agree(30*time.Second, r.members)
		r.await(settleTime, "all hold the same", func() bool {
			return !slices.ContainsFunc(r.members, func(h *testMember) bool {
				return slices.ContainsFunc(h.Snapshot().Members, func(v View) bool { return v.Pending || len(v.Lacks)+len(v.Extra) > 0 })
			})
		})
		edited := slices.Clone(entries)
		edited[5].Hash[0]++
		edited = slices.Delete(edited, 9, 10)
		edited = append(edited, catalog.Holding{Key: numbered(42), Hash: numbered(42)})
		h := r.members[1]
		began := time.Now()
		h.Take(holders.Holdings{Holdings: edited})
		other := r.members[0]
		r.await(Settle, "others know", func() bool {
			m, _ := other.of(h.id)
			return len(m.Lacks) == 2 && m.Lacks[entries[5].Key].Theirs == edited[5].Hash && m.Lacks[entries[9].Key].Theirs == job.Key{}
		})
		m, _ := other.of(h.id)
		if since := m.Lacks[entries[5].Key].Since; since.Before(began) || since.After(time.Now()) {
			t.Errorf("it differs since %v, want between %v and now", since, began)
		}
		if v := other.view(h.id); !slices.Equal(v.Extra, []job.Key{numbered(42)}) {
			t.Errorf("entries that this host has not: %v, want 42", v.Extra)
		}
		other.Take(holders.Holdings{Holdings: edited})
		r.await(5*time.Second, "they agree again", func() bool {
			m, _ := other.of(h.id)
			o, _ := h.of(other.id)
			return len(m.Lacks) == 0 && len(o.Lacks) == 0
		})
	})
}

func TestClocks(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		for i := range 4 {
			h := r.add()
			if i == 1 {
				h.ahead = time.Second
			}
			if i == 2 {
				h.ahead = -8 * time.Second
			}
			h.start()
		}
		r.agree(time.Minute, r.members)
		r.await(time.Minute, "clocks are known", func() bool {
			v := r.members[0].view(r.members[1].id)
			return v.Skewed && (v.Offset-time.Second).Abs() < 10*time.Millisecond
		})
		r.await(time.Minute, "the one that is off takes nothing", func() bool {
			s := r.members[2].Snapshot()
			m, _ := r.members[0].of(r.members[2].id)
			return strings.Contains(s.Barred, "8s behind") && m.Draining
		})
		for _, i := range []int{0, 1, 3} {
			if b := r.members[i].Snapshot().Barred; b != "" {
				t.Errorf("host %d takes nothing: %s", i, b)
			}
		}
	})
}

func TestTwoHostsWithOneID(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(3)
		fakeSleep(time.Minute)
		copied := r.add()
		copied.id = r.members[1].id
		copied.start()
		r.await(2*time.Minute, "the copy takes nothing", func() bool {
			return strings.Contains(copied.Snapshot().Barred, "has this member's ID too")
		})
		if !strings.Contains(copied.log.String(), "two hosts have one member ID") {
			t.Errorf("its log says %s", copied.log)
		}
		if b := r.members[1].Snapshot().Barred; b != "" {
			t.Errorf("the first one takes nothing: %s", b)
		}
	})
}

package gossip

import (
	"slices"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/holders"
	"github.com/cronring/cronring/gossip/inbox"
)

func (h *testMember) holds(key, hash uint64) {
	h.Take(holders.Holdings{Holdings: []catalog.Holding{{Key: numbered(key), Hash: numbered(hash)}}})
}

// settleTime is enough for some push/pulls, which repair what gossip did not deliver.
const settleTime = 2 * time.Minute

// knows waits until a host has received the holdings of the others: the number of hosts that lack
// its own.
func (r *testRing) knows(h *testMember, lacking int) {
	r.t.Helper()
	r.await(settleTime, "what the others hold is known", func() bool {
		n := 0
		for _, v := range h.Snapshot().Members {
			if v.Pending {
				return false
			}
			if len(v.Lacks) > 0 {
				n++
			}
		}
		return n == lacking
	})
}

// If a member has a different entry for a key, or none, its claims do not keep other members from
// running theirs: on time, late, and after a restart.
func TestMarksOfAnotherEntryAreIgnored(t *testing.T) {
	for name, hold := range map[string]func(h *testMember){
		"another entry": func(h *testMember) { h.holds(7, 2) },
		"no entry":      func(h *testMember) { h.holds(8, 2) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *testRing) {
				r.ring(3)
				victim, hostile, third := r.members[0], r.members[1], r.members[2]
				victim.holds(7, 1)
				third.holds(7, 1)
				hold(hostile)
				r.knows(victim, 1)
				r.knows(third, 1)
				fakeSleep(2 * time.Minute) // the edit is over

				o := occurrence(7)
				hostile.Take(holders.Claim{Occurrence: o})
				r.granted(hostile, o, holders.Granted)
				r.await(time.Second, "the word came", func() bool { return slices.Equal(victim.view(hostile.id).Foreign, []job.Key{numbered(7)}) })
				if victim.heardOthers(o) {
					t.Error("its engine hears that the occurrence is taken, want that ignored")
				}
				if _, by, ok := victim.Newest(numbered(7)); ok {
					t.Errorf("the newest is told to be that of %s, want none", by)
				}
				victim.Take(holders.Claim{Occurrence: o})
				r.granted(victim, o, holders.Granted)
				third.Take(holders.Claim{Occurrence: o})
				if by := r.granted(third, o, holders.Refused); by != victim.id {
					t.Errorf("a member with the same entry is refused for %q, want for %q", by, victim.id)
				}

				missed := occurrence(7)
				hostile.Take(holders.Claim{Occurrence: missed})
				r.granted(hostile, missed, holders.Granted)
				late := r.add()
				late.holding = []catalog.Holding{{Key: numbered(7), Hash: numbered(1)}}
				late.start()
				r.agree(30*time.Second, r.members)
				r.await(settleTime, "the newest occurrence of a member with the same entry is known", func() bool {
					late.mu.Lock()
					defer late.mu.Unlock()
					return late.newest[numbered(7)].Equal(o.Time())
				})
				late.Take(holders.Claim{Occurrence: missed})
				r.granted(late, missed, holders.Granted)
			})
		})
	}
}

// TestMembersThatAppearWhileJoiningAreAsked: a member that joins requests the marks of members that it
// sees after the first ones, up to learnFrom, because the first ones may have other entries.
func TestMembersThatAppearWhileJoiningAreAsked(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(3)
		h := r.members[0]
		for asked, want := range map[int]int{1: 2, learnFrom: learnFrom} {
			h.inRun(t, func() {
				h.stage.entry, h.catchUp.begun, h.catchUp.asked = joining, true, asked
				m := h.members[r.members[1].id]
				m.state = Gone
				h.updateMember(m.id, inbox.Update{Meta: m.meta, Addr: m.addr, Alive: true})
				if h.catchUp.asked != want {
					t.Errorf("after %d, a member appears: %d were asked, want %d", asked, h.catchUp.asked, want)
				}
				h.stage.entry = joined
			})
		}
	})
}

// An entry that is edited on one member after the other is one job meanwhile, and
// what a member took before it gave an entry up stays taken.
func TestMarksCountDuringAnEdit(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(3)
		for _, h := range r.members {
			h.holds(7, 1)
		}
		a, b := r.members[0], r.members[1]
		r.knows(a, 0)
		fakeSleep(time.Hour)
		b.holds(7, 2)
		r.knows(a, 1)
		o := occurrence(7)
		b.Take(holders.Claim{Occurrence: o})
		r.granted(b, o, holders.Granted)
		a.Take(holders.Claim{Occurrence: o})
		if by := r.granted(a, o, holders.Refused); by != b.id {
			t.Errorf("during an edit the claim is refused for %q, want for %q", by, b.id)
		}
		fakeSleep(2 * time.Minute)
		b.Take(exchange.Progress{Occurrence: o, Phase: exchange.Begun, Run: 3, Attempt: 1})
		b.Take(holders.Holdings{})
		r.knows(a, 1)
		fakeSleep(time.Hour)
		b.Take(exchange.Progress{Occurrence: o, Phase: exchange.Over, Run: 3, Attempt: 1})
		r.await(time.Second, "it is known to be over", func() (over bool) {
			a.inRun(t, func() {
				for _, m := range a.table.Marks(time.Time{}, 10) {
					over = over || m.Member == b.id && m.Phase == 3
				}
			})
			return over
		})
		if f := a.view(b.id).Foreign; len(f) > 0 {
			t.Errorf("words on what it took itself are told to be foreign: %v", f)
		}
	})
}

// takes checks that a member takes an occurrence of job 7, and that it is then refused to another one.
func (r *testRing) takes(a, other *testMember) {
	r.t.Helper()
	o := occurrence(7)
	a.Take(holders.Claim{Occurrence: o})
	r.granted(a, o, holders.Granted)
	other.Take(holders.Claim{Occurrence: o})
	if by := r.granted(other, o, holders.Refused); by != a.id {
		r.t.Errorf("the claim is refused for %q, want for %q", by, a.id)
	}
}

// The entry of a member that restarts may have been edited while it was down: what the member
// takes then counts, also on a host that joined less than a minute before.
func TestMarksCountAfterAnEditOfAMemberThatWasDown(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		for range 3 {
			h := r.add()
			h.holding = []catalog.Holding{{Key: numbered(7), Hash: numbered(1)}}
			h.start()
			r.agree(30*time.Second, r.members)
			fakeSleep(2 * time.Minute)
		}
		a, b := r.members[0], r.members[1]
		a.stop()
		a.start()
		r.agree(30*time.Second, r.members)
		r.knows(a, 0)
		fakeSleep(20 * time.Second)
		b.stop()
		b.holding = []catalog.Holding{{Key: numbered(7), Hash: numbered(2)}}
		b.start()
		r.agree(30*time.Second, r.members)
		r.knows(a, 1)
		r.takes(b, a)
	})
}

// Two members that start together are the first ones with an edited entry. What the others take still counts.
func TestMarksCountForTwoThatStartWithAnEdit(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		add := func(hash uint64) *testMember {
			h := r.add()
			h.holding = []catalog.Holding{{Key: numbered(7), Hash: numbered(hash)}}
			return h.start()
		}
		a := add(1)
		add(1)
		r.agree(30*time.Second, r.members)
		fakeSleep(time.Hour)
		b := add(2)
		add(2)
		r.agree(30*time.Second, r.members)
		r.knows(b, 2)
		r.takes(a, b)
	})
}

// What the voters granted for another entry counts during an edit, and as long as it is
// not known whose entry it is; afterwards it does not.
func TestGrantsAreForeignAfterAnEdit(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(2)
		a, b := r.members[0], r.members[1]
		a.holds(7, 1)
		b.holds(7, 1)
		r.knows(a, 0)
		fakeSleep(time.Hour)
		want := func(when, member string, o exchange.Occurrence, want bool) {
			t.Helper()
			if got, err := a.IsForeign(t.Context(), member, o); got != want || err != nil {
				t.Errorf("%s: the grant of %s is foreign: %t, %v; want %t", when, member, got, err, want)
			}
		}
		want("with the same entry", b.id, occurrence(7), false)
		b.holds(7, 2)
		r.knows(a, 1)
		during := occurrence(7)
		want("during an edit", b.id, during, false)
		want("of a member that nobody knows", "stranger", during, false)
		fakeSleep(2 * time.Minute)
		want("after an edit", b.id, occurrence(7), true)
		want("after an edit, of an occurrence during it", b.id, during, false)
		want("of a job that only the other one has", b.id, occurrence(8), false)
		for state, still := range map[State]bool{Left: true, Gone: false} {
			a.inRun(t, func() { a.members[b.id].state = state })
			want("of a member that is "+state.String(), b.id, occurrence(7), still)
		}
		a.inRun(t, func() { a.members[b.id].state = Alive })
		if h := a.Holding(numbered(7)); h.Hash != numbered(1) {
			t.Errorf("own entry: got %v, want it as it was set", h)
		}
		a.inRun(t, func() { a.members[b.id].compared, a.members[b.id].trouble = false, "" })
		if _, err := a.IsForeign(t.Context(), b.id, occurrence(7)); err == nil {
			t.Error("before its jobs are known: got no error")
		}
	})
}

// A host is down while its entry is edited. When it is back, it is unknown since when the entries
// differ: for a minute they count as the same job, then as different jobs.
func TestMarksCountForAMinuteAfterAStart(t *testing.T) {
	bubble(t, func(t *testing.T, r *testRing) {
		r.ring(2)
		a, b := r.members[0], r.members[1]
		a.holds(7, 1)
		b.holds(7, 1)
		r.knows(b, 0)
		fakeSleep(time.Hour)
		before := occurrence(7)
		a.Take(holders.Claim{Occurrence: before})
		r.granted(a, before, holders.Granted)
		b.stop()
		b.start().holds(7, 2)
		r.knows(b, 1)
		b.Take(holders.Claim{Occurrence: before})
		if by := r.granted(b, before, holders.Refused); by != a.id {
			t.Errorf("the occurrence of before the edit is refused for %q, want for %q", by, a.id)
		}
		fakeSleep(2 * time.Minute)
		after := occurrence(7)
		a.Take(holders.Claim{Occurrence: after})
		r.granted(a, after, holders.Granted)
		b.Take(holders.Claim{Occurrence: after})
		r.granted(b, after, holders.Granted)
	})
}

package ledger

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/holders"
	"github.com/cronring/cronring/gossip/memory"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// one has grants decide a single claim.
func (g *grants) one(index uint64, now time.Time, by string, c claim) result {
	return g.oneOf(index, now, by, 0, c)
}

// oneOf is one for a claim of a daemon that was started at a time.
func (g *grants) oneOf(index uint64, now time.Time, by string, started uint32, c claim) result {
	return g.apply(index, entry{time: now.UnixNano(), batches: []batch{{by, started, []claim{c}}}})[0][0]
}

func at(key uint64, due time.Time) claim {
	return claim{Occurrence: exchange.Occurrence{Key: numbered(key), Due: due.UnixNano()}}
}

func TestGrantsDecide(t *testing.T) {
	g := newGrants()
	c := at(1, noon)
	from := func(member string) claim { return claim{Occurrence: c.Occurrence, from: member} }
	steps := []struct {
		by   string
		c    claim
		want result
	}{
		{"a", c, result{holders.Granted, "", 1, false, 0}},
		{"a", c, result{holders.Granted, "", 2, false, 0}},
		{"b", c, result{holders.Refused, "a", 0, false, 0}},
		{"b", at(1, noon.Add(1)), result{holders.Granted, "", 4, false, 0}},
		{"b", at(2, noon), result{holders.Granted, "", 5, false, 0}},
		{"b", from("c"), result{holders.Refused, "a", 0, false, 0}},
		{"b", from("a"), result{holders.Granted, "", 7, false, 0}},
		{"c", from("a"), result{holders.Refused, "b", 0, false, 0}},
		{"a", c, result{holders.Refused, "b", 0, false, 0}},
		{"a", from("b"), result{holders.Granted, "", 10, false, 0}},
		{"a", at(3, time.Unix(-61, 5)), result{holders.Refused, "", 0, false, 0}},
	}
	for i, s := range steps {
		if got := g.one(uint64(i+1), noon, s.by, s.c); got != s.want {
			t.Errorf("step %d, %s claims %+v: got %+v, want %+v", i+1, s.by, s.c, got, s.want)
		}
	}
	if g.count != 3 {
		t.Errorf("grants: got %d, want 3", g.count)
	}
}

// TestLateClaimGetsNothingThatWasTakenBack: a gave an occurrence up, and so did c after it, and a took it
// back after it was restarted. A claim that was sent before takes it from a only if a is dead, or has given
// it up again.
func TestLateClaimGetsNothingThatWasTakenBack(t *testing.T) {
	g := newGrants()
	c := at(1, noon)
	dir := t.TempDir()
	first, err := memory.NextStart(dir, noon)
	if err != nil {
		t.Fatal(err)
	}
	next, err := memory.NextStart(dir, noon.Add(-time.Hour)) // the clock was set back
	if err != nil {
		t.Fatal(err)
	}
	from := func(member string, gaveUp uint32) claim {
		return claim{Occurrence: c.Occurrence, from: member, gaveUp: gaveUp}
	}
	for i, s := range []struct {
		by      string
		started uint32
		c       claim
		want    holders.Grant
	}{
		{"a", first, c, holders.Granted},
		{"c", 50, from("a", first), holders.Granted},
		{"a", next, from("c", 50), holders.Granted},
		{"b", 60, from("a", first), holders.Refused},
		{"a", first, c, holders.Granted}, // sent before it was restarted
		{"b", 60, from("a", first), holders.Refused},
		{"b", 60, from("a", next), holders.Granted},
		{"a", next, from("b", 60), holders.Granted},
		{"b", 60, from("a", 0), holders.Granted},
	} {
		if got := g.oneOf(uint64(i+1), noon, s.by, s.started, s.c); got.grant != s.want {
			t.Errorf("step %d, %s claims %+v: got %+v, want %d", i+1, s.by, s.c, got, s.want)
		}
		var b bytes.Buffer
		if err := g.freeze().encode(&b); err != nil {
			t.Fatal(err)
		}
		if g, err = decodeGrants(&b); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRerunKeepsTheEntryOfTheFirstGrant: a member whose entry was edited runs an occurrence
// again. The members with the first entry, which has run, do not claim it apart.
func TestRerunKeepsTheEntryOfTheFirstGrant(t *testing.T) {
	g := newGrants()
	first, edited := at(1, noon), at(1, noon)
	first.entry, edited.entry = numbered(5), numbered(6)
	g.one(1, noon, "a", first)
	again := edited
	again.from = "a"
	g.one(2, noon, "b", again)
	if got, want := g.one(3, noon, "c", first), (result{holders.Refused, "b", 0, false, 0}); got != want {
		t.Errorf("a claim for the first entry: got %+v, want %+v", got, want)
	}
}

// TestGrantsOfOneEntryHaveOneHolder: the token of a second grant must be greater than that of the
// first.
func TestGrantsOfOneEntryHaveOneHolder(t *testing.T) {
	c := at(1, noon)
	got := newGrants().apply(1, entry{time: noon.UnixNano(), batches: []batch{{"a", 0, []claim{c}}, {"b", 0, []claim{{Occurrence: c.Occurrence, from: "a"}}}}})
	want := [][]result{{{holders.Granted, "", 1, false, 0}}, {{holders.Refused, "a", 0, false, 0}}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(result{})); d != "" {
		t.Error(d)
	}
}

func TestGrantsForgetAfterTheRetention(t *testing.T) {
	g := newGrants()
	old := at(1, noon)
	g.one(1, noon, "a", old)
	g.one(2, noon.Add(retention), "a", at(1, noon.Add(retention)))
	if got := g.one(3, noon.Add(retention), "b", old); got.by != "a" {
		t.Errorf("a day old: got %+v, want it remembered", got)
	}
	g.one(4, noon.Add(retention+time.Minute), "a", at(2, noon.Add(retention+time.Minute)))
	for _, by := range []string{"a", "b"} {
		if got := g.one(5, noon, by, old); got != (result{grant: holders.Refused}) {
			t.Errorf("older than a day, claimed by %s: got %+v, want it refused as nobody's", by, got)
		}
	}
	if g.count != 2 || len(g.buckets) != 2 || len(g.order) != 2 {
		t.Errorf("left: got %d grants in %d buckets, want 2 in 2", g.count, len(g.buckets))
	}
}

func TestGrantsKeepWhatAWrongClockCallsOld(t *testing.T) {
	ahead := newGrants() // the leader's clock
	ahead.one(1, noon.AddDate(10, 0, 0), "a", at(1, noon))
	if got := ahead.one(2, noon, "b", at(1, noon)); got.by != "a" {
		t.Errorf("after a leader that is ahead: got %+v, want it remembered", got)
	}
	far := newGrants() // a claimant's
	far.one(1, noon, "a", at(1, noon))
	far.one(2, noon, "a", at(1, noon.AddDate(10, 0, 0)))
	if got := far.one(3, noon, "b", at(1, noon)); got.by != "a" {
		t.Errorf("after a claim that is ahead: got %+v, want it remembered", got)
	}
	for _, due := range []int64{math.MinInt64, math.MaxInt64} {
		g := newGrants()
		g.apply(1, entry{time: due, batches: []batch{{"a", 0, []claim{{Occurrence: exchange.Occurrence{Key: numbered(1), Due: due}}}}}})
		if g.count != 1 {
			t.Errorf("due %d: got %d grants, want one", due, g.count)
		}
	}
}

func TestGrantsAreBounded(t *testing.T) {
	g := newGrants()
	g.most = 10
	for minute := range 20 {
		g.one(uint64(minute+1), noon, "a", at(1, noon.Add(time.Duration(minute)*time.Minute)))
	}
	if g.count != 10 {
		t.Errorf("grants: got %d, want 10", g.count)
	}
	if got := g.one(30, noon, "b", at(1, noon.Add(9*time.Minute))); got != (result{grant: holders.Refused}) {
		t.Errorf("what was dropped: got %+v, want it refused", got)
	}
	if got := g.one(31, noon, "b", at(1, noon.Add(10*time.Minute))); got.by != "a" {
		t.Errorf("what was kept: got %+v, want it refused as a's", got)
	}
}

// TestUserDropsOnlyOwnGrants has a job of ann run every second, until it needs many times the space
// of the grants.
func TestUserDropsOnlyOwnGrants(t *testing.T) {
	ledger := &Ledger{o: Options{Holding: func(key job.Key) catalog.Holding {
		return catalog.Holding{Key: key, Owner: map[job.Key]string{numbered(1): "ann", numbered(2): "bob"}[key]}
	}}}
	of := func(key uint64, due time.Time) claim { return ledger.claimOf(at(key, due).Occurrence) }
	g := newGrants()
	g.most = 100
	g.one(1, noon, "a", of(2, noon))
	for s := range 2000 {
		now := noon.Add(time.Duration(s) * time.Second)
		g.one(uint64(s+2), now, "a", of(1, now))
	}
	var b bytes.Buffer
	if err := g.freeze().encode(&b); err != nil {
		t.Fatal(err)
	}
	back, err := decodeGrants(&b)
	if err != nil {
		t.Fatal(err)
	}
	if len(g.floors) != 1 || back.count != g.count || g.count > g.most || g.count < g.most-60 {
		t.Errorf("got %d grants, %d after a snapshot, and floors %v, want up to 100 and one floor", g.count, back.count, g.floors)
	}
	dropped, last := noon.Add(time.Minute), noon.Add(1999*time.Second)
	forgotten := result{grant: holders.Refused}
	for _, one := range []struct {
		name string
		c    claim
		want result
	}{
		{"one of ann's that was dropped", of(1, dropped), forgotten},
		{"the same, by a member that does not know the job", at(1, dropped), forgotten},
		{"the newest of ann's", of(1, last), result{grant: holders.Refused, by: "a"}},
		{"one of bob's that ran", of(2, noon), result{grant: holders.Refused, by: "a"}},
		{"one of bob's that nobody took", of(2, noon.Add(time.Second)), result{grant: holders.Granted, token: 3000}},
	} {
		if got := back.one(3000, last, "b", one.c); got != one.want {
			t.Errorf("%s: got %+v, want %+v", one.name, got, one.want)
		}
	}
	back.one(3001, last.Add(2*retention), "a", of(2, last.Add(2*retention)))
	if len(back.floors) != 0 || len(back.counts) != 1 {
		t.Errorf("two days later: got floors %v and counts %v, want no floors and one grant", back.floors, back.counts)
	}
}

func TestSnapshotIsOfItsMoment(t *testing.T) {
	g := newGrants()
	for key := range uint64(100) {
		g.one(key+1, noon, fmt.Sprint("member-", key%7), at(key, noon.Add(time.Duration(key)*time.Second)))
	}
	i := g.freeze()
	g.one(200, noon, "late", at(1000, noon))
	g.one(201, noon, "late", claim{Occurrence: at(3, noon.Add(3*time.Second)).Occurrence, from: "member-3"})
	var b bytes.Buffer
	if err := i.encode(&b); err != nil {
		t.Fatal(err)
	}
	back, err := decodeGrants(&b)
	if err != nil {
		t.Fatal(err)
	}
	if back.count != 100 || back.floor != g.floor || back.newest != g.newest || len(back.order) != 2 {
		t.Errorf("read back: got %+v, want 100 grants in two buckets", back)
	}
	for key := range uint64(100) {
		want := result{holders.Refused, fmt.Sprint("member-", key%7), 0, false, 0}
		if got := back.one(300, noon, "x", at(key, noon.Add(time.Duration(key)*time.Second))); got != want {
			t.Errorf("occurrence %d: got %+v, want %+v", key, got, want)
		}
	}
	if got := back.one(301, noon, "x", at(1000, noon)); got.grant != holders.Granted {
		t.Errorf("what came after the snapshot: got %+v, want it granted", got)
	}
}

func TestMachineThatCannotFollowGrantsNothing(t *testing.T) {
	for name, hurt := range map[string]func(m *machine){
		"an entry": func(m *machine) { m.Apply(logOf(9, []byte("?"))) },
		"a snapshot": func(m *machine) {
			if err := m.Restore(readCloser{strings.NewReader("?")}); err != nil {
				t.Errorf("restore: got %v, want raft not to hear of it", err)
			}
		},
	} {
		var failed error
		m := &machine{fail: func(err error) { failed = err }, grants: newGrants()}
		good := entry{time: noon.UnixNano(), batches: []batch{{"a", 0, []claim{at(1, noon)}}}}.encode()
		if _, ok := m.Apply(logOf(1, good)).([][]result); !ok {
			t.Fatal("a good entry was not applied")
		}
		hurt(m)
		if _, ok := m.Apply(logOf(10, good)).(error); !ok || failed == nil {
			t.Errorf("after %s that is damaged: grants, failed with %v, want an error", name, failed)
		}
		if _, err := m.Snapshot(); err == nil {
			t.Errorf("after %s that is damaged: got a snapshot", name)
		}
	}
}

// TestClaimsFarAheadReachNoLog: many claims for a distant future would displace all real ones from
// the ledger, which would then be rejected forever.
func TestClaimsFarAheadReachNoLog(t *testing.T) {
	now := time.Now()
	for ahead, want := range map[time.Duration]bool{-time.Hour: false, holders.MaxSkew: false, time.Minute: true, 2 * time.Hour: true} {
		if got := (batch{"a", 0, []claim{at(1, now), at(2, now.Add(ahead))}}).isAhead(now); got != want {
			t.Errorf("due in %v: got %v, want %v", ahead, got, want)
		}
	}
	leader := &voter{ledger: &Ledger{o: Options{ClockIsSure: func() bool { return true }}}}
	if _, err := leader.propose(t.Context(), batch{"a", 0, []claim{at(1, now.Add(24*time.Hour))}}); err != errAhead {
		t.Errorf("claimed for tomorrow: got %v, want %v", err, errAhead)
	}
}

package ledger

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/gossip/holders"
)

// dueNow is a claim of an occurrence that is due now.
func dueNow(key uint64) holders.Claim {
	return holders.Claim{Occurrence: exchange.OccurrenceOf(numbered(key), time.Now())}
}

// wipe kills a voter, and starts it again with what a directory holds; "": nothing.
func (r *testRing) wipe(id, from string) {
	r.t.Helper()
	if r.get(id) != nil {
		r.kill(id)
	}
	err := os.RemoveAll(filepath.Join(r.dir, id))
	if err == nil && from != "" {
		err = os.CopyFS(filepath.Join(r.dir, id), os.DirFS(from))
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.start(id)
}

// settled waits until a voter has all entries.
func (r *testRing) settled(id string) {
	for r.get(id).Status().Index < r.get(r.leader()).Status().Index {
		fakeSleep(10 * time.Millisecond)
	}
}

// recovers has a voter's log become the ledger, and waits for the others to be taken in.
// What is due from some minutes later on is granted, with greater tokens.
func (r *testRing) recovers(id string, newest uint64) {
	r.t.Helper()
	if err := r.get(id).Recover(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	fakeSleep(time.Second)
	r.want(r.claim("e", dueNow(50)), holders.Refused, "") // it is unknown whether it was granted
	fakeSleep(recoverMargin + time.Minute)
	r.votersBecome(three...)
	if got := r.claim("e", dueNow(51)); got.Grant != holders.Granted || got.Token <= newest {
		r.t.Errorf("after the recovery: got %+v, want it granted with a token above %d", got, newest)
	}
	if p := r.get(id).Status().Problem; p != "" {
		r.t.Errorf("after the recovery there is a problem: %s", p)
	}
}

// voterIs waits until the leader has added a voter with its current log.
func (r *testRing) voterIs(id string) {
	r.t.Helper()
	for range 600 {
		v := r.get(id).voterNow()
		if leader := r.get(r.leader()).voterNow(); v != nil && slices.ContainsFunc(leader.servers(), func(s raft.Server) bool { return s.ID == v.id }) {
			r.settled(id)
			return
		}
		fakeSleep(100 * time.Millisecond)
	}
	r.t.Fatalf("voter %s was not added within a minute", id)
}

func TestLedgerIsRecoveredFromTheOnlyLogLeft(t *testing.T) {
	withRing(t, three, []string{"d", "e"}, func(t *testing.T, r *testRing) {
		c := dueNow(1)
		r.want(r.claim("d", c), holders.Granted, "")
		left := r.follower()
		r.settled(left)
		r.kill(left) // it misses some entries
		newest := r.claim("d", dueNow(2)).Token
		for _, id := range three {
			if id != left {
				r.wipe(id, "")
			}
		}
		r.start(left)
		r.want(r.claim("e", c), holders.Postponed, "")
		for _, id := range three {
			if err := r.get(id).Recover(t.Context()); id != left && (err == nil || !strings.Contains(err.Error(), "has its log")) {
				t.Errorf("%s has lost its log: got %v, want its recovery refused", id, err)
			}
		}
		r.recovers(left, newest)
		r.want(r.claim("e", c), holders.Refused, "")
	})
}

func TestRecoveryIsRefusedWhileAMajorityHasItsLogs(t *testing.T) {
	withRing(t, three, []string{"d", "e"}, func(t *testing.T, r *testRing) {
		r.want(r.claim("d", dueNow(1)), holders.Granted, "")
		refused := func() {
			t.Helper()
			for _, id := range three {
				if r.get(id) == nil {
					continue
				}
				if err := r.get(id).Recover(t.Context()); err == nil {
					t.Errorf("%s: its log becomes the ledger", id)
				}
			}
		}
		refused()
		r.kill(r.follower())
		refused()
		r.kill(r.leader()) // it is unknown whether it has lost anything
		refused()
	})
}

// copyLog kills a voter, copies its log, and starts it again.
func (r *testRing) copyLog(id string) (dir string) {
	r.t.Helper()
	r.kill(id)
	dir = r.t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(r.dir, id))); err != nil {
		r.t.Fatal(err)
	}
	r.start(id)
	return dir
}

// rejected waits until a voter does not run, because its log is an older copy.
func (r *testRing) rejected(id string) {
	r.t.Helper()
	r.rejects = true
	for range 100 {
		if s := r.get(id).Status(); s.State == "" && strings.Contains(s.Problem, "older copy") {
			return
		}
		fakeSleep(100 * time.Millisecond)
	}
	r.t.Fatalf("voter %s was restored: got %+v, want it stopped", id, r.get(id).Status())
}

// others returns the voters apart from some.
func others(ids ...string) []string {
	return slices.DeleteFunc(slices.Clone(three), func(id string) bool { return slices.Contains(ids, id) })
}

// TestRestoredVoterIsRejected restores one voter after a grant that its copy lacks. The others have
// been running, have restarted, or are the leader alone, which needs the restored voter for a majority.
func TestRestoredVoterIsRejected(t *testing.T) {
	for _, c := range []struct {
		what string
		kill func(back, leader string) []string
		want holders.Grant // until the killed voters start
	}{
		{"the others run", func(string, string) []string { return nil }, holders.Refused},
		{"the others restart", func(back, _ string) []string { return others(back) }, holders.Postponed},
		{"the leader needs it", func(back, leader string) []string { return others(back, leader) }, holders.Postponed},
		{"the leader is down", func(_, leader string) []string { return []string{leader} }, holders.Postponed},
	} {
		t.Run(c.what, func(t *testing.T) {
			withRing(t, three, []string{"d", "e"}, func(t *testing.T, r *testRing) {
				back := r.follower()
				r.settled(back)
				old, due := r.copyLog(back), dueNow(1)
				r.want(r.claim("d", due), holders.Granted, "")
				r.settled(back)
				fakeSleep(2 * maintainInterval)
				down := c.kill(back, r.leader())
				for _, id := range down {
					r.kill(id)
				}
				r.wipe(back, old)
				r.want(r.claim("e", due), c.want, map[holders.Grant]string{holders.Refused: "d"}[c.want])
				for _, id := range down {
					r.start(id)
				}
				r.rejected(back)
				r.kill(back)
				r.start(back)
				r.rejected(back)
				r.want(r.claim("e", due), holders.Refused, "d")

				r.wipe(back, "")
				r.voterIs(back)
				r.kill(r.leader()) // the wiped voter is needed now
				r.want(r.claim("e", due), holders.Refused, "d")
			})
		})
	}
}

// TestMostVotersAreRestored: the only voter with its log rejects two restored ones. Their logs are
// removed, and its own one becomes the ledger.
func TestMostVotersAreRestored(t *testing.T) {
	withRing(t, three, []string{"d", "e"}, func(t *testing.T, r *testRing) {
		left := r.follower()
		old := map[string]string{}
		for _, id := range others(left) {
			old[id] = r.copyLog(id)
		}
		due := dueNow(1)
		newest := r.claim("d", due)
		r.want(newest, holders.Granted, "")
		r.settled(left)
		fakeSleep(2 * maintainInterval)
		for id := range old {
			r.kill(id)
		}
		for id, from := range old {
			r.wipe(id, from)
		}
		for id := range old {
			r.rejected(id)
		}
		r.want(r.claim("e", due), holders.Postponed, "")
		if err := r.get(left).Recover(t.Context()); err == nil {
			t.Error("recovered while the others have logs")
		}
		for id := range old {
			r.wipe(id, "")
		}
		r.want(r.claim("e", due), holders.Postponed, "")
		r.recovers(left, newest.Token)
		r.want(r.claim("e", due), holders.Refused, "")
	})
}

// A voter whose disk was restored from an older copy, and a voter that was down meanwhile, are a
// majority that lacks some grants: they grant nothing.
func TestMajorityWithoutSomeGrantsGrantsNothing(t *testing.T) {
	withRing(t, three, []string{"d", "e"}, func(t *testing.T, r *testRing) {
		r.want(r.claim("d", dueNow(1)), holders.Granted, "")
		down := r.follower()
		r.kill(down)
		var back string
		for _, id := range three {
			if id != down && id != r.leader() {
				back = id
			}
		}
		r.settled(back)
		r.kill(back)
		old := t.TempDir()
		if err := os.CopyFS(old, os.DirFS(filepath.Join(r.dir, back))); err != nil {
			t.Fatal(err)
		}
		r.start(back)
		c := dueNow(2)
		newest := r.claim("d", c)
		r.want(newest, holders.Granted, "")
		r.kill(r.leader())
		r.wipe(back, old)
		if r.get(down) == nil {
			r.start(down)
		}
		leader := r.leader()
		r.want(r.claim("d", dueNow(3)), holders.Postponed, "") // it reports the grants that it has seen
		r.want(r.claim("e", c), holders.Postponed, "")
		if got := r.get(leader).Status().Problem; !strings.Contains(got, "older copy") {
			t.Errorf("the problem is %q", got)
		}
		for _, id := range three {
			if r.get(id) == nil {
				r.start(id)
			}
		}
		r.recovers(leader, newest.Token)
		r.want(r.claim("e", c), holders.Refused, "")
	})
}

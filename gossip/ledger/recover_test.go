package ledger

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
		time.Sleep(10 * time.Millisecond) // of the bubble
	}
}

// recovers has a voter's log become the ledger, and waits for the others to be taken in.
// What is due from some minutes later on is granted, with greater tokens.
func (r *testRing) recovers(id string, newest uint64) {
	r.t.Helper()
	if err := r.get(id).Recover(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	time.Sleep(time.Second)
	r.want(r.claim("e", dueNow(50)), holders.Refused, "") // it is unknown whether it was granted
	time.Sleep(recoverMargin + time.Minute)
	r.votersBecome(three...)
	if got := r.claim("e", dueNow(51)); got.Grant != holders.Granted || got.Token <= newest {
		r.t.Errorf("after the recovery: got %+v, want it granted with a token above %d", got, newest)
	}
	if p := r.get(id).Status().Problem; p != "" {
		r.t.Errorf("after the recovery there is a problem: %s", p)
	}
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

// A voter whose disk was restored from an older copy, and a voter that was down meanwhile, are a
// majority that lacks some grants: they grant nothing.
func TestVoterPutBackToAnOlderCopyIsRejected(t *testing.T) {
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

package ledger

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/gossip/register"
)

// dueNow is a claim of an occurrence that is due now.
func dueNow(key uint64) register.Claim {
	return register.Claim{Occurrence: exchange.OccurrenceOf(numbered(key), time.Now())}
}

// wipe kills a voter, and starts it again with what a directory holds; "": nothing.
func (w *world) wipe(id, from string) {
	w.t.Helper()
	if w.get(id) != nil {
		w.kill(id)
	}
	err := os.RemoveAll(filepath.Join(w.dir, id))
	if err == nil && from != "" {
		err = os.CopyFS(filepath.Join(w.dir, id), os.DirFS(from))
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.start(id)
}

// settled waits until a voter has all entries.
func (w *world) settled(id string) {
	for w.get(id).Status().Index < w.get(w.leader()).Status().Index {
		time.Sleep(10 * time.Millisecond) // of the bubble
	}
}

// recovers has a voter's log become the ledger, and waits for the others to be taken in.
// What is due from some minutes later on is granted, with greater tokens.
func (w *world) recovers(id string, newest uint64) {
	w.t.Helper()
	if err := w.get(id).Recover(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	time.Sleep(time.Second)
	w.want(w.claim("e", dueNow(50)), register.Refused, "") // it is unknown whether it was granted
	time.Sleep(recoverMargin + time.Minute)
	w.votersBecome(three...)
	if got := w.claim("e", dueNow(51)); got.Grant != register.Granted || got.Token <= newest {
		w.t.Errorf("after the recovery: got %+v, want it granted with a token above %d", got, newest)
	}
	if p := w.get(id).Status().Problem; p != "" {
		w.t.Errorf("after the recovery there is a problem: %s", p)
	}
}

func TestLedgerIsRecoveredFromTheOnlyLogLeft(t *testing.T) {
	inWorld(t, three, []string{"d", "e"}, func(t *testing.T, w *world) {
		c := dueNow(1)
		w.want(w.claim("d", c), register.Granted, "")
		left := w.follower()
		w.settled(left)
		w.kill(left) // it misses some entries
		newest := w.claim("d", dueNow(2)).Token
		for _, id := range three {
			if id != left {
				w.wipe(id, "")
			}
		}
		w.start(left)
		w.want(w.claim("e", c), register.Postponed, "")
		for _, id := range three {
			if err := w.get(id).Recover(t.Context()); id != left && (err == nil || !strings.Contains(err.Error(), "has its log")) {
				t.Errorf("%s has lost its log: got %v, want its recovery refused", id, err)
			}
		}
		w.recovers(left, newest)
		w.want(w.claim("e", c), register.Refused, "")
	})
}

func TestRecoveryIsRefusedWhileAMajorityHasItsLogs(t *testing.T) {
	inWorld(t, three, []string{"d", "e"}, func(t *testing.T, w *world) {
		w.want(w.claim("d", dueNow(1)), register.Granted, "")
		refused := func() {
			t.Helper()
			for _, id := range three {
				if w.get(id) == nil {
					continue
				}
				if err := w.get(id).Recover(t.Context()); err == nil {
					t.Errorf("%s: its log becomes the ledger", id)
				}
			}
		}
		refused()
		w.kill(w.follower())
		refused()
		w.kill(w.leader()) // it is unknown whether it has lost anything
		refused()
	})
}

// A voter whose disk was restored from an older copy, and a voter that was down meanwhile, are a
// majority that lacks some grants: they grant nothing.
func TestVoterPutBackToAnOlderCopyIsRejected(t *testing.T) {
	inWorld(t, three, []string{"d", "e"}, func(t *testing.T, w *world) {
		w.want(w.claim("d", dueNow(1)), register.Granted, "")
		down := w.follower()
		w.kill(down)
		var back string
		for _, id := range three {
			if id != down && id != w.leader() {
				back = id
			}
		}
		w.settled(back)
		w.kill(back)
		old := t.TempDir()
		if err := os.CopyFS(old, os.DirFS(filepath.Join(w.dir, back))); err != nil {
			t.Fatal(err)
		}
		w.start(back)
		c := dueNow(2)
		newest := w.claim("d", c)
		w.want(newest, register.Granted, "")
		w.kill(w.leader())
		w.wipe(back, old)
		if w.get(down) == nil {
			w.start(down)
		}
		leader := w.leader()
		w.want(w.claim("d", dueNow(3)), register.Postponed, "") // it reports the grants that it has seen
		w.want(w.claim("e", c), register.Postponed, "")
		if got := w.get(leader).Status().Problem; !strings.Contains(got, "older copy") {
			t.Errorf("the problem is %q", got)
		}
		for _, id := range three {
			if w.get(id) == nil {
				w.start(id)
			}
		}
		w.recovers(leader, newest.Token)
		w.want(w.claim("e", c), register.Refused, "")
	})
}

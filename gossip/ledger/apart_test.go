package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cronring/cronring/gossip/holders"
)

// A member was granted an occurrence for another entry of the same key. Members with
// the same entry share one grant beside it, through hand-overs and deaths too.
func TestGrantsOfAnotherEntryAreApart(t *testing.T) {
	withRing(t, three, []string{"d", "e", "hostile"}, func(t *testing.T, r *testRing) {
		for _, id := range []string{"a", "d", "e"} {
			r.hold(id, 7, 1)
		}
		r.hold("hostile", 7, 2)
		var unknown error
		rollout := false
		r.foreign = func(asker, member string) (bool, error) {
			return !rollout && r.holding(asker, numbered(7)) != r.holding(member, numbered(7)), unknown
		}
		c := claimsOf(7)[0]
		taken := r.claim("hostile", c)
		r.want(taken, holders.Granted, "")

		unknown = errors.New("its jobs are not known")
		r.want(r.claim("d", c), holders.Postponed, "")
		unknown, rollout = nil, true
		r.want(r.claim("d", c), holders.Refused, "hostile")
		rollout = false

		first := r.claim("d", c)
		r.want(first, holders.Granted, "")
		if again := r.claim("d", c); again.Grant != holders.Granted || again.Token <= first.Token {
			t.Errorf("the same claim again: got %+v, want it granted after %+v", again, first)
		}
		if again := r.claim("hostile", c); again.Grant != holders.Granted || again.Token <= taken.Token {
			t.Errorf("the claim of the other entry again: got %+v, want it granted after %+v", again, taken)
		}
		r.want(r.claim("e", c), holders.Refused, "d")

		again := c
		again.Again, again.From = true, "d"
		r.want(r.claim("e", again), holders.Refused, "d")
		r.kill("d")
		r.want(r.claim("e", again), holders.Granted, "")
		r.kill("e")
		again.From = "e"
		r.want(r.claim("a", again), holders.Granted, "")
	})
}

// What members of the same entry were granted stays theirs after an edit: the hash of
// a grant alone makes nothing another job.
func TestGrantOfTheSameEntryOutlivesAnEdit(t *testing.T) {
	withRing(t, three, []string{"d", "e"}, func(t *testing.T, r *testRing) {
		r.foreign = func(string, string) (bool, error) { return true, nil }
		r.hold("d", 7, 1)
		r.hold("e", 7, 1)
		c := claimsOf(7)[0]
		r.want(r.claim("d", c), holders.Granted, "")
		r.hold("d", 7, 2)
		r.want(r.claim("e", c), holders.Refused, "d")
	})
}

// A voter starts with the log and the snapshot of version 0.7.0. In it member d was granted the
// occurrences of keys 1 and 2 and returned the second, which now counts as its own. Member e was
// granted that of key 3 after the snapshot. No occurrence is granted a second time.
func TestLedgerOfVersion070IsRead(t *testing.T) {
	for name, restarts := range map[string]int{"as it was": 0, "with a snapshot of today": 1} {
		t.Run(name, func(t *testing.T) {
			withRing(t, []string{"a"}, []string{"d", "e"}, func(t *testing.T, r *testRing) {
				r.kill("a")
				at := filepath.Join(r.dir, "a")
				if err := os.RemoveAll(at); err != nil {
					t.Fatal(err)
				}
				if err := os.CopyFS(at, os.DirFS("testdata/version-0.7.0")); err != nil {
					t.Fatal(err)
				}
				r.start("a")
				for _, id := range []string{"a", "d", "e"} {
					for key := range uint64(5) {
						r.hold(id, key, 1)
					}
				}
				c := claimsOf(0, 1, 2, 3, 4)
				for range restarts {
					r.leader()
					if err := r.get("a").voterNow().raft.Load().Snapshot().Error(); err != nil {
						t.Fatal(err)
					}
					r.leave("a")
					r.start("a")
				}
				r.want(r.claim("e", c[1]), holders.Refused, "d")
				r.want(r.claim("d", c[1]), holders.Granted, "")
				r.want(r.claim("e", c[2]), holders.Refused, "d")
				r.want(r.claim("d", c[3]), holders.Refused, "e")
				r.kill("e")
				c[3].Again, c[3].From = true, "e"
				r.want(r.claim("d", c[3]), holders.Granted, "")
				r.want(r.claim("a", c[3]), holders.Refused, "d")
				r.want(r.claim("d", c[4]), holders.Granted, "")
				r.want(r.claim("a", c[4]), holders.Refused, "d")
				next := c[1]
				next.Due += int64(time.Second)
				r.want(r.claim("a", next), holders.Granted, "")
			})
		})
	}
}

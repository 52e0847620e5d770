package ledger

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/hashicorp/raft"

	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/gossip/holders"
	"github.com/cronring/cronring/gossip/link"
)

func TestClaimIsGrantedOnce(t *testing.T) {
	withRing(t, three, []string{"d"}, func(t *testing.T, r *testRing) {
		leader, follower := r.leader(), r.follower()
		c := claimsOf(1)[0]
		first := r.claim("d", c)
		r.want(first, holders.Granted, "")
		r.want(r.claim(leader, c), holders.Refused, "d")
		r.want(r.claim(follower, c), holders.Refused, "d")
		between := r.claim("d", claimsOf(2)[0])
		again := r.claim("d", c)
		if again.Grant != holders.Granted || first.Token == 0 || again.Token <= between.Token {
			t.Errorf("the same claim again: got %+v, want it granted with a greater token than %+v and %+v", again, first, between)
		}
	})
}

func TestClaimsThatComeTogetherAreOneEntry(t *testing.T) {
	withRing(t, three, []string{"d"}, func(t *testing.T, r *testRing) {
		leader := r.get(r.leader())
		before := leader.Status().Index
		var keys []uint64
		for key := range uint64(1000) {
			keys = append(keys, key)
		}
		for i, got := range r.get("d").Claim(t.Context(), claimsOf(keys...)) {
			if got.Grant != holders.Granted || got.Key != numbered(keys[i]) || got.Token != before+1 {
				t.Fatalf("claim %d: got %+v, want it granted by entry %d", i, got, before+1)
			}
		}
		if got := leader.Status(); got.Index != before+1 || got.Grants != 1000 {
			t.Errorf("after 1,000 claims: got %+v, want one entry more", got)
		}
		var all sync.WaitGroup
		for i, id := range []string{"a", "b", "c", "d"} {
			all.Go(func() {
				fakeSleep(time.Duration(i) * time.Millisecond)
				r.claim(id, claimsOf(2000 + uint64(i))[0])
			})
		}
		all.Wait()
		if got := leader.Status(); got.Index != before+2 || got.Grants != 1004 {
			t.Errorf("after claims of four members in three milliseconds: got %+v, want one entry more", got)
		}
		for key := range uint64(500) {
			for _, id := range []string{"a", "b", "c", "d"} {
				all.Go(func() { r.claim(id, claimsOf(1000 + key)[0]) })
			}
		}
		all.Wait()
		if got := leader.Status(); got.Grants != 1504 || got.Index > before+500 {
			t.Errorf("after 2,000 concurrent claims: got %+v, want 1,504 grants and far fewer entries than claims", got)
		}
	})
}

// TestFullEntryDoesNotWait: a proposal that fills an entry does not wait for others.
func TestFullEntryDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		together, rest := (&voter{}).gather(&proposal{batch: batch{claims: make([]claim, mostClaims)}})
		if waited := time.Since(start); len(together) != 1 || rest != nil || waited > 0 {
			t.Errorf("got %d proposals, with a rest: %v, after %v, want 1 without a rest immediately", len(together), rest != nil, waited)
		}
	})
}

// TestIdleVotersSendLittle: apart from heartbeats, voters without claims send few messages.
func TestIdleVotersSendLittle(t *testing.T) {
	withRing(t, three, nil, func(t *testing.T, r *testRing) {
		r.leader()
		fakeSleep(10 * time.Second) // the other voters find the leader
		before := r.network.Sent()
		fakeSleep(time.Minute)
		if rate := (r.network.Sent() - before) / 60; rate > 2000 {
			t.Errorf("three voters without claims send %d bytes a second", rate)
		}
	})
}

func TestClaimsSurviveTheLeader(t *testing.T) {
	withRing(t, three, []string{"d"}, func(t *testing.T, r *testRing) {
		first := claimsOf(1)[0]
		r.want(r.claim("d", first), holders.Granted, "")
		r.kill(r.leader())
		lost := time.Now()
		r.want(r.claim("d", claimsOf(2)[0]), holders.Granted, "")
		if took := time.Since(lost); took > 6*time.Second {
			t.Errorf("the next grant came %s after the leader was lost", took)
		}
		r.want(r.claim(r.leader(), first), holders.Refused, "d")
	})
}

func TestClaimsOfAMinorityAreUnknown(t *testing.T) {
	withRing(t, three, []string{"d", "e"}, func(t *testing.T, r *testRing) {
		leader := r.leader()
		var rest []string
		for _, id := range three {
			if id != leader {
				rest = append(rest, id)
			}
		}
		r.network.Partition([]string{leader, "d"}, append(rest, "e"))
		c := claimsOf(1)[0]
		r.want(r.claim("d", c), holders.Postponed, "")
		r.want(r.claim(leader, c), holders.Postponed, "")
		r.want(r.claim("e", c), holders.Granted, "")
		r.network.Heal()
		r.want(r.claim("d", c), holders.Refused, "e")
		r.want(r.claim(leader, c), holders.Refused, "e")
	})
}

func TestClaimsWithoutAMajorityAreUnknown(t *testing.T) {
	withRing(t, three, nil, func(t *testing.T, r *testRing) {
		r.leader()
		r.kill("a")
		r.kill("b")
		r.want(r.claim("c", claimsOf(1)[0]), holders.Postponed, "")
		r.start("a")
		r.want(r.claim("c", claimsOf(2)[0]), holders.Granted, "")
	})
}

func TestClaimsAreKeptThroughARestartOfAllVoters(t *testing.T) {
	withRing(t, three, []string{"d"}, func(t *testing.T, r *testRing) {
		c := claimsOf(1)[0]
		first := r.claim("d", c)
		for round := range 3 {
			for _, id := range three {
				if round == 1 {
					r.leave(id)
				} else {
					r.kill(id)
				}
			}
			for _, id := range three {
				r.start(id)
			}
			got := r.claim("d", c)
			if got.Grant != holders.Granted || got.Token <= first.Token {
				t.Errorf("after restart %d: got %+v, want it granted after %+v", round, got, first)
			}
			first = got
			r.want(r.claim("a", c), holders.Refused, "d")
		}
	})
}

func TestClaimAgainTakesFromWhoIsGoneAlone(t *testing.T) {
	withRing(t, three, []string{"d", "e"}, func(t *testing.T, r *testRing) {
		c := claimsOf(1)[0]
		first := r.claim("d", c)
		c.Again = true
		r.want(r.claim("e", c), holders.Refused, "d")
		r.kill("d")
		plain := c
		plain.Again = false
		r.want(r.claim("e", plain), holders.Refused, "d")
		for _, c.From = range []string{"", "a"} { // as d had it after that one
			r.want(r.claim("e", c), holders.Refused, "d")
		}
		c.From = "d"
		next := r.claim("e", c)
		r.want(next, holders.Granted, "")
		if next.Token <= first.Token {
			t.Errorf("token of the second grant: got %d, want more than %d", next.Token, first.Token)
		}
		r.start("d")
		r.want(r.claim("d", c), holders.Refused, "e")
		r.want(r.claim("a", c), holders.Refused, "e")
	})
}

// TestClaimTakesWhatItsHolderGaveUp: d was granted an occurrence and gave it up. The claim of e names another
// member, which claimed it later, was refused, and left.
func TestClaimTakesWhatItsHolderGaveUp(t *testing.T) {
	withRing(t, three, []string{"d", "e"}, func(t *testing.T, r *testRing) {
		c := claimsOf(1)[0]
		r.want(r.claim("d", c), holders.Granted, "")
		c.Again, c.From, c.GaveUp = true, "a", 1
		r.want(r.claim("e", c), holders.Refused, "d")
		r.gaveUp("d")
		plain := c
		plain.Again = false
		r.want(r.claim("e", plain), holders.Refused, "d")
		r.leave("d")
		r.start("d")
		r.want(r.claim("d", c), holders.Granted, "") // it takes it back
		r.want(r.claim("e", c), holders.Refused, "d")
		r.gaveUp("d")
		r.want(r.claim("e", c), holders.Granted, "")
	})
}

func TestClaimIsForwardedByAVoter(t *testing.T) {
	withRing(t, three, []string{"d"}, func(t *testing.T, r *testRing) {
		r.network.Partition([]string{"d"}, []string{r.leader()})
		r.want(r.claim("d", claimsOf(1)[0]), holders.Granted, "")
	})
}

func TestClaimIsOfWhoSendsIt(t *testing.T) {
	withRing(t, three, []string{"d"}, func(t *testing.T, r *testRing) {
		leader := r.leader()
		for _, forwarded := range []bool{false, true} {
			forged := request{forwarded, newestToken{}, batch{"a", 0, []claim{at(1, time.Now())}}}
			if forged.claimant == leader {
				forged.claimant = "b"
			}
			if _, err := r.get("d").send(t.Context(), leader, forged); err == nil || !strings.Contains(err.Error(), "are not yours") {
				t.Errorf("claim of %s by d: got %v, want it refused", forged.claimant, err)
			}
		}
		r.want(r.claim("d", claimsOf(1)[0]), holders.Granted, "")
	})
}

// TestClaimWithAnImpossibleToken: a member reports a newest token that no log can contain. The voters ignore it,
// and grant the claims of other members.
func TestClaimWithAnImpossibleToken(t *testing.T) {
	withRing(t, three, []string{"d", "e"}, func(t *testing.T, r *testRing) {
		impossible := request{false, newestToken{mostToken + 1, 1}, batch{"d", 0, []claim{at(1, time.Now())}}}
		if _, err := r.get("d").send(t.Context(), r.leader(), impossible); err == nil {
			t.Error("the token is accepted")
		}
		r.want(r.claim("e", claimsOf(1)[0]), holders.Granted, "")
	})
}

func TestRaftIsForVotersAlone(t *testing.T) {
	withRing(t, three, []string{"d"}, func(t *testing.T, r *testRing) {
		to := link.Peer{ID: r.leader(), Addr: r.leader()}
		for id, want := range map[string]bool{r.follower(): true, "d": false} {
			c, err := r.get(id).o.Link.Dial(t.Context(), to, link.Raft)
			if err != nil {
				t.Fatal(err)
			}
			c.SetReadDeadline(time.Now().Add(time.Second))
			_, err = c.Read(make([]byte, 1))
			if e, ok := err.(net.Error); (ok && e.Timeout()) != want {
				t.Errorf("stream of %s: got %v, want it to be let in: %v", id, err, want)
			}
			c.Close()
		}
	})
}

func TestLeaveHandsLeadershipOver(t *testing.T) {
	withRing(t, three, []string{"d"}, func(t *testing.T, r *testRing) {
		r.want(r.claim("d", claimsOf(1)[0]), holders.Granted, "")
		for i, leaves := range []func(id string){func(id string) { r.get(id).Leave() }, r.leave} {
			first, begun := r.leader(), time.Now()
			leaves(first)
			second := first
			for second == first && time.Since(begun) < leastBeat {
				fakeSleep(10 * time.Millisecond)
				second = r.leader()
			}
			if took := time.Since(begun); second == first || took >= leastBeat {
				t.Fatalf("hand-over %d from %s to %s took %s, want less than an election", i, first, second, took)
			}
			r.want(r.claim("d", claimsOf(uint64(2 + i))[0]), holders.Granted, "")
		}
	})
}

// votersBecome waits until the leader's log has exactly these voters.
func (r *testRing) votersBecome(voters ...string) {
	r.t.Helper()
	r.voters = voters
	var got []string
	for range 600 {
		got = slices.Sorted(slices.Values(r.get(r.leader()).Status().Voters))
		if slices.Equal(got, voters) {
			return
		}
		fakeSleep(100 * time.Millisecond)
	}
	r.t.Fatalf("voters after a minute: got %v, want %v", got, voters)
}

func TestVotersChangeOneByOne(t *testing.T) {
	for _, leader := range []string{"stays", "goes"} {
		t.Run(leader, func(t *testing.T) {
			withRing(t, three, []string{"d", "e"}, func(t *testing.T, r *testRing) {
				c := claimsOf(1)[0]
				r.want(r.claim("e", c), holders.Granted, "")
				goes := r.leader()
				if leader == "stays" {
					goes = r.follower()
				}
				voters := slices.DeleteFunc([]string{"a", "b", "c", "d"}, func(id string) bool { return id == goes })
				for _, id := range []string{"a", "b", "c", "d", "e"} {
					if err := r.get(id).SetVoters(voters); err != nil {
						t.Fatal(err)
					}
				}
				r.votersBecome(voters...)
				r.leave(goes)
				r.want(r.claim("e", claimsOf(2)[0]), holders.Granted, "")
				r.want(r.claim("d", c), holders.Refused, "e")
			})
		})
	}
}

func TestVoterWithoutItsLogIsTakenInAnew(t *testing.T) {
	withRing(t, three, []string{"d"}, func(t *testing.T, r *testRing) {
		c := claimsOf(1)[0]
		r.want(r.claim("d", c), holders.Granted, "")
		lost := r.follower()
		before := r.get(lost).voterNow().id
		r.kill(lost)
		if err := os.RemoveAll(filepath.Join(r.dir, lost)); err != nil {
			t.Fatal(err)
		}
		r.start(lost)
		for range 600 {
			leader := r.get(r.leader()).voterNow()
			if servers := leader.servers(); len(servers) == 3 && !slices.ContainsFunc(servers, func(s raft.Server) bool { return s.ID == before }) {
				break
			}
			fakeSleep(100 * time.Millisecond)
		}
		r.kill(r.leader()) // the voter that came back is needed now
		r.want(r.claim(lost, c), holders.Refused, "d")
	})
}

func TestLedgerIsNotBegunASecondTime(t *testing.T) {
	withRing(t, three, []string{"d"}, func(t *testing.T, r *testRing) {
		c := claimsOf(1)[0]
		r.want(r.claim("d", c), holders.Granted, "")
		for _, id := range []string{"a", "b"} {
			r.kill(id)
			if err := os.RemoveAll(filepath.Join(r.dir, id)); err != nil {
				t.Fatal(err)
			}
		}
		r.start("a")
		r.start("b")
		r.want(r.claim("a", c), holders.Postponed, "")
		fakeSleep(30 * time.Second)
		r.want(r.claim("a", c), holders.Postponed, "")
	})
}

func TestLedgerBeginsWhenAllVotersAreThere(t *testing.T) {
	withRing(t, three, nil, func(t *testing.T, r *testRing) {
		r.kill("c")
		r.want(r.claim("b", claimsOf(1)[0]), holders.Postponed, "")
		r.start("c")
		r.want(r.claim("b", claimsOf(1)[0]), holders.Granted, "")
	})
}

func TestSnapshotCatchesALaggingVoterUp(t *testing.T) {
	withRing(t, three, []string{"d"}, func(t *testing.T, w *testRing) {
		lagging := w.follower()
		w.kill(lagging)
		c := claimsOf(1)[0]
		w.want(w.claim("d", c), holders.Granted, "")
		for key := range uint64(20) {
			w.want(w.claim("d", claimsOf(100 + key)[0]), holders.Granted, "")
		}
		for _, id := range three {
			if id == lagging {
				continue
			}
			r := w.get(id).voterNow().raft.Load()
			config := r.ReloadableConfig()
			config.TrailingLogs = 1
			if err := r.ReloadConfig(config); err != nil {
				t.Fatal(err)
			}
			if err := r.Snapshot().Error(); err != nil {
				t.Fatal(err)
			}
		}
		w.start(lagging)
		for range 600 {
			if w.get(lagging).Status().Grants == 21 {
				break
			}
			fakeSleep(100 * time.Millisecond)
		}
		w.kill(w.leader())
		w.want(w.claim(lagging, c), holders.Refused, "d")
		w.kill(lagging)
		w.start(lagging) // with what it took over
		w.want(w.claim(lagging, c), holders.Refused, "d")
	})
}

// damages are possible faults in the files of a voter that ended.
var damages = map[string]func(t *testing.T, dir string){
	"list of segments is garbage": func(t *testing.T, dir string) { overwrite(t, filepath.Join(dir, "meta"), 0, "garbage") },
	"list of segments is changed": func(t *testing.T, dir string) { overwrite(t, filepath.Join(dir, "meta"), 40, "0") },
	"list of segments is gone": func(t *testing.T, dir string) {
		if err := os.Remove(filepath.Join(dir, "meta")); err != nil {
			t.Fatal(err)
		}
	},
	"segment is of another file": func(t *testing.T, dir string) { overwrite(t, segment(t, dir), 0, "garbage!garbage!") },
	"entry is changed":           func(t *testing.T, dir string) { overwrite(t, segment(t, dir), entryAt(t, dir), "?") },
}

func segment(t *testing.T, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.wal"))
	if err != nil || len(names) != 1 {
		t.Fatalf("segments: got %v, %v, want one", names, err)
	}
	return names[0]
}

// entryAt is the offset of the claimant's name in the log.
func entryAt(t *testing.T, dir string) int64 {
	t.Helper()
	b, err := os.ReadFile(segment(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(b), "claimant")
	if at < 0 {
		t.Fatal("the claim is not in the log")
	}
	return int64(at)
}

func overwrite(t *testing.T, name string, at int64, with string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(with), at); err != nil {
		t.Fatal(err)
	}
}

func TestVoterWithADamagedLogAsksTheOthers(t *testing.T) {
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			withRing(t, three, []string{"claimant"}, func(t *testing.T, r *testRing) {
				c := claimsOf(1)[0]
				r.want(r.claim("claimant", c), holders.Granted, "")
				hurt := r.follower()
				for r.get(hurt).Status().Index < r.get(r.leader()).Status().Index {
					fakeSleep(10 * time.Millisecond)
				}
				r.kill(hurt)
				damage(t, filepath.Join(r.dir, hurt))
				r.start(hurt)
				for range 100 {
					if r.get(hurt).Status().Problem != "" {
						break
					}
					fakeSleep(10 * time.Millisecond)
				}
				if got := r.get(hurt).Status(); got.Problem == "" {
					t.Errorf("status: got %+v, want a problem", got)
				}
				r.want(r.claim(hurt, claimsOf(2)[0]), holders.Granted, "")
				r.want(r.claim(hurt, c), holders.Refused, "claimant")
				r.want(r.claim("claimant", claimsOf(2)[0]), holders.Refused, hurt)
			})
		})
	}
}

func TestVoterWithAFullDiskAsksTheOthers(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=5m"); err != nil {
		hosttest.Missing(t, "cannot mount a small file system: %v", err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	withRing(t, three, []string{"d"}, func(t *testing.T, r *testRing) {
		r.leader()
		hurt := r.follower()
		r.leave(hurt)
		if err := os.Rename(filepath.Join(r.dir, hurt), filepath.Join(r.dir, "was")); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(filepath.Join(dir, hurt), os.DirFS(filepath.Join(r.dir, "was"))); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(dir, hurt), filepath.Join(r.dir, hurt)); err != nil {
			t.Fatal(err)
		}
		r.start(hurt)
		r.want(r.claim(hurt, claimsOf(1)[0]), holders.Granted, "")
		ballast := filepath.Join(dir, "ballast")
		f, err := os.Create(ballast)
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = f.Write(make([]byte, 4096))
		}
		f.Close()
		// An election has to write a vote, so it is not the log's room alone that counts.
		r.get(r.leader()).Leave()
		for range 100 {
			if r.get(hurt).Status().Problem != "" {
				break
			}
			r.get(r.leader()).Leave()
			fakeSleep(100 * time.Millisecond)
		}
		if got := r.get(hurt).Status().Problem; !strings.Contains(got, "no space left") {
			t.Errorf("problem with a full disk: got %q, want it named", got)
		}
		r.want(r.claim(hurt, claimsOf(2)[0]), holders.Granted, "")
		r.want(r.claim("d", claimsOf(2)[0]), holders.Refused, hurt)
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		fakeSleep(2 * retryInterval)
		r.want(r.claim(hurt, claimsOf(3)[0]), holders.Granted, "")
	})
}

// claimOp is one claim in a history.
type claimOp struct {
	key uint64
	by  string
}

// onceMap is a map that is written once, as porcupine checks it: the state is
// who has the occurrence. What is unknown may have happened, or may yet.
var onceMap = (&porcupine.NondeterministicModel{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := map[uint64][]porcupine.Operation{}
		for _, op := range history {
			key := op.Input.(claimOp).key
			parts[key] = append(parts[key], op)
		}
		var all [][]porcupine.Operation
		for _, part := range parts {
			all = append(all, part)
		}
		return all
	},
	Init: func() []any { return []any{""} },
	Step: func(state, input, output any) []any {
		has, by, got := state.(string), input.(claimOp).by, output.(holders.Claimed)
		switch {
		case got.Grant == holders.Granted && (has == "" || has == by):
			return []any{by}
		case got.Grant == holders.Refused && has != "" && has == got.By && has != by:
			return []any{has}
		case got.Grant == holders.Postponed && has == "":
			return []any{"", by}
		case got.Grant == holders.Postponed:
			return []any{has}
		}
		return nil
	},
}).ToModel()

func TestOnceMapModelFindsASecondGrant(t *testing.T) {
	granted := holders.Claimed{Grant: holders.Granted}
	history := []porcupine.Operation{
		{Input: claimOp{1, "a"}, Output: granted, Call: 1, Return: 2},
		{Input: claimOp{1, "b"}, Output: granted, Call: 3, Return: 4},
	}
	if porcupine.CheckOperations(onceMap, history) {
		t.Error("two grants of one occurrence are found to be in order")
	}
}

var seeds = flag.Uint64("seeds", 2, "histories of disturbed claims to check")

// TestClaimsAreLinearizable has members claim the same occurrences while
// leaders are killed and come back, and the network is cut and heals.
func TestClaimsAreLinearizable(t *testing.T) {
	histories := *seeds
	if testing.Short() {
		histories = 1
	}
	for seed := range histories {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			withRing(t, three, []string{"d", "e"}, func(t *testing.T, r *testRing) {
				h := &history{}
				over := make(chan struct{})
				var all sync.WaitGroup
				for n, id := range []string{"a", "b", "c", "d", "e"} {
					all.Go(func() { h.claimUntil(r, n, id, over, rand.New(rand.NewPCG(seed, uint64(n)))) })
				}
				r.disturb(rand.New(rand.NewPCG(seed, 99)))
				close(over)
				all.Wait()
				granted := 0
				for _, op := range h.operations {
					if op.Output.(holders.Claimed).Grant == holders.Granted {
						granted++
					}
				}
				if granted < 20 {
					t.Errorf("only %d of %d claims were granted: nothing was tested", granted, len(h.operations))
				}
				if !porcupine.CheckOperations(onceMap, h.operations) {
					t.Errorf("seed %d: the history of %d claims has no order", seed, len(h.operations))
				}
			})
		})
	}
}

type history struct {
	clock      atomic.Int64
	mu         sync.Mutex
	operations []porcupine.Operation
}

// claimUntil claims, as a member, occurrences that all claim.
func (h *history) claimUntil(r *testRing, client int, id string, over <-chan struct{}, random *rand.Rand) {
	for n := uint64(0); ; n++ {
		select {
		case <-over:
			return
		case <-time.After(time.Duration(random.IntN(200)) * time.Millisecond): // of the bubble
		}
		m := r.get(id)
		if m == nil {
			continue
		}
		key := n + random.Uint64N(3)
		c := claimsOf(key)[0]
		c.Due = int64(time.Hour)
		ctx, cancel := context.WithTimeout(r.t.Context(), 2*time.Second)
		call := h.clock.Add(1)
		got := m.Claim(ctx, []holders.Claim{c})[0]
		cancel()
		back := h.clock.Add(1)
		if got.Grant == holders.Postponed {
			back = 1 << 60
		}
		h.mu.Lock()
		h.operations = append(h.operations, porcupine.Operation{ClientId: client, Input: claimOp{key, id}, Output: got, Call: call, Return: back})
		h.mu.Unlock()
	}
}

// disturb does what may happen to voters, for some virtual time.
func (r *testRing) disturb(random *rand.Rand) {
	for range 5 {
		fakeSleep(time.Duration(1+random.IntN(4)) * time.Second)
		leader := r.leader()
		switch random.IntN(4) {
		case 0:
			r.kill(leader)
			fakeSleep(time.Duration(random.IntN(6)) * time.Second)
			r.start(leader)
		case 1:
			r.network.Partition([]string{leader, "d"}, slices.DeleteFunc([]string{"a", "b", "c", "e"}, func(id string) bool { return id == leader }))
			fakeSleep(time.Duration(random.IntN(6)) * time.Second)
			r.network.Heal()
		case 2:
			for _, id := range []string{"a", "b", "c"} {
				if id != leader {
					r.network.Block(leader, id) // one way
				}
			}
			fakeSleep(time.Duration(random.IntN(6)) * time.Second)
			r.network.Heal()
		case 3:
			r.leave(leader)
			r.start(leader)
		}
	}
}

// TestWhatAMemberTookBackIsNotGivenUp: a member is granted an occurrence again after it was restarted. That
// it gave the occurrence up before does not count any longer.
func TestWhatAMemberTookBackIsNotGivenUp(t *testing.T) {
	withRing(t, three, []string{"d", "e"}, func(t *testing.T, r *testRing) {
		r.leader()
		c := claimsOf(1)[0]
		r.want(r.claim("d", c), holders.Granted, "")
		gaveUp := r.get("d").o.Started
		r.leave("d")
		r.start("d")
		r.want(r.claim("d", c), holders.Granted, "")
		again := r.get("d").o.Started
		r.leave("d")
		c.Again, c.From, c.GaveUp = true, "d", gaveUp
		refused := r.claim("e", c)
		r.want(refused, holders.Refused, "d")
		if refused.GaveUp != gaveUp {
			t.Errorf("the answer is to a claim of what was given up after start %d, want %d", refused.GaveUp, gaveUp)
		}
		c.GaveUp = again
		r.want(r.claim("e", c), holders.Granted, "")
	})
}

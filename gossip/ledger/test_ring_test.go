package ledger

import (
	"context"
	"encoding/binary"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/holders"
	"github.com/cronring/cronring/gossip/link"
	"github.com/cronring/cronring/gossip/link/linktest"
)

// testRing is a ring of members with ledgers, on a network in memory. Their logs are on disk and
// survive them.
type testRing struct {
	t       *testing.T
	network *linktest.Network
	voters  []string
	dir     string

	mu      sync.Mutex
	members map[string]*member
	rejects bool // voters may be rejected
	starts  uint32
	held    map[string]map[job.Key]catalog.Holding // by member
	foreign func(asker, member string) (bool, error)
	givers  map[string]uint32 // the starts in which they gave everything up
}

// hold sets a member's entry of a job.
func (r *testRing) hold(id string, key, hash uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held[id] == nil {
		r.held[id] = map[job.Key]catalog.Holding{}
	}
	r.held[id][numbered(key)] = catalog.Holding{Key: numbered(key), Hash: numbered(hash), Former: key}
}

// gaveUp sets that a member gave up, in its current start, all that it was granted.
func (r *testRing) gaveUp(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.givers[id] = r.members[id].o.Started
}

// giver is Options.GaveUp.
func (r *testRing) giver(id string) (started uint32, is bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	started, is = r.givers[id]
	return started, is
}

func (r *testRing) holding(id string, key job.Key) catalog.Holding {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held[id][key]
}

type member struct {
	*Ledger
	stop func()
}

// withRing runs a test in a bubble of time, with members that vote and others.
func withRing(t *testing.T, voters, others []string, f func(t *testing.T, r *testRing)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := &testRing{t: t, network: linktest.New(), voters: voters, dir: dir, members: map[string]*member{}, held: map[string]map[job.Key]catalog.Holding{}, givers: map[string]uint32{}}
		for _, id := range slices.Concat(voters, others) {
			r.start(id)
		}
		defer r.stopAll()
		f(t, r)
	})
}

// fakeSleep waits in the fake time of a test in a bubble, see package synctest. It takes no real time.
func fakeSleep(d time.Duration) { time.Sleep(d) }

func (r *testRing) start(id string) *member {
	listener, err := r.network.Listen(id)
	if err != nil {
		r.t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	carrier, err := link.New(link.Options{ID: id, Ring: "ring", Keys: [][]byte{make([]byte, 32)}, Listener: listener, Dial: r.network.Dialer(id), Log: quiet})
	if err != nil {
		r.t.Fatal(err)
	}
	r.mu.Lock()
	r.starts++
	started := r.starts
	r.mu.Unlock()
	l, err := New(Options{
		ID: id, Started: started, Voters: r.voters, Dir: filepath.Join(r.dir, id), Link: carrier, Log: quiet,
		Addr:    func(id string) (string, bool) { return id, true },
		IsDead:  func(id string) bool { return r.get(id) == nil },
		GaveUp:  func(_ context.Context, id string, _ exchange.Occurrence) (uint32, bool) { return r.giver(id) },
		Holding: func(key job.Key) catalog.Holding { return r.holding(id, key) },
		Foreign: func(_ context.Context, member string, o exchange.Occurrence) (bool, error) {
			return r.foreign(id, member)
		},
		ClockIsSure: func() bool { return true },
	})
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	linkCtx, closeStreams := context.WithCancel(context.Background())
	var voting, linking sync.WaitGroup
	voting.Go(func() { l.Run(ctx) })
	linking.Go(func() { carrier.Run(linkCtx) })
	m := &member{l, func() { cancel(); voting.Wait(); closeStreams(); linking.Wait() }}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.members[id] = m
	return m
}

func (r *testRing) get(id string) *member {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.members[id]
}

func (r *testRing) take(id string) *member {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.members[id]
	delete(r.members, id)
	return m
}

// leave ends a member as its daemon does.
func (r *testRing) leave(id string) { r.take(id).stop() }

// kill ends a member like the end of its process: it sends nothing more.
func (r *testRing) kill(id string) {
	m := r.take(id)
	r.network.Kill(id)
	m.stop()
}

func (r *testRing) stopAll() {
	r.network.Heal()
	r.mu.Lock()
	members := r.members
	r.members = map[string]*member{}
	r.mu.Unlock()
	var all sync.WaitGroup
	for id, m := range members {
		if p := m.Status().Problem; !r.rejects && strings.HasPrefix(p, "the log is an older copy") {
			r.t.Errorf("%s was rejected: %s", id, p)
		}
		all.Go(m.stop)
	}
	all.Wait()
}

// leader waits until one voter leads, and returns it.
func (r *testRing) leader() string {
	r.t.Helper()
	for range 600 {
		for _, id := range r.voters {
			if m := r.get(id); m != nil {
				if v := m.voterNow(); v != nil && v.leads() {
					return id
				}
			}
		}
		fakeSleep(100 * time.Millisecond)
	}
	for _, id := range r.voters {
		if m := r.get(id); m != nil {
			r.t.Logf("%s: %+v", id, m.Status())
		}
	}
	r.t.Fatal("nobody leads after a minute")
	return ""
}

func (r *testRing) follower() string {
	leader := r.leader()
	return r.voters[slices.IndexFunc(r.voters, func(id string) bool { return id != leader && r.get(id) != nil })]
}

func claimsOf(keys ...uint64) []holders.Claim {
	var all []holders.Claim
	for _, key := range keys {
		all = append(all, holders.Claim{Occurrence: exchange.OccurrenceOf(numbered(key), time.Now().Truncate(time.Hour))})
	}
	return all
}

// claim requests one occurrence as a member.
func (r *testRing) claim(id string, c holders.Claim) holders.Claimed {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Second)
	defer cancel()
	answers := r.get(id).Claim(ctx, []holders.Claim{c})
	if len(answers) != 1 || answers[0].Occurrence != c.Occurrence {
		r.t.Fatalf("claim of %v by %s: got %+v, want one answer to it", c.Occurrence, id, answers)
	}
	return answers[0]
}

// want holds an answer to a grant and whose the occurrence is.
func (r *testRing) want(got holders.Claimed, grant holders.Grant, by string) {
	r.t.Helper()
	if got.Grant != grant || got.By != by {
		r.t.Errorf("claim of %v: got grant %d by %q, want %d by %q", got.Key, got.Grant, got.By, grant, by)
	}
}

var three = []string{"a", "b", "c"}

// numbered returns a key that contains a number.
func numbered(n uint64) (k job.Key) {
	binary.BigEndian.PutUint64(k[:], n)
	return k
}

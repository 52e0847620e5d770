package ledger

import (
	"context"
	"encoding/binary"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/link"
	"github.com/cronring/cronring/gossip/link/linktest"
	"github.com/cronring/cronring/gossip/register"
)

// world is members of a ring with a ledger, on a network in memory. Their logs
// are on disk and survive them.
type world struct {
	t       *testing.T
	network *linktest.Network
	voters  []string
	dir     string

	mu      sync.Mutex
	members map[string]*member
	held    map[string]map[job.Key]catalog.Holding // by member
	foreign func(asker, member string) (bool, error)
}

// hold sets a member's entry of a job.
func (w *world) hold(id string, key, hash uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held[id] == nil {
		w.held[id] = map[job.Key]catalog.Holding{}
	}
	w.held[id][numbered(key)] = catalog.Holding{Key: numbered(key), Hash: numbered(hash), Former: key}
}

func (w *world) holding(id string, key job.Key) catalog.Holding {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.held[id][key]
}

type member struct {
	*Ledger
	stop func()
}

// inWorld runs a test in a bubble of time, with members that vote and others.
func inWorld(t *testing.T, voters, others []string, f func(t *testing.T, w *world)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, network: linktest.New(), voters: voters, dir: dir, members: map[string]*member{}, held: map[string]map[job.Key]catalog.Holding{}}
		for _, id := range slices.Concat(voters, others) {
			w.start(id)
		}
		defer w.stopAll()
		f(t, w)
	})
}

func (w *world) start(id string) *member {
	listener, err := w.network.Listen(id)
	if err != nil {
		w.t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	carrier, err := link.New(link.Options{ID: id, Ring: "ring", Keys: [][]byte{make([]byte, 32)}, Listener: listener, Dial: w.network.Dialer(id), Log: quiet})
	if err != nil {
		w.t.Fatal(err)
	}
	l, err := New(Options{
		ID: id, Voters: w.voters, Dir: filepath.Join(w.dir, id), Link: carrier, Log: quiet,
		Addr:    func(id string) (string, bool) { return id, true },
		Gone:    func(id string) bool { return w.get(id) == nil },
		Holding: func(key job.Key) catalog.Holding { return w.holding(id, key) },
		Foreign: func(_ context.Context, member string, o exchange.Occurrence) (bool, error) {
			return w.foreign(id, member)
		},
		ClockIsSure: func() bool { return true },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	linkCtx, closeStreams := context.WithCancel(context.Background())
	var voting, linking sync.WaitGroup
	voting.Go(func() { l.Run(ctx) })
	linking.Go(func() { carrier.Run(linkCtx) })
	m := &member{l, func() { cancel(); voting.Wait(); closeStreams(); linking.Wait() }}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.members[id] = m
	return m
}

func (w *world) get(id string) *member {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.members[id]
}

func (w *world) take(id string) *member {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.members[id]
	delete(w.members, id)
	return m
}

// leave ends a member as its daemon does.
func (w *world) leave(id string) { w.take(id).stop() }

// kill ends a member like the end of its process: it sends nothing more.
func (w *world) kill(id string) {
	m := w.take(id)
	w.network.Kill(id)
	m.stop()
}

func (w *world) stopAll() {
	w.network.Heal()
	w.mu.Lock()
	members := w.members
	w.members = map[string]*member{}
	w.mu.Unlock()
	var all sync.WaitGroup
	for _, m := range members {
		all.Go(m.stop)
	}
	all.Wait()
}

// leader waits until one voter leads, and returns it.
func (w *world) leader() string {
	w.t.Helper()
	for range 600 {
		for _, id := range w.voters {
			if m := w.get(id); m != nil {
				if v := m.voterNow(); v != nil && v.leads() {
					return id
				}
			}
		}
		time.Sleep(100 * time.Millisecond) // of the bubble
	}
	for _, id := range w.voters {
		if m := w.get(id); m != nil {
			w.t.Logf("%s: %+v", id, m.Status())
		}
	}
	w.t.Fatal("nobody leads after a minute")
	return ""
}

func (w *world) follower() string {
	leader := w.leader()
	return w.voters[slices.IndexFunc(w.voters, func(id string) bool { return id != leader && w.get(id) != nil })]
}

func claimsOf(keys ...uint64) []register.Claim {
	var all []register.Claim
	for _, key := range keys {
		all = append(all, register.Claim{Occurrence: exchange.OccurrenceOf(numbered(key), time.Now().Truncate(time.Hour))})
	}
	return all
}

// claim requests one occurrence as a member.
func (w *world) claim(id string, c register.Claim) register.Claimed {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
	defer cancel()
	answers := w.get(id).Claim(ctx, []register.Claim{c})
	if len(answers) != 1 || answers[0].Occurrence != c.Occurrence {
		w.t.Fatalf("claim of %v by %s: got %+v, want one answer to it", c.Occurrence, id, answers)
	}
	return answers[0]
}

// want holds an answer to a grant and whose the occurrence is.
func (w *world) want(got register.Claimed, grant register.Grant, by string) {
	w.t.Helper()
	if got.Grant != grant || got.By != by {
		w.t.Errorf("claim of %v: got grant %d by %q, want %d by %q", got.Key, got.Grant, got.By, grant, by)
	}
}

var three = []string{"a", "b", "c"}

// numbered returns a key that contains a number.
func numbered(n uint64) (k job.Key) {
	binary.BigEndian.PutUint64(k[:], n)
	return k
}

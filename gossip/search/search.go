// Package search owns the search for the other members of a host's ring, with the seeds, the last
// known addresses of members, and when it tries each of them.
package search

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"github.com/cronring/cronring/gossip/memory"
)

// Limits of the search for members. memberlist itself forgets a member half a minute after it
// has declared it dead.
const (
	maxSearches = 8                  // at a time
	FirstRetry  = time.Second        // shortest time between two attempts
	LastRetry   = time.Minute        // longest time between two attempts
	peerTime    = 7 * 24 * time.Hour // how long a missing member is searched for
	failsToWarn = 4                  // of a seed: about seven seconds, because all hosts may start together
)

// target is an address at which a member may be found: a seed, or the last address of a member.
type target struct {
	seed   bool
	addr   string
	id     string // of the member that had this address
	found  []netip.AddrPort
	trying bool
	tried  bool // since this host became a member
	fails  int
	retry  time.Time
}

// Options are what a search needs of the member that searches.
type Options struct {
	Dir     string // of the file with the last known members
	Log     *slog.Logger
	Now     func() time.Time
	Help    func(func(context.Context) func())  // runs a function that may block, and then the function that it returns
	Contact func() func([]netip.AddrPort) error // returns a function that contacts the first address that answers
	Alive   func(id string) bool                // the member is alive
	AliveAt func(netip.AddrPort) bool           // this member or a live one has the address
	Left    func([]netip.AddrPort) bool         // a member that had one of the addresses has left
}

// Search is the search for missing members.
type Search struct {
	o       Options
	targets map[string]*target     // by address or name
	peers   map[string]memory.Peer // the last known members, by ID
	unsaved bool                   // peers have changed since they were written
	saving  bool
}

// New makes a search without targets.
func New(o Options) *Search {
	return &Search{o: o, targets: make(map[string]*target), peers: make(map[string]memory.Peer)}
}

// Recall adds the last known members, apart from self, to the targets. It returns the last stamp
// of this member.
func (s *Search) Recall(self string) time.Time {
	m, err := memory.Recall(s.o.Dir)
	if err != nil {
		s.o.Log.Warn("ring: " + err.Error())
	}
	for _, p := range m.Peers {
		if p.ID != self {
			s.peers[p.ID] = p
			s.targets[p.ID] = &target{addr: p.Addr.String(), id: p.ID}
		}
	}
	return m.Stamp
}

// AddSeed adds a seed, host:port, to the targets.
func (s *Search) AddSeed(addr string) { s.targets["seed "+addr] = &target{seed: true, addr: addr} }

// Remember stores the address of a live member.
func (s *Search) Remember(p memory.Peer) {
	if old := s.peers[p.ID]; old.Addr != p.Addr || old.Name != p.Name || old.Rules != p.Rules {
		s.unsaved = true
	}
	s.peers[p.ID] = p
	if t := s.targets[p.ID]; t == nil || t.addr != p.Addr.String() {
		s.targets[p.ID] = &target{addr: p.Addr.String(), id: p.ID}
	}
}

// Forget ends the search for a member, because it has left.
func (s *Search) Forget(id string) {
	delete(s.peers, id)
	delete(s.targets, id)
	s.unsaved = true
}

// Peers returns the last known members by ID. The caller does not change them.
func (s *Search) Peers() map[string]memory.Peer { return s.peers }

// NameOf returns the name of a known member, or its ID.
func (s *Search) NameOf(id string) string { return cmp.Or(s.peers[id].Name, id) }

// Touch lets the next Save write the file even if no member has changed.
func (s *Search) Touch() { s.unsaved = true }

// Save writes the known members and this member's stamp to disk, if they have changed.
func (s *Search) Save(stamp time.Time) {
	if !s.unsaved || s.saving {
		return
	}
	s.unsaved, s.saving = false, true
	keep := memory.Memory{Stamp: stamp}
	for _, p := range s.peers {
		keep.Peers = append(keep.Peers, p)
	}
	slices.SortFunc(keep.Peers, func(a, b memory.Peer) int { return a.Addr.Compare(b.Addr) })
	s.o.Help(func(context.Context) func() {
		err := memory.Remember(s.o.Dir, keep)
		return func() { s.saved(err) }
	})
}

func (s *Search) saved(err error) {
	s.saving = false
	if err != nil {
		s.o.Log.Error("ring: " + err.Error())
	}
}

// Restart makes all targets due, because this host becomes a member again.
func (s *Search) Restart() {
	for _, t := range s.targets {
		t.tried, t.fails, t.retry = false, 0, time.Time{}
	}
}

// Expected returns how many hosts other than self may be members: the seeds, and the members that
// this one knew last.
func (s *Search) Expected(self netip.AddrPort) int {
	others := make(map[string]bool)
	for _, t := range s.targets {
		switch {
		case slices.Contains(t.found, self):
		case len(t.found) > 0:
			others[t.found[0].String()] = true
		default:
			others[t.addr] = true
		}
	}
	return len(others)
}

// Discover searches for missing members, at growing intervals.
func (s *Search) Discover() {
	now := time.Now()
	trying := 0
	for _, t := range s.targets {
		if t.trying {
			trying++
		}
	}
	for key, t := range s.targets {
		if trying >= maxSearches {
			return
		}
		if t.trying || now.Before(t.retry) || s.present(t) {
			continue
		}
		if p, ok := s.peers[t.id]; ok && s.o.Now().Sub(p.Seen) > peerTime {
			delete(s.targets, key)
			delete(s.peers, t.id)
			s.unsaved = true
			continue
		}
		trying++
		t.trying = true
		s.try(t)
	}
}

// present reports whether a target needs no search: a live member, or this one, has the address.
func (s *Search) present(t *target) bool {
	if t.seed {
		return t.tried && slices.ContainsFunc(t.found, s.o.AliveAt)
	}
	if !s.o.Alive(t.id) {
		return false
	}
	p := s.peers[t.id]
	p.Seen = s.o.Now()
	s.peers[t.id] = p
	return true
}

func (s *Search) try(t *target) {
	contact, addr := s.o.Contact(), t.addr
	s.o.Help(func(ctx context.Context) func() {
		found, err := resolve(ctx, addr)
		if err == nil {
			err = contact(found)
		}
		return func() { s.tried(t, found, err) }
	})
}

func (s *Search) tried(t *target, found []netip.AddrPort, err error) {
	t.trying, t.tried, t.found = false, true, found
	wait := min(FirstRetry<<min(t.fails, 6), LastRetry)
	if err != nil {
		t.fails++
		if t.seed && t.fails == failsToWarn && !s.o.Left(found) {
			s.o.Log.Warn("ring: seed does not answer", "seed", t.addr, "err", err)
		}
	} else {
		t.fails, wait = 0, FirstRetry
	}
	// A random part, so that hosts do not all retry at the same time after a network failure.
	t.retry = time.Now().Add(wait/2 + rand.N(wait))
}

package gossip

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/memberlist"
)

// Limits of the search for members. memberlist itself forgets a member half a minute after it
// has declared it dead.
const (
	defaultPort = 7946
	maxSearches = 8 // at a time
	firstRetry  = time.Second
	lastRetry   = time.Minute
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

// search is the search for missing members.
type search struct {
	targets       map[string]*target // by address or name
	peers         map[string]peer    // the last known members, by ID
	unsaved       bool               // peers have changed since they were written
	saving        bool
	disagreements int // number of consecutive members that see different members than this one
	syncing       bool
}

func newSearch() search {
	return search{targets: make(map[string]*target), peers: make(map[string]peer)}
}

// recall adds the seeds and the last known members to the targets.
func (r *Ring) recall() {
	m, err := recall(r.o.Dir)
	if err != nil {
		r.o.Log.Warn("ring: " + err.Error())
	}
	r.own.stamp = m.Stamp
	for _, p := range m.Peers {
		if p.ID != r.o.ID {
			r.search.peers[p.ID] = p
			r.search.targets[p.ID] = &target{addr: hostPort(p.Addr), id: p.ID}
		}
	}
	for _, s := range r.o.Seeds {
		r.search.targets["seed "+s] = &target{seed: true, addr: s}
	}
}

// remember stores the address of a live member.
func (r *Ring) remember(m *member, now time.Time) {
	p := peer{ID: m.id, Name: m.meta.name, Addr: m.addr, Seen: now, Rules: m.meta.rules}
	if old := r.search.peers[m.id]; old.Addr != p.Addr || old.Name != p.Name || old.Rules != p.Rules {
		r.search.unsaved = true
	}
	r.search.peers[m.id] = p
	if t := r.search.targets[m.id]; t == nil || t.addr != hostPort(m.addr) {
		r.search.targets[m.id] = &target{addr: hostPort(m.addr), id: m.id}
	}
}

// forget ends the search for a member, because it has left.
func (r *Ring) forget(m *member) {
	delete(r.search.peers, m.id)
	delete(r.search.targets, m.id)
	r.search.unsaved = true
}

// save writes the known members to disk, if they have changed.
func (r *Ring) save() {
	if !r.search.unsaved || r.search.saving {
		return
	}
	r.search.unsaved, r.search.saving = false, true
	keep := memory{Stamp: r.own.stamp}
	for _, p := range r.search.peers {
		keep.Peers = append(keep.Peers, p)
	}
	slices.SortFunc(keep.Peers, func(a, b peer) int { return a.Addr.Compare(b.Addr) })
	r.help(func(context.Context) func() {
		err := remember(r.o.Dir, keep)
		return func() { r.saved(err) }
	})
}

func (r *Ring) saved(err error) {
	r.search.saving = false
	if err != nil {
		r.o.Log.Error("ring: " + err.Error())
	}
}

// discover searches for missing members, at growing intervals.
func (r *Ring) discover() {
	now := time.Now()
	trying := 0
	for _, t := range r.search.targets {
		if t.trying {
			trying++
		}
	}
	for key, t := range r.search.targets {
		if trying >= maxSearches {
			return
		}
		if t.trying || now.Before(t.retry) || r.present(t) {
			continue
		}
		if p, ok := r.search.peers[t.id]; ok && r.o.Now().Sub(p.Seen) > peerTime {
			delete(r.search.targets, key)
			delete(r.search.peers, t.id)
			r.search.unsaved = true
			continue
		}
		trying++
		t.trying = true
		r.try(t)
	}
}

// present reports whether a target needs no search: a live member, or this one, has the address.
func (r *Ring) present(t *target) bool {
	if !t.seed {
		m := r.members[t.id]
		if m == nil || m.state != Alive {
			return false
		}
		r.touch(t.id)
		return true
	}
	if !t.tried {
		return false
	}
	return slices.ContainsFunc(t.found, func(addr netip.AddrPort) bool {
		if addr == r.self {
			return true
		}
		for _, m := range r.members {
			if m.state == Alive && m.addr == addr {
				return true
			}
		}
		return false
	})
}

func (r *Ring) touch(id string) {
	p := r.search.peers[id]
	p.Seen = r.o.Now()
	r.search.peers[id] = p
}

func (r *Ring) try(t *target) {
	list, self, addr := r.list, r.self, t.addr
	r.help(func(ctx context.Context) func() {
		found, err := resolve(ctx, addr)
		if err == nil {
			err = contact(list, self, found)
		}
		return func() { r.tried(t, found, err) }
	})
}

// contact exchanges the full state with the first address that answers.
func contact(list *memberlist.Memberlist, self netip.AddrPort, found []netip.AddrPort) error {
	var err error
	for _, addr := range found {
		if addr == self {
			continue
		}
		if _, err = list.Join([]string{hostPort(addr)}); err == nil {
			return nil
		}
	}
	return err
}

// maxFound bounds the addresses of one seed.
const maxFound = 8

// resolve finds the addresses of host:port.
func resolve(ctx context.Context, addr string) ([]netip.AddrPort, error) {
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		host, service = addr, strconv.Itoa(defaultPort)
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("find %s: its port is no number", addr)
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.AddrPort{netip.AddrPortFrom(ip.Unmap(), uint16(port))}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, joinWait)
	defer cancel()
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	var found []netip.AddrPort
	for _, ip := range ips[:min(len(ips), maxFound)] {
		found = append(found, netip.AddrPortFrom(ip.Unmap(), uint16(port)))
	}
	return found, nil
}

func (r *Ring) tried(t *target, found []netip.AddrPort, err error) {
	t.trying, t.tried, t.found = false, true, found
	wait := min(firstRetry<<min(t.fails, 6), lastRetry)
	if err != nil {
		t.fails++
		if t.seed && t.fails == failsToWarn && !r.leftFrom(found) {
			r.o.Log.Warn("ring: seed does not answer", "seed", t.addr, "err", err)
		}
	} else {
		t.fails, wait = 0, firstRetry
	}
	// A random part, so that hosts do not all retry at the same time after a network failure.
	t.retry = time.Now().Add(wait/2 + rand.N(wait))
}

// leftFrom reports whether a member that had one of some addresses has left.
func (r *Ring) leftFrom(addrs []netip.AddrPort) bool {
	for _, m := range r.members {
		if m.state == Left && slices.Contains(addrs, m.addr) {
			return true
		}
	}
	return false
}

// viewSumOf returns what a member adds to the viewSum of a member that sees it.
func viewSumOf(id string) uint64 {
	sum := sumOf([]byte(id))
	return binary.BigEndian.Uint64(sum[:])
}

// maxDisagreements is how many consecutive members may see different members than this one,
// which gossip that is still under way can explain.
const maxDisagreements = 1

// compareViews compares the members that another member sees with those that this one sees. If
// they still differ after maxDisagreements, the two exchange their full state, because gossip
// sometimes misses a member until the push/pull half a minute later.
func (r *Ring) compareViews(m *member, viewSum uint64) {
	if viewSum == r.viewSum.Load() {
		r.search.disagreements = 0
		return
	}
	if r.search.disagreements++; r.search.disagreements <= maxDisagreements || r.search.syncing || r.list == nil || m.state != Alive {
		return
	}
	r.search.disagreements, r.search.syncing = 0, true
	list, addr := r.list, hostPort(m.addr)
	r.help(func(context.Context) func() {
		_, _ = list.Join([]string{addr}) // after an error, the next disagreement repeats it
		return func() { r.search.syncing = false }
	})
}

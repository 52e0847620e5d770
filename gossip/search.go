package gossip

import (
	"context"
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/cronring/cronring/gossip/memory"
	"github.com/cronring/cronring/gossip/meta"
	"github.com/cronring/cronring/gossip/search"
)

// views compares the members that this member sees with those that the others see.
type views struct {
	disagreements int // number of consecutive members that see different members than this one
	syncing       bool
}

// newSearch makes the search for missing members.
func (r *Ring) newSearch() *search.Search {
	s := search.New(search.Options{
		Dir: r.o.Dir, Log: r.o.Log, Now: r.o.Now, Help: r.help, Contact: r.contact, AliveAt: r.aliveAt, Left: r.leftFrom,
		Alive: func(id string) bool { m := r.members[id]; return m != nil && m.state == Alive },
	})
	for _, seed := range r.o.Seeds {
		s.AddSeed(seed)
	}
	return s
}

// remember stores the address of a live member.
func (r *Ring) remember(m *member) {
	r.search.Remember(memory.Peer{ID: m.id, Name: m.meta.Name, Addr: m.addr, Seen: r.o.Now(), Rules: m.meta.Rules})
}

// contact returns a function that exchanges the full state with the first address that answers.
func (r *Ring) contact() func(found []netip.AddrPort) error {
	list, self := r.list, r.self
	return func(found []netip.AddrPort) (err error) {
		for _, addr := range found {
			if addr == self {
				continue
			}
			if _, err = list.Join([]string{addr.String()}); err == nil {
				return nil
			}
		}
		return err
	}
}

// aliveAt reports whether this member or a live one has an address.
func (r *Ring) aliveAt(addr netip.AddrPort) bool {
	if addr == r.self {
		return true
	}
	for _, m := range r.members {
		if m.state == Alive && m.addr == addr {
			return true
		}
	}
	return false
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
	sum := meta.Sum([]byte(id))
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
		r.views.disagreements = 0
		return
	}
	if r.views.disagreements++; r.views.disagreements <= maxDisagreements || r.views.syncing || r.list == nil || m.state != Alive {
		return
	}
	r.views.disagreements, r.views.syncing = 0, true
	list, addr := r.list, m.addr.String()
	r.help(func(context.Context) func() {
		_, _ = list.Join([]string{addr}) // after an error, the next disagreement repeats it
		return func() { r.views.syncing = false }
	})
}

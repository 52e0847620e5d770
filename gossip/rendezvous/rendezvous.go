package rendezvous

import (
	"hash/fnv"
	"math/bits"
	"slices"
	"strings"
)

// Version is the version of the specification. It must be the same on all members of a group.
const Version = 1

// Weight is a node's share of the keys relative to the other nodes, in 65,536ths. A node of
// weight 0 gets no keys.
type Weight uint64

// One is the usual weight, Most the largest.
const (
	One  Weight = 1 << 16
	Most Weight = 1 << 40
)

// WeightOf converts a number to a weight, and rounds down. The result is the same on all
// architectures. For numbers not above 0, and for NaN, it is 0.
func WeightOf(f float64) Weight {
	switch {
	case !(f > 0):
		return 0
	case f >= float64(Most/One):
		return Most
	}
	return Weight(f * float64(One))
}

// Times returns the weight multiplied by a factor, at most Most.
func (w Weight) Times(factor Weight) Weight {
	high, low := bits.Mul64(uint64(w), uint64(factor))
	if high > 0 || low>>16 > uint64(Most) {
		return Most
	}
	return Weight(low >> 16)
}

// Node is a receiver of keys. NewNode makes it.
type Node struct {
	ID     string
	Weight Weight

	seed uint64
}

// NewNode returns a node.
func NewNode(id string, weight Weight) Node {
	return Node{ID: id, Weight: weight, seed: mix(Key(id) + 0x9e3779b97f4a7c15)}
}

// Key returns the key of a text: its 64-bit FNV-1a hash.
func Key(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return h.Sum64()
}

// mix is the finaliser of SplitMix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (n *Node) draw(key uint64) uint64 { return max(mix(key^n.seed), 1) }

// First returns the index of the first node for a key, or -1 if there is none. weigh returns the
// weight of a node for this key: 0 excludes it, and more than its own weight prefers it. If weigh
// is nil, each node has its own weight. First does not allocate memory.
func First(key uint64, nodes []Node, weigh func(i int) Weight) int {
	first := -1
	var best place
	for i := range nodes {
		w := nodes[i].Weight
		if weigh != nil {
			w = weigh(i)
		}
		if w == 0 {
			continue
		}
		p := place{node: &nodes[i], draw: nodes[i].draw(key), weight: w}
		if first < 0 || p.compare(&best) < 0 {
			first, best = i, p
		}
	}
	return first
}

// Rank appends the indices of all nodes with a weight above 0 to order. The first one is the
// result of First, the second one would be the first without it, and so on.
func Rank(key uint64, nodes []Node, weigh func(i int) Weight, order []int) []int {
	places := make([]place, 0, len(nodes))
	for i := range nodes {
		w := nodes[i].Weight
		if weigh != nil {
			w = weigh(i)
		}
		if w > 0 {
			places = append(places, place{node: &nodes[i], index: i, draw: nodes[i].draw(key), weight: w})
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return a.compare(&b) })
	for i := range places {
		order = append(order, places[i].index)
	}
	return order
}

// place determines the position of a node in the order for a key.
type place struct {
	node   *Node
	index  int
	draw   uint64
	weight Weight
	cost   uint64 // of draw; 0: not computed yet
}

func (p *place) compare(q *place) int {
	if p.weight != q.weight {
		p.settle()
		q.settle()
		ph, pl := bits.Mul64(p.cost, uint64(q.weight))
		qh, ql := bits.Mul64(q.cost, uint64(p.weight))
		switch {
		case ph < qh || ph == qh && pl < ql:
			return -1
		case ph != qh || pl != ql:
			return 1
		}
	}
	switch {
	case p.draw > q.draw:
		return -1
	case p.draw < q.draw:
		return 1
	}
	return strings.Compare(p.node.ID, q.node.ID)
}

func (p *place) settle() {
	if p.cost == 0 {
		p.cost = cost(p.draw)
	}
}

// cost returns -log2(h / 2^64) in units of 2^-48, rounded up. It is never 0, and it does not
// decrease when h decreases.
func cost(h uint64) uint64 {
	z := bits.LeadingZeros64(h)
	m := h << z
	var digits uint64
	for range 48 {
		high, low := bits.Mul64(m, m)
		digit := high >> 63
		digits = digits<<1 | digit
		if digit == 1 {
			m = high
		} else {
			m = high<<1 | low>>63
		}
	}
	return uint64(z+1)<<48 - digits
}

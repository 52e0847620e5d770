package rendezvous

import (
	"cmp"
	"math/bits"
	"slices"
)

// Item is a key, or several that go together under one, of those that are shared
// out.
type Item struct {
	Key     uint64
	Size    int      // what it adds to a load, at least 1
	Weights []Weight // what the nodes weigh for it, 0: not at all; items may share them
}

// LeastFactor and MostFactor are the bounds of what weights are corrected by.
const (
	LeastFactor = One / 4
	MostFactor  = 4 * One
)

// Corrected is the weight by a node's factor. Who weighs something still does.
func (w Weight) Corrected(factor Weight) Weight {
	if w == 0 || factor == One {
		return w
	}
	return max(w.Times(factor), 1)
}

// Loads is how items are shared out, by node.
type Loads struct {
	Has   []int
	Wants []uint64 // what the weights ask for, in units of 2^-32
	Idle  int      // of items for which no node weighs anything
}

// unit is 1 of Loads.Wants.
const unit = 1 << 32

// Measure finds the loads under some factors; nil: none.
func Measure(items []Item, nodes []Node, factors []Weight) Loads {
	l := Loads{Has: make([]int, len(nodes)), Wants: make([]uint64, len(nodes))}
	for k := range items {
		l.add(&items[k], firstOf(&items[k], nodes, factors))
		l.want(&items[k])
	}
	return l
}

// add adds an item to the load of a node; -1: none has it.
func (l *Loads) add(x *Item, first int) {
	if first < 0 {
		l.Idle += x.Size
		return
	}
	l.Has[first] += x.Size
}

func firstOf(x *Item, nodes []Node, factors []Weight) int {
	return First(x.Key, nodes, func(i int) Weight {
		if factors == nil {
			return x.Weights[i]
		}
		return x.Weights[i].Corrected(factors[i])
	})
}

// want adds to each node its part of an item.
func (l *Loads) want(x *Item) {
	var all uint64
	for _, w := range x.Weights {
		all += uint64(w)
	}
	for i, w := range x.Weights {
		if w > 0 {
			high, low := bits.Mul64(uint64(w), uint64(x.Size)*unit)
			part, _ := bits.Div64(high, low, all)
			l.Wants[i] += part
		}
	}
}

// off is how far a node's load is from what it is to be, in units of 2^-32.
func (l *Loads) off(i int) uint64 {
	has := uint64(l.Has[i]) * unit
	return max(has, l.Wants[i]) - min(has, l.Wants[i])
}

// Off is the sum of what all nodes have too much or too little, in units of 2^-32.
func (l *Loads) Off() (sum uint64) {
	for i := range l.Has {
		sum += l.off(i)
	}
	return sum
}

// Within tells whether each node has what it is to have, but for so many thousandths
// of it, or less than one.
func (l *Loads) Within(thousandths uint64) bool {
	for i := range l.Has {
		if off := l.off(i); off >= unit && off > l.Wants[i]/1000*thousandths {
			return false
		}
	}
	return true
}

// quotas rounds what nodes are to have so that it is as much as there is: those
// that lose most are rounded up.
func (l *Loads) quotas() []int {
	quota, order, rest := make([]int, len(l.Has)), make([]int, len(l.Has)), 0
	for i, want := range l.Wants {
		quota[i], order[i] = int(want/unit), i
		rest += l.Has[i] - quota[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(l.Wants[b]%unit, l.Wants[a]%unit) })
	for _, i := range order[:min(max(rest, 0), len(order))] {
		quota[i]++
	}
	return quota
}

// evenness is how near Even wants to come, in thousandths.
const evenness = 2

// Even finds a factor for each node by which its weights are to be corrected for
// it to come first for as much as its weights ask for: within 0.2 % or less than
// one, if items are small, and else as near as was found within some steps. It
// begins with factors that stand; nil: with none. A step is a look at an item for a
// node, and it is not ok if there are more of them than steps. Factors are within
// their bounds, and 1 on average, so that a node without one fits in.
//
// It comes near by correcting all factors by what their nodes have too much or too
// little, some times over. Then a factor is the price of a node in an auction:
// raising it brings the node items and takes none away, so each node that lacks
// some raises its own until it has them, those from whom they came raise theirs,
// and so on. What is found does not depend on the order of the items, and is the
// same on every machine.
func Even(items []Item, nodes []Node, start []Weight, steps int) (factors []Weight, ok bool) {
	if len(items)*len(nodes) > steps {
		return nil, false
	}
	e := &evening{
		items: items, nodes: nodes, steps: steps, factors: make([]Weight, len(nodes)),
		owners: make([]int32, len(items)), costs: make([]uint64, len(items)),
		bids: make([]uint64, len(items)), prices: make([]Weight, len(items)),
		loads: Loads{Has: make([]int, len(nodes)), Wants: make([]uint64, len(nodes))},
	}
	for i := range nodes {
		e.factors[i] = One
		if start != nil {
			e.factors[i] = min(max(start[i], LeastFactor), MostFactor)
		}
	}
	for k := range items {
		e.loads.want(&items[k])
	}
	e.approach()
	e.auction()
	e.centre()
	e.settle()
	e.best, e.off = nil, 0
	e.keep()
	e.auction()
	return e.best, true
}

// evening is Even under way.
type evening struct {
	items   []Item
	nodes   []Node
	steps   int // that are left
	factors []Weight
	loads   Loads
	quotas  []int
	owners  []int32  // by item; -1: nobody
	costs   []uint64 // by item, of its owner's draw
	best    []Weight // the factors at which loads were off least
	off     uint64   // by which they were

	bids   []uint64 // by item, the cost of the draw of who raises its factor
	prices []Weight // by item, the least factor at which that one has it
}

// never is the price of what cannot be had.
const never = ^Weight(0)

// settle finds whose the items are.
func (e *evening) settle() {
	e.steps -= len(e.items) * len(e.nodes)
	clear(e.loads.Has)
	e.loads.Idle = 0
	for k := range e.items {
		first := firstOf(&e.items[k], e.nodes, e.factors)
		e.loads.add(&e.items[k], first)
		if e.owners[k] = int32(first); first >= 0 {
			e.costs[k] = cost(e.nodes[first].draw(e.items[k].Key))
		}
	}
	e.quotas = e.loads.quotas()
}

// keep remembers the factors if loads were never off less, and tells whether that
// is so.
func (e *evening) keep() bool {
	off := e.loads.Off()
	if e.best != nil && off >= e.off {
		return false
	}
	e.best, e.off = append(e.best[:0], e.factors...), off
	return true
}

// approaches is how often approach tries: then single items are what is left.
const approaches = 8

// approach corrects all factors at once, as long as that is of use.
func (e *evening) approach() {
	for range approaches {
		if e.settle(); !e.keep() || e.loads.Within(evenness) || e.steps <= 0 {
			break
		}
		for i, want := range e.loads.Wants {
			has := min(max(uint64(e.loads.Has[i])*unit, want/2), 2*want)
			if has > 0 {
				high, low := bits.Mul64(uint64(e.factors[i]), want)
				factor, _ := bits.Div64(high, low, has)
				e.factors[i] = min(max(Weight(factor), LeastFactor), MostFactor)
			}
		}
	}
	copy(e.factors, e.best)
	e.settle()
}

// auction lets nodes raise their factors until all have their quota, or none can
// come nearer to it.
func (e *evening) auction() {
	stuck := make([]bool, len(e.nodes))
	for rounds := 100 + 20*len(e.nodes); rounds > 0 && e.steps > 0 && !e.loads.Within(evenness); rounds-- {
		i := e.neediest(stuck)
		if i < 0 {
			return
		}
		if stuck[i] = !e.raise(i); stuck[i] {
			continue
		}
		clear(stuck)
		e.keep()
	}
}

// neediest is the node that lacks most, of those that are not stuck; -1: none does.
func (e *evening) neediest(stuck []bool) int {
	neediest, most := -1, 0
	for i, quota := range e.quotas {
		if lacks := quota - e.loads.Has[i]; lacks > most && !stuck[i] {
			neediest, most = i, lacks
		}
	}
	return neediest
}

// raise gives a node the factor at which it has its quota, or comes nearest to
// that. It tells whether that brought it anything.
func (e *evening) raise(i int) bool {
	lacks := e.quotas[i] - e.loads.Has[i]
	reach := min(e.factors[i]+e.factors[i]/8, MostFactor)
	e.ask(i, reach)
	if e.brings(reach) < lacks && reach < MostFactor {
		reach = MostFactor
		e.ask(i, reach)
	}
	enough := e.least(e.factors[i]+1, reach+1, lacks)
	more, less := e.brings(enough), e.brings(enough-1)
	gets, low := more, enough
	if enough > reach || lacks-less < more-lacks {
		gets, low = less, e.least(e.factors[i]+1, reach+1, less)
	}
	if gets == 0 {
		return false
	}
	// In the middle to what the next item costs: else two nodes would go on
	// outbidding each other by next to nothing.
	high := min(e.least(low, reach+1, gets+1)-1, low+low/16)
	e.take(i, (low+high)/2)
	return true
}

// ask finds at which factor a node has each item that it has not, up to one.
func (e *evening) ask(i int, reach Weight) {
	e.steps -= len(e.items)
	for k := range e.items {
		e.prices[k] = never
		if o := e.owners[k]; o >= 0 && int(o) != i && e.items[k].Weights[i] > 0 {
			e.prices[k], e.bids[k] = e.price(k, i, int(o), reach)
		}
	}
}

// price is the least factor at which a node comes before the owner of an item, and
// what its draw costs.
func (e *evening) price(k, i, o int, reach Weight) (factor Weight, own uint64) {
	x := &e.items[k]
	theirs, weight, most := uint64(x.Weights[o].Corrected(e.factors[o])), uint64(x.Weights[i]), uint64(x.Weights[i].Corrected(reach))
	draw := e.nodes[i].draw(x.Key)
	if ph, pl := bits.Mul64(^draw>>16, theirs); exceeds(ph, pl, e.costs[k], most) {
		return never, 0 // as in place.hopeless
	}
	own = cost(draw)
	high, low := bits.Mul64(own, theirs)
	if high >= e.costs[k] || exceeds(high, low, e.costs[k], most) {
		return never, 0
	}
	heavier, _ := bits.Div64(high, low, e.costs[k])
	high, low = bits.Mul64(heavier+1, uint64(One))
	low, carry := bits.Add64(low, weight-1, 0)
	if high += carry; high >= weight {
		return never, 0
	}
	least, _ := bits.Div64(high, low, weight)
	return max(Weight(least), e.factors[i]+1), own
}

// exceeds tells whether a product of 128 bits is at least that of two numbers.
func exceeds(high, low, a, b uint64) bool {
	h, l := bits.Mul64(a, b)
	return high > h || high == h && low >= l
}

// brings is what a factor brings the node that asked.
func (e *evening) brings(factor Weight) (size int) {
	for k, price := range e.prices {
		if price <= factor {
			size += e.items[k].Size
		}
	}
	return size
}

// least is the least factor from low on that brings so much; high: none below that
// does.
func (e *evening) least(low, high Weight, size int) Weight {
	for low < high {
		if middle := low + (high-low)/2; e.brings(middle) >= size {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

// take gives the node that asked a factor, and what that brings.
func (e *evening) take(i int, factor Weight) {
	e.factors[i] = factor
	for k, price := range e.prices {
		if price <= factor {
			e.loads.Has[e.owners[k]] -= e.items[k].Size
			e.loads.Has[i] += e.items[k].Size
			e.owners[k], e.costs[k] = int32(i), e.bids[k]
		}
	}
}

// centre has the best factors be 1 on average: only how they are to each other
// counts.
func (e *evening) centre() {
	var sum, all uint64
	for i, quota := range e.quotas {
		sum += uint64(e.best[i]) * uint64(quota)
		all += uint64(quota)
	}
	if sum == 0 {
		return
	}
	for i, factor := range e.best {
		high, low := bits.Mul64(uint64(factor)*uint64(One), all)
		centred, _ := bits.Div64(high, low, sum)
		e.factors[i] = min(max(Weight(centred), LeastFactor), MostFactor)
	}
}

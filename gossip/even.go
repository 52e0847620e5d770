package gossip

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/gossip/link"
	"github.com/cronring/cronring/gossip/rendezvous"
)

// verbEven is the request by which members give each other their evenings: the asker
// says its own, and is told the other's.
const verbEven = "even"

// EvenAhead is how long ahead a member says by what shares are evened out: all
// others have heard of it by then.
const EvenAhead = 30 * time.Second

// Bounds on evenings.
const (
	maxEvened   = 1024 // members in one
	maxEvenings = 4    // that a member holds: the one before, that in force, and those to come of two that say one
	mostAhead   = 5 * time.Minute
	// overlaps is how long one that another has replaced is still thought of: so
	// long a member may not have heard of it.
	overlaps = 5 * time.Minute
	waryTime = 10 * time.Second // with a member that came with another one in mind
	mostSwap = 3                // members that are asked at a time
)

// evening is by what weights are corrected from an instant on. Of two, one counts
// everywhere: that of the later stamp. The first of all corrects none. It is
// immutable.
type evening struct {
	stamp   time.Time
	maker   string
	from    time.Time
	factors map[string]rendezvous.Weight
	sum     digest
	heard   time.Time // here
}

// compare orders evenings by how much they count.
func (e *evening) compare(o *evening) int {
	return cmp.Or(e.stamp.Compare(o.stamp), strings.Compare(e.maker, o.maker), bytes.Compare(e.sum[:], o.sum[:]))
}

func (e *evening) append(b []byte) []byte {
	b = appendTime(appendTime(b, e.stamp), e.from)
	b = appendText(b, e.maker)
	b = appendUint32(b, uint32(len(e.factors)))
	for _, id := range slices.Sorted(maps.Keys(e.factors)) {
		b = appendUint32(appendText(b, id), uint32(e.factors[id]))
	}
	return b
}

// evening reads what append wrote, and nothing else.
func (r *reader) evening() *evening {
	whole := r.rest
	e := &evening{stamp: r.time(), from: r.time(), maker: r.text(maxID), factors: map[string]rendezvous.Weight{}}
	r.bad = r.bad || e.stamp.IsZero() || e.from.IsZero() || link.CheckID(e.maker) != nil
	last := ""
	for range r.count(maxEvened, 6) {
		id, factor := r.text(maxID), rendezvous.Weight(r.uint32())
		if id <= last || link.CheckID(id) != nil || factor < rendezvous.LeastFactor || factor > rendezvous.MostFactor {
			r.bad = true
			return e
		}
		e.factors[id], last = factor, id
	}
	e.sum = sumOf(whole[:len(whole)-len(r.rest)])
	return e
}

const eveningsVersion = 1

// encodeEvenings leaves out the first of all, which everybody knows.
func encodeEvenings(all []*evening) []byte {
	b := []byte{eveningsVersion, 0}
	for _, e := range all {
		if !e.stamp.IsZero() {
			b = e.append(b)
			b[1]++
		}
	}
	return b
}

func decodeEvenings(b []byte) ([]*evening, error) {
	r := reader{rest: b}
	version, n := r.uint8(), int(r.uint8())
	if version != eveningsVersion || n > maxEvenings {
		return nil, errWire
	}
	var all []*evening
	for range n {
		if e := r.evening(); !r.bad {
			all = append(all, e)
		}
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	return all, nil
}

// Even has all members go by factors, from EvenAhead on.
func (r *Ring) Even(ctx context.Context, factors map[string]rendezvous.Weight) error {
	return r.do(ctx, func() error {
		if r.list == nil || !r.joined {
			return errors.New("this host is in no ring")
		}
		if len(factors) > maxEvened {
			return errors.New("the ring has too many members for its shares to be evened out")
		}
		now := r.o.Now()
		e := &evening{stamp: later(now, r.evening().stamp.Add(1)), maker: r.o.ID, from: now.Add(EvenAhead), factors: factors}
		e.sum = sumOf(e.append(nil))
		r.adopt([]*evening{e})
		return nil
	})
}

// adopt takes up evenings that count more than those that this member knows.
func (r *Ring) adopt(all []*evening) {
	now := r.o.Now()
	for _, e := range all {
		if e.stamp.Sub(now) > mostAhead || e.from.Sub(now) > mostAhead {
			continue // it would keep later ones from counting
		}
		at, known := slices.BinarySearchFunc(r.evenings, e, (*evening).compare)
		if known {
			continue
		}
		e.heard = now
		r.evenings = slices.Insert(r.evenings, at, e)
		r.changed = true
	}
	r.prune(now)
	if newest := r.evening().sum; r.own.evening != newest {
		r.own.evening = newest
		r.say()
	}
}

// evening is the one that this member goes by, or is about to.
func (r *Ring) evening() *evening { return r.evenings[len(r.evenings)-1] }

// prune lets go of evenings that were replaced, once all have heard of that, and
// of those that were never in force if there are too many.
func (r *Ring) prune(now time.Time) {
	for i := len(r.evenings) - 1; i > 0; i-- {
		if e := r.evenings[i]; !now.Before(later(e.from, e.heard).Add(overlaps)) {
			r.evenings, r.changed = slices.Delete(r.evenings, 0, i), true
			break
		}
	}
	for len(r.evenings) > maxEvenings {
		at := slices.IndexFunc(r.evenings, func(e *evening) bool { return e.from.After(now) })
		if at < 0 || at == len(r.evenings)-1 {
			at = 0
		}
		r.evenings = slices.Delete(r.evenings, at, at+1)
		r.crowded = now
	}
}

// engineEvenings is the evenings for the engine.
func (r *Ring) engineEvenings() (all []engine.Evening) {
	for _, e := range r.evenings {
		all = append(all, engine.Evening{From: e.from, Factors: e.factors})
	}
	return all
}

// swap asks a member for its evenings if it has others in mind than this one.
func (r *Ring) swap(m *member) {
	if m.meta.evening == r.own.evening {
		m.unmoved = false
		return
	}
	if m.swapping || r.swaps >= mostSwap || time.Now().Before(m.swapAgain) {
		return
	}
	m.swapping = true
	r.swaps++
	to, body := m.peer(), encodeEvenings(r.evenings)
	r.help(func(ctx context.Context) func() {
		ctx, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		all, err := r.askEvenings(ctx, to, body)
		return func() { r.swapped(m, all, err) }
	})
}

func (r *Ring) swapped(m *member, all []*evening, err error) {
	r.swaps--
	m.swapping = false
	if err == nil {
		r.adopt(all)
	}
	if m.meta.evening == r.own.evening {
		m.swapFails = 0
		return
	}
	// Its word of what it learned now is under way, or one of the two refuses what the
	// other has.
	m.unmoved = err == nil
	m.swapAgain = time.Now().Add(min(firstRetry<<min(m.swapFails, 6), lastRetry))
	m.swapFails++
}

func (r *Ring) askEvenings(ctx context.Context, to link.Peer, own []byte) ([]*evening, error) {
	b, err := r.o.Link.Ask(ctx, to, verbEven, own)
	if err != nil {
		return nil, err
	}
	return decodeEvenings(b)
}

func (r *Ring) answerEven(ctx context.Context, _ string, body []byte) ([]byte, error) {
	theirs, err := decodeEvenings(body)
	if err != nil {
		return nil, err
	}
	var b []byte
	err = r.do(ctx, func() error {
		r.adopt(theirs)
		b = encodeEvenings(r.evenings)
		return nil
	})
	return b, err
}

// isWary tells whether a member that takes part has another evening in mind than
// this one: one that has just come, or one that has told its own and still has, as a
// member whose clock was set back since refuses what the others go by. One that
// cannot be asked, and has not just come, is none: nor could it be asked for
// occurrences. This member may also have been told of so many of late that others go
// by one that it had no room for.
func (r *Ring) isWary() bool {
	now := r.o.Now()
	return now.Sub(r.crowded) < overlaps || slices.ContainsFunc(r.alive(), func(m *member) bool {
		return m.meta.evening != r.own.evening && (m.unmoved || now.Sub(m.changed) < waryTime) && !now.Before(m.meta.from)
	})
}

// attune goes on to let members have the same evenings in mind.
func (r *Ring) attune(now time.Time) {
	for _, m := range r.alive() {
		r.swap(m)
	}
	r.prune(now)
	if wary := r.isWary(); wary != r.wary {
		r.changed = true
	}
}

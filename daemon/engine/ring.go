package engine

import (
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/gossip/register"
)

// Holding is a ring job that this member can run.
type Holding = catalog.Holding

// RingMode is the mode of the ring in the configuration.
type RingMode uint8

// The modes.
const (
	NoRing    RingMode = iota // this host is not in a ring
	Available                 // members decide by what they see of each other
	Strict                    // the voters grant occurrences and record this in a ledger
)

// FromRing is an event of the ring.
type FromRing struct{ register.Event }

// ToRing is an effect that the ring carries out.
type ToRing struct{ register.Effect }

func (FromRing) event() {}
func (ToRing) effect()  {}

// emitToRing emits an effect for the ring, if the host is in one. Its events come only from
// there.
func (e *Engine) emitToRing(x register.Effect) {
	if e.ring.mode != NoRing {
		e.emit(ToRing{x})
	}
}

// fromRing handles an event of the ring.
func (e *Engine) fromRing(ev register.Event) {
	switch ev := ev.(type) {
	case register.Ring:
		e.joined(ev)
	case register.Changes:
		e.others(ev.Others)
		e.dropYielded(ev.Yielded)
		e.doubled(ev.Doubled)
		e.orphaned(ev.Orphans)
	case register.Claimed:
		e.claimed(ev)
	case register.Departing:
		e.depart()
	}
}

package holders

import (
	"time"

	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
)

// Event is a message of the ring to the engine.
type Event interface{ event() }

// Effect is a message to the ring: Holdings, Claim, Unstarted or exchange.Progress.
type Effect any

// Ring replaces the membership. If it is nil, nothing is known of the ring and no ring
// job is decided. Newest contains, by key, the newest occurrence that any member took, as
// far as it was received since the last Ring.
type Ring struct {
	Membership *Membership
	Newest     map[job.Key]time.Time
}

// Claimed is the result of a Claim.
type Claimed struct {
	exchange.Occurrence
	Grant Grant
	By    string // Refused: the member that holds it, or "" if that is forgotten; Postponed: the member that answered Later or is not seen yet, or ""
	Token uint64 // for a grant by the ledger: its index, which only grows
	// GaveUp is not zero if the claim is Refused because By, which gave the occurrence up, has taken it back.
	// Then it is the number of the start in which By gave it up.
	GaveUp uint32
}

// Departing announces that this member is about to broadcast its final state. The engine
// responds with Unstarted.
type Departing struct{}

// Holdings lists all ring jobs in this member's crontabs. It is sent to the other
// members.
type Holdings struct{ Holdings []catalog.Holding }

// Claim requests an occurrence for this member. Claimed returns the result.
type Claim struct {
	exchange.Occurrence
	// Again means that the occurrence was taken before: by a member that is gone, or by
	// this one before it was suspended or restarted.
	Again bool
	From  string // that member, unless it is this one
	// GaveUp is the number of the start in which From gave the occurrence up, see Mark. The voters refuse
	// the claim if From claimed the occurrence in a later start. 0: From is dead, or the number is unknown,
	// and the voters do not check this. With Again, the voters may also take the occurrence from another
	// member that gave it up, see ledger.Claim.
	GaveUp uint32
	Ledger bool // the voters must grant it
}

// Unstarted lists what this member took, has not begun, and leaves to the others.
type Unstarted struct{ Occurrences []exchange.Progress }

func (Ring) event()      {}
func (Changes) event()   {}
func (Claimed) event()   {}
func (Departing) event() {}

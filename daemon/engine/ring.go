package engine

import (
	"time"

	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/job"
)

// Occurrence identifies an occurrence of a ring job in the same way on every member. If
// clocks differ, it starts at another time, but it remains one occurrence.
type Occurrence struct {
	Key job.Key // of its ID and its user
	Due time.Time
}

// Membership is the ring as this member sees it. It is immutable.
type Membership struct {
	Self    string   // this member's ID
	Members []Member // the live members including this one, sorted by ID
	HoldOff time.Duration
	Barred  string // why this member claims nothing now, for instance because its clock is off; otherwise ""
	// Clock is a reading of this host's clocks at which most members agreed with them. If
	// the wall clock was set since then, this member claims nothing. Zero: clocks are not
	// compared.
	Clock Moment
}

// Member is a member of a Membership.
type Member struct {
	ID     string // stable, not the host's name
	Name   string // the host's
	Labels map[string]string
	Weight float64
	// Draining: it takes no new occurrences, because it is drained or about to leave, or
	// because it has not joined yet.
	Draining bool
	Lacks    map[job.Key]Lack // the ring jobs of this host for which the member has no equal entry
}

// MaxSkew is the largest difference allowed between the clocks of members. If an
// occurrence is further in the future by a member's clock, it cannot be claimed yet.
const MaxSkew = 5 * time.Second

// Lack describes a ring job of this host for which another member has no equal entry.
type Lack struct {
	Ours, Theirs job.Key   // hashes of the entries; a zero Theirs means that the member has no entry
	Since        time.Time // when this host noticed the difference
}

// RolloutTime is the time after a difference was noticed during which two different
// entries of a job still count as the same job. An edit may not have reached one of the
// members yet.
const RolloutTime = time.Minute

// HeldSame reports whether the member might have had the same entry as this host when an
// occurrence was due, so that its report about the occurrence counts.
func (l Lack) HeldSame(o Occurrence) bool { return o.Due.Before(l.Since.Add(RolloutTime)) }

// Holding is a ring job that this member can run.
type Holding = catalog.Holding

// Phase is the progress of an occurrence that a member took.
type Phase uint8

// The phases, in order.
const (
	Taken Phase = iota + 1 // the member will run or skip it
	Begun                  // its process exists
	Over                   // it ended, or was skipped
)

// RingMode is the mode of the ring in the configuration.
type RingMode uint8

// The modes.
const (
	NoRing    RingMode = iota // this host is not in a ring
	Available                 // members decide by what they see of each other
	Strict                    // the voters grant occurrences and record this in a ledger
)

// Ring replaces the membership. If it is nil, nothing is known of the ring and no ring
// job is decided. Newest contains, by key, the newest occurrence that any member took, as
// far as it was received since the last Ring.
type Ring struct {
	Membership *Membership
	Newest     map[job.Key]time.Time
}

// Others reports that other members took occurrences.
type Others struct{ Occurrences []Occurrence }

// Deprived reports that two members took the same occurrences because they did not see
// each other. The other member keeps them: this one has not begun them, and must not.
type Deprived struct {
	Occurrences []Occurrence
	By          string
}

// Orphaned reports occurrences that a member took and, as far as is known, has not ended.
// The member is gone, or it is this one, which was restarted and has no record of them.
type Orphaned struct {
	Member  string
	Orphans []Orphan
	// Left means that the member left and broadcast its final state. It will never begin
	// occurrences that it had not begun then.
	Left bool
}

// Orphan is an orphaned occurrence.
type Orphan struct {
	Occurrence
	Phase   Phase
	Attempt int // the newest attempt known to have begun on any member; 0: none
	Lost    int // how many of them if-lost=rerun started because the attempt before was lost
}

// began reports whether any attempt of it has begun.
func (o *Orphan) began() bool { return o.Phase == Begun || o.Attempt > 0 }

// Claimed is the result of a Claim.
type Claimed struct {
	Occurrence
	Grant Grant
	By    string // if refused, the member that has it; if unknown, the member by whose clock it is not due yet
	Token uint64 // for a grant by the ledger: its index, which only grows
}

// Grant is the answer to a claim.
type Grant uint8

// The grants.
const (
	Granted Grant = iota + 1
	Refused       // another member has it
	Unknown       // no member or voter could answer; the claim may be repeated
)

// Departing announces that this member is about to broadcast its final state. The engine
// responds with Unstarted.
type Departing struct{}

// Doubled reports that an occurrence ran both on this member and on another one, because
// they did not see each other.
type Doubled struct {
	Occurrence
	Host string    // the other member's
	Run  job.RunID // likewise
}

// Holdings lists all ring jobs in this member's crontabs. It is sent to the other
// members.
type Holdings struct{ Holdings []Holding }

// Claim requests an occurrence for this member. Claimed returns the result.
type Claim struct {
	Occurrence
	Job job.ID
	// Again means that the occurrence was taken before: by a member that is gone, or by
	// this one before it was suspended or restarted.
	Again  bool
	From   string // that member, unless it is this one
	Ledger bool   // the voters must grant it
}

// Unstarted lists what this member took, has not begun, and leaves to the others.
type Unstarted struct{ Occurrences []Orphan }

// Progress reports to the other members how far a claimed occurrence is.
type Progress struct {
	Occurrence
	Phase   Phase
	Run     job.RunID // 0: no run was made
	Attempt int
	Lost    int
	Verdict job.Verdict
}

func (Ring) event()     {}
func (Others) event()   {}
func (Deprived) event() {}
func (Orphaned) event() {}
func (Claimed) event()  {}
func (Doubled) event()  {}

func (Departing) event() {}

func (Holdings) effect() {}
func (Claim) effect()    {}
func (Progress) effect() {}

func (Unstarted) effect() {}

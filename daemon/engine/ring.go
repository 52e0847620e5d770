package engine

import (
	"time"

	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/job"
)

// Occurrence names an occurrence of a ring job in the same way on every member:
// clocks that differ shift its start, but cannot make two of it.
type Occurrence struct {
	Key job.Key // of its ID and its user
	Due time.Time
}

// Membership is the ring as this member sees it. It is immutable.
type Membership struct {
	Self    string   // this member's ID
	Members []Member // those that are alive, this one among them, by ID
	HoldOff time.Duration
	Barred  string // why this member claims nothing now, or "": for instance because its clock is off
	// Clock is a reading of this host's clocks at which most members agreed with them. If the
	// wall clock was set since then, this member claims nothing. Zero: nobody compares clocks.
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
	Lacks    map[job.Key]Lack // of this host's ring jobs, those of which it holds no equal entry
}

// MaxSkew is how far the clocks of members may differ. An occurrence that is due further
// ahead than this by a member's clock is not claimed yet.
const MaxSkew = 5 * time.Second

// Lack is a ring job of this host of which another member holds no equal entry.
type Lack struct {
	Ours, Theirs job.Key   // hashes of the entries; Theirs is zero: it has none
	Since        time.Time // this host has known of the difference since then
}

// RolloutTime is how long members with different entries of a job count as having the
// same job after they noticed that: an edit may be on its way to one of them.
const RolloutTime = time.Minute

// HeldSame reports whether the member might have held the same entry as this host when
// an occurrence was due, so that what it reports about that counts.
func (l Lack) HeldSame(o Occurrence) bool { return o.Due.Before(l.Since.Add(RolloutTime)) }

// Holding is a job of the ring that this member can run.
type Holding = catalog.Holding

// Phase is how far an occurrence is that a member took.
type Phase uint8

// The phases, in order.
const (
	Taken Phase = iota + 1 // it is that member's to run or to skip
	Begun                  // its process exists
	Over                   // it ended, or was skipped
)

// RingMode is what the configuration says of a ring.
type RingMode uint8

// The modes.
const (
	NoRing    RingMode = iota // this host is in none
	Available                 // members go by what they see of each other
	Strict                    // occurrences are granted by the ledger of the voters
)

// Ring replaces what is known of the ring; nil: nothing, and no ring job is decided. Newest is,
// by key, the newest occurrence that any member took, as far as it was learned
// since the last Ring.
type Ring struct {
	Membership *Membership
	Newest     map[job.Key]time.Time
}

// Others says that other members took occurrences.
type Others struct{ Occurrences []Occurrence }

// Deprived says that a member took occurrences that this one took too, as they
// did not see each other, and that this one, which has not begun them, must not.
type Deprived struct {
	Occurrences []Occurrence
	By          string
}

// Orphaned reports occurrences that a member took and has not ended, as far as is known: a
// member that is gone, or this one, which was restarted and does not know of them.
type Orphaned struct {
	Member  string
	Orphans []Orphan
	// Left: the member left, and told its final state. What it had not begun, it never will.
	Left bool
}

// Orphan is an orphaned occurrence.
type Orphan struct {
	Occurrence
	Phase   Phase
	Attempt int // the newest that is known to have begun, on any member; 0: none
	Lost    int // of them, those that if-lost=rerun started as the one before was lost
}

// began tells whether something ran of it.
func (o *Orphan) began() bool { return o.Phase == Begun || o.Attempt > 0 }

// Claimed says what became of a Claim.
type Claimed struct {
	Occurrence
	Grant Grant
	By    string // the member that has it, if it was refused; if that is unknown: by whose clock it is not due yet
	Token uint64 // of a grant by the ledger: its index, which only grows
}

// Grant is the answer to a claim.
type Grant uint8

// The grants.
const (
	Granted Grant = iota + 1
	Refused       // another member has it
	Unknown       // nobody could be asked who would know; it may be asked again
)

// Departing tells the engine that this member is about to tell the others its final state.
// Unstarted comes back.
type Departing struct{}

// Doubled says that another member ran an occurrence that this one ran too, as
// they did not see each other.
type Doubled struct {
	Occurrence
	Host string    // the other member's
	Run  job.RunID // likewise
}

// Holdings is all ring jobs of this member's tables, for the others to know.
type Holdings struct{ Holdings []Holding }

// Claim asks for an occurrence to be this member's. Claimed comes back.
type Claim struct {
	Occurrence
	Job job.ID
	// Again: it was taken by a member that is gone, or by this one before it was
	// itself gone for a while.
	Again  bool
	From   string // that member, if it is another one
	Ledger bool   // the voters are to grant it
}

// Unstarted is what this member took, has not begun, and leaves to the others.
type Unstarted struct{ Occurrences []Orphan }

// Progress tells the other members how far an occurrence is that was claimed.
type Progress struct {
	Occurrence
	Phase   Phase
	Run     job.RunID // 0: there was none
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

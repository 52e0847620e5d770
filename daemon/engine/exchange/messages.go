package exchange

import (
	"time"

	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/job"
)

// Message goes from the engine to the ring: Host, Due, Progress, Unstarted or Slept.
type Message interface{ message() }

// Answer goes from the ring to the engine: Members, Permit, Deny, Recheck, Revoke,
// Elsewhere or Doubled.
type Answer interface{ answer() }

// Host describes this host after a change of its jobs, or when it begins or ceases to
// drain.
type Host struct {
	Jobs     *catalog.Catalog
	Holdings []catalog.Holding // of Jobs, the ring jobs that this host can run
	Strict   bool              // the voters grant occurrences
	Draining bool              // nothing starts on this host
}

// Due requests an occurrence of a ring job that is due, for this member.
type Due struct {
	Occurrence
	Missed bool   // other members may have decided it, so the request is never dropped for its rank
	Skips  []Skip // older occurrences that the member that runs it skips, oldest first
}

// Unstarted is the progress of a run that waits here. It must not begin before Permit.
type Unstarted struct{ Progress }

// Slept reports that this host was suspended for so long that other members may have acted
// in its place. Recheck is the answer.
type Slept struct{}

// Skip is a number of occurrences that are skipped together.
type Skip struct {
	First, Due time.Time // Due is the newest
	Count      int
	Reason     job.Reason
}

// Members reports what this member knows of the ring.
type Members struct {
	Known   bool                  // the members are known
	Open    bool                  // this member may take occurrences: otherwise Due is not for now
	HoldOff time.Duration         // between the claims of two members
	Newest  map[job.Key]time.Time // the newest occurrence that any member took, as far as it is new
}

// Permit lets this host run an occurrence, or continue an Unstarted run of it.
type Permit struct {
	Occurrence
	Token  uint64     // the fencing token, which only grows; 0: none
	Reason job.Reason // why it must be skipped nevertheless; "": it runs
	Skips  []Skip     // of Due
	Orphan *Orphan    // nil: no other member had it before
}

// Orphan is an occurrence of a member that is gone.
type Orphan struct {
	Host    string
	Begun   bool // an attempt has begun there
	Left    bool // the member left as planned, or could not start it: it does not run the occurrence any longer
	Attempt int  // number of the latest attempt that began
	Lost    int  // see Progress

	Tried []string // the members on which it could not start
}

// Deny skips an occurrence that this member would have had.
type Deny struct {
	Occurrence
	Reason job.Reason
	Detail job.Detail
	Skips  []Skip // of Due
}

// Recheck asks for Unstarted of runs that have not begun.
type Recheck struct {
	// Of selects their jobs by number, because this member leaves; nil: all. The others stay here, and
	// count as begun from now on, so that no member takes them over.
	Of func(i int) bool
}

// Revoke drops a run that has not begun.
type Revoke struct {
	Occurrence
	Reason job.Reason
	Host   string // which has the occurrence, or ""
}

// Elsewhere reports an occurrence that another member took.
type Elsewhere struct{ Occurrence }

// Doubled reports that an occurrence ran on another member, too.
type Doubled struct {
	Occurrence
	Host string
	Run  int64 // there
}

func (Host) message()      {}
func (Due) message()       {}
func (Progress) message()  {}
func (Unstarted) message() {}
func (Slept) message()     {}

func (Members) answer()   {}
func (Permit) answer()    {}
func (Deny) answer()      {}
func (Recheck) answer()   {}
func (Revoke) answer()    {}
func (Elsewhere) answer() {}
func (Doubled) answer()   {}

package holders

import (
	"time"

	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
)

// Membership is the ring as this member sees it. It is immutable.
type Membership struct {
	Self    string   // this member's ID
	Members []Member // the live members including this one, sorted by ID
	HoldOff time.Duration
	Barred  string // why this member claims nothing now, for instance because its clock is off; otherwise ""
	// Clock is a reading of this host's clocks at which most members agreed with them. If
	// the wall clock was set since then, this member claims nothing. Zero: clocks are not
	// compared.
	Clock job.Moment
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
func (l Lack) HeldSame(o exchange.Occurrence) bool { return o.Time().Before(l.Since.Add(RolloutTime)) }
